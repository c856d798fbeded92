// Package experiment compares ways to send the samples of an Offline test: how many requests are in flight
// (OfflineBatching), and how samples are divided among replicas (Partition).
//
// Run sends the same samples once for each arrangement and repeats that, in an order that changes from round to round.
// It writes a folder with experiment.json, a table and a plot, and continues one with Options.Resume.
//
//	state, err := experiment.Run(ctx, experiment.Options{Plan: p, Folder: "out", Of: experiment.OfflineBatching,
//		Arrangements: experiment.Batching([]int{64}, []int{64}), Repeats: 5})
//
// What the figures mean: docs/how-to/experiments.md.
//
// The package must not import cmd, submission, tune, sweep or sim.
package experiment
