// Package series keeps the time series that were scraped from servers during a run, in metrics/server.jsonl.zst, and
// reads them back (docs/reference/metrics.md#file).
//
// A Recorder appends scrapes and periodically writes a block of columns for each target. Read returns the series,
// Rate, Sum and Quantile derive others from them, and Signals lists the series that an engineer checks first:
// running and waiting requests, tokens per second, cache use, preemptions.
//
// It imports metrics/exposition for the description of a series, and internal/atomicfile. It prints nothing.
package series
