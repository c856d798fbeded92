// Package tune finds the highest target QPS at which a Server run of the full length is VALID.
//
// Search decides: Observe adds what was measured, and Next returns the next Step. A Judge ends a probe as soon as the
// binomial bound of LoadGen's early stopping shows that a run at this rate would pass or would fail. A Curve is the
// posterior distribution of the highest rate that meets one limit. None of the three reads a clock, so the simulation
// of the tests makes the same decisions in virtual time.
//
//	search := tune.NewSearch(goal, order)
//	for step := search.Next(); step.Kind != tune.Finished; step = search.Next() {
//		search.Observe(measure(step))
//	}
//
// docs/explanation/tuning.md explains how it decides, and why.
//
// The package must not import cmd, submission or sim.
package tune
