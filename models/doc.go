// Package models is the registry of benchmarks, with one row per benchmark.
//
// Find returns the row for a name that a user typed: a benchmark's name in any of its spellings, an "-interactive" name
// or a Hugging Face id. A row contains what the rules and LoadGen's built-in mlperf.conf fix: LoadGen keys, latency
// limits, counts, sampling parameters, data set columns and token ids. A name that fits no row, or several, is a
// NameError with candidates; Find never falls back to the generic row.
//
// Rows are data and do not change after start-up. A new benchmark is a new file with a row; package rounds returns a
// row with the values of a round. The package reads no file, no flag and no environment, and imports nothing but
// internal/config (for nearest names).
package models
