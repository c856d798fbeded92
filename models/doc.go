// Package models is the registry of benchmarks: one row per benchmark, walked by everything else.
//
// In comes a name that a user typed: a benchmark's name in any of its spellings, an "-interactive" name or a Hugging
// Face id. Out goes the row with what the rules and LoadGen's built-in mlperf.conf fix for it: LoadGen keys, latency
// limits, counts, sampling parameters, data set columns, token ids. A name that fits no row, or more than one, is a
// NameError with candidates; nothing falls back to a generic row by itself.
//
// Rows are data and are never changed after start-up. Adding a benchmark is adding a row; Row.In gives it as a round
// has it. The package reads no file, no flag and no environment, and imports nothing but internal/config (for nearest
// names).
package models
