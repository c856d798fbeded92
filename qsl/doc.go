// Package qsl is the query sample library. It holds samples in memory as ready-to-send request bytes.
//
// Before each timed phase LoadGen lists the samples to load, and after it the samples to unload. The library builds the
// request bytes of a sample once at Load, returns them during the phase, and frees them at Unload. Above a memory limit
// the bytes go to one mapped scratch file.
//
// New makes a library of a data set and a function that builds a sample's request bytes. The hot path calls Request for
// each query; it takes no lock and allocates nothing.
//
// Threads: Load, Unload and Close never run while queries are in flight (LoadGen calls them outside the timed phase);
// Request may be called by any number of goroutines between them.
//
// It imports datasets, but no wire protocol, no LoadGen and no network.
package qsl
