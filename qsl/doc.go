// Package qsl is the query sample library: which samples are in memory, as ready-to-send request bytes.
//
// LoadGen says before and after each timed phase which samples it wants loaded and unloaded; the library builds the
// request bytes of a sample once at Load, hands them out during the phase, and frees them at Unload. Above a memory
// limit the bytes go to one mapped scratch file.
//
// In: a data set and a function that makes a sample's request bytes. Out: Request(index), which the hot path calls for
// each query: no lock, no allocation.
//
// Threads: Load, Unload and Close never run while queries are in flight (LoadGen calls them outside the timed phase);
// Request may be called by any number of goroutines between them.
//
// It imports datasets, and knows no wire protocol, no LoadGen and no network.
package qsl
