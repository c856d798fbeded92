// Package spread runs one workload in several pods that start together, and merges their results into one run.
//
//	record, err := spread.Run(ctx, cluster, spread.Options{Options: launchOptions, Stages: 2, Progress: show})
//
// The launcher is the coordinator (workload/shard): it reaches the control socket of each pod through the API server,
// so pods need neither rights nor addresses of each other. A pod that is lost or late ends the launch with an error
// that names it. The package prints nothing.
package spread
