// Package search finds the highest load of a workload at which a server meets its latency limits.
//
// A Search decides: it is a pure function of what was measured. Next returns the load to measure, or how the search
// ended. Run makes each measurement a whole run of the workload in a folder of its own, and keeps search.json, from
// which Options.Resume continues.
//
//	state, err := search.Run(ctx, search.Options{Profile: p, Limits: limits, Terms: search.Defaults(), Folder: "out",
//		Measure: func(ctx context.Context, p *profile.Profile, folder string) (*bench.Record, error) { ... }})
//
// How it decides: docs/how-to/search.md.
//
// The package must not import cmd.
package search
