// Package rehearse adds what a plan lacks for a rehearsal: a synthetic data set, and the simulator as its server.
//
//	r, err := rehearse.Start(ctx, p, rehearse.Options{})
//	if err != nil { ... }
//	defer r.Stop()
//
// The simulator is the command `mlperf-go sim` in a process of its own, so that a test reaches it through a socket,
// like any other server. The package must not import run or any package above it.
package rehearse
