// Package earlystop computes how many late queries a Server test may have: LoadGen's early-stopping criterion.
//
// From a percentile it computes the number of queries that a test needs for a given number of late queries, and the
// number of late queries that a test of known length may have.
//
// It keeps no state, does no I/O and imports nothing of the project. Rules: docs/reference/loadgen.md#early-stopping.
package earlystop
