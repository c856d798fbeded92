// Package rounds is the table of MLPerf Inference rounds: one YAML file per round, vX.Y.yaml, embedded into the
// program.
//
// A round's file holds what the round decides: its seeds, the folders of its submission tree, the benchmarks that
// it accepts by type of system, their accuracy targets and counts in its submission checker, the limits that differ
// from the benchmark's default row, the audits that are due, and the properties of its checker. What no round
// changes (data set columns, prompts, sampling, the scorer) is in package models. Adding a round is adding its
// file.
//
//	round, err := rounds.Find("v6.0")
//	row, err := round.Row(benchmark) // the benchmark's row with the limits, scenarios and targets of that round
//
// Rounds are read once and shared: callers must not change them. The package imports models and a YAML reader; it reads
// no flag, no environment and no other file.
package rounds
