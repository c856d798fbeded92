// Package profile starts and stops the profilers of servers around a window of a test's queries.
//
//	w := profile.New(profile.Window{Start: 100, Count: 50}, profiler)
//	backend = w.Wrap(backend)       // of each shard
//	w.Begin(ctx); ...; report := w.End()
//
// The window is exact: its first query is sent after every earlier one has ended and the profiler has started, and the
// next one after it has ended and the profiler has stopped. The queries wait in the client meanwhile, so the figures of
// such a test are not a result.
//
// It imports backends and loadgen-cgo. It must not import run.
package profile
