// Package plan describes one LoadGen test before it runs: its configuration, data set, load, limits, sampling and
// client.
//
//	p, err := plan.Resolve(c) // of an effective configuration; or plan.New(settings)
//	err = p.Bind(len(samples))
//
// Resolve applies the registry, the round, user.conf and the generation config to a configuration. Bind then fixes what
// depends on the number of rows: counts, defaults, and the reasons why a run is a rehearsal. The package writes the
// user.conf that LoadGen reads, and compares LoadGen's settings with the round's.
//
// Plan is part of the supported API as run.Plan; the rest of the package serves this module and may change. The package
// reads no flags and no environment, and must not import run or any package above it.
package plan
