// Package earlystop says how many queries over the limit a Server test may have: LoadGen's early-stopping criterion.
//
// In: a percentile and counts. Out: how many queries a test needs for some that are late, and how many late ones a test
// of a known length can bear.
//
// It keeps no state, does no I/O and imports nothing of the project. Rules: spec/loadgen-engine.md §7.5.
package earlystop
