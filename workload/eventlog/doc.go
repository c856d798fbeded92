// Package eventlog records what happened to each request of a workload: when it was due, ready and sent, each
// token, the end, and why it failed. Every figure and every report of a run is computed from this one file.
//
//	w, err := eventlog.Create(path, eventlog.Header{StartNS: now})
//	w.Add(&request) // from any goroutine
//	err = w.Close(eventlog.End{Complete: true})
//
//	end, err := eventlog.Read(path, func(h *eventlog.Header, r *eventlog.Request) error { ... })
//
// The file is a series of zstd frames, one every half second, each with whole records. So after a crash a reader
// gets everything up to the last frame, and the missing end record shows that the run crashed. The memory of Writer
// and Read does not depend on the number of requests. The comments of record.go define the bytes.
//
// The package prints nothing and imports internal/crash only.
package eventlog
