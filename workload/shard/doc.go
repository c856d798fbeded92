// Package shard lets several processes, on several machines, send one workload together.
//
// Each process runs the same profile with another engine.Part and listens on a Unix socket (Listen). A coordinator
// connects to all of them (Coordinate), measures by how much their clocks differ from its own, and sets one start
// instant for each stage, in the clock of each process. Merge then merges their event logs.
//
//	gate, err := shard.Listen(socket, progress, stop)                  // in the process of a shard
//	engine.Part, engine.Gate = part, gate.Wait
//
//	c := shard.NewCoordinator(connections, o)             // anywhere: a connection is a pair of pipes
//	err := c.Run(ctx, stages)
//
// A connection carries one JSON object per line. The error of a clock's offset is at most half of the shortest
// round trip, because the other process stamped its answer during that round trip. Reports state this error.
//
// With Options.Count, shards also count their requests by the second, for a live page (Page) of the whole load.
//
// The package prints nothing and imports ledger, report/live, run, workload/engine, workload/eventlog and internal
// packages only.
package shard
