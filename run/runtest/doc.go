// Package runtest makes what tests of a run need: a record that fits schema/run.schema.json, without a run, and a
// simulator in this process.
//
//	r := runtest.Record("llama3.1-8b", models.Server, models.Performance)
//	url, _ := runtest.Simulate(t, time.Millisecond, time.Millisecond)
//
// It must not be imported by anything but tests.
package runtest
