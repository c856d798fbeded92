// Package sweep measures latency against load: throughput and tails of a server at a list of rates or concurrencies.
//
// Parse reads the list. Run measures its points one after the other with the client of a run (run.ProbeClient),
// judges each by the rules of a run, and writes a folder with sweep.json, a table, a CSV file and a plot.
// Options.Resume continues a sweep that ended early.
//
//	loads, err := sweep.Parse(sweep.Concurrency, "1:64:x2")
//	state, err := sweep.Run(ctx, sweep.Options{Plan: p, Folder: "out", Loads: loads, ...})
//
// How a point is measured, and what its figures mean: docs/how-to/sweep.md.
//
// The package must not import cmd, submission, tune or sim.
package sweep
