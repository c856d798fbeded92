// Package probe issues the queries of a probe: a test without LoadGen, with a schedule or in a closed loop.
//
//	load, err := probe.New(due, index, 0, client.Shards())
//	defer load.Close()
//	p, err := client.Send(ctx, load)
//
// While Send runs, another goroutine may Take the queries that ended, and Stop the load. tune and sweep use it with the
// ProbeClient of package run.
//
// The package must not import any package above sut.
package probe
