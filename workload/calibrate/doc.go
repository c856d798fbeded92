// Package calibrate measures this program itself on this machine: the highest rates, and the time that it adds.
//
//	c, err := calibrate.Run(ctx, calibrate.Options{Duration: 20 * time.Second})
//	err = c.Write(path) // package floor
//
// It runs workloads (package bench) against two servers, each in a process of its own. The no-op server (NoOp)
// answers at once with fixed bytes, to find the highest rates and the shortest latencies. The simulator records the
// time of every write, to find the error of the event log's time stamps.
//
// The package prints nothing and must not import cmd or sim.
package calibrate
