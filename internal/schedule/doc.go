// Package schedule recomputes when LoadGen wanted to issue each query.
//
// It owns LoadGen's pseudo-random primitives as far as arrival times need them: MT19937 and the exponential
// inter-arrival times of the Server scenario. LoadGen never tells the system under test the scheduled time of a query,
// and latencies count from it, so it is computed again from seed and rate.
//
// In: schedule_rng_seed, target QPS, number of queries. Out: offsets from the start of the series in ns.
//
// It imports nothing of the project. Rules: spec/loadgen-engine.md §4.1, §4.3, §4.4.
package schedule
