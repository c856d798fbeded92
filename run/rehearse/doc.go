// Package rehearse adds the missing parts of a plan for a rehearsal: a synthetic data set, and the simulator as its
// server.
//
//	r, err := rehearse.Start(ctx, p, rehearse.Options{})
//	if err != nil { ... }
//	defer r.Stop()
//
// The simulator is the command `mlperf-go sim` in a separate process, so a test reaches it through a socket, like
// any other server. The package must not import run or any package above it.
package rehearse
