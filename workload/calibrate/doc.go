// Package calibrate measures what this program itself can hold and adds on this machine.
//
//	c, err := calibrate.Run(ctx, calibrate.Options{Duration: 20 * time.Second})
//	err = c.Write(path) // package floor
//
// It runs workloads (package bench) against two servers, each in a process of its own. The no-op server (NoOp)
// answers at once with fixed bytes: it shows the highest rates and the shortest latencies. The simulator keeps the time
// of every write: it shows the error of the event log's time stamps.
//
// The package prints nothing and must not import cmd or sim.
package calibrate
