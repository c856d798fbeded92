// Package eventlog records what happened to each request of a workload: when it was due, ready and sent, each
// token, the end, and why it failed. Every figure and every report of a run is computed from this one file.
//
//	w, err := eventlog.Create(path, eventlog.Header{StartNS: now})
//	w.Add(&request) // from any goroutine
//	err = w.Close(eventlog.End{Complete: true})
//
//	end, err := eventlog.Read(path, func(h *eventlog.Header, r *eventlog.Request) error { ... })
//
// The file is a series of blocks of requests, at least one every half second. So after a crash a reader gets
// everything up to the last whole block, and the missing end record shows that the run crashed. The bytes of a request
// are short because most of its members equal those of the request before it; a general compression saves little more
// and costs more time than all else here (docs/reference/measurements.md#a-workload-and-a-run). The memory of Writer
// and Read does not depend on the number of requests. Read decodes as many blocks at the same time as there are CPUs.
// The comments of record.go and blocks.go define the bytes.
//
// Join writes one file with the requests of several, whose blocks it copies:
//
//	j, err := eventlog.Join(path, eventlog.Header{StartNS: earliest})
//	end, err := j.Add(path, aheadNS, func(h *eventlog.Header, r *eventlog.Request) error { ... })
//	err = j.Close(eventlog.End{Complete: true})
//
// The package prints nothing. It imports the reasons of package ledger, and internal/crash.
package eventlog
