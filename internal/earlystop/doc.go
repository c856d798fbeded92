// Package earlystop computes how many late queries a Server test may have: LoadGen's early-stopping criterion.
//
// From a percentile and counts it computes how many queries a test needs for a number of late ones, and how many late
// ones a test of known length may have.
//
// It keeps no state, does no I/O and imports nothing of the project. Rules: docs/reference/loadgen.md#early-stopping.
package earlystop
