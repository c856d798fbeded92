// Package schedule recomputes the time at which LoadGen schedules each query.
//
// LoadGen measures latency from the scheduled time but does not pass that time to the system under test. This package
// recomputes it from schedule_rng_seed, target QPS and number of queries, as offsets from the start of the series in
// ns. It owns the random generators that this needs: MT19937 and the exponential inter-arrival times of Server.
//
// It imports nothing of the project. Rules: docs/reference/loadgen.md#schedules and
// docs/reference/loadgen.md#query-counts.
package schedule
