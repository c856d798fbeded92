// Package engine sends the requests of a workload when they are due, and writes what happened to each into an event
// log.
//
//	e := &engine.Engine{Profile: p, Source: src, Encode: encoder.Append, Log: log}
//	config.Body = e.Body
//	e.Backends = append(e.Backends, backend)
//	end, err := e.Run(ctx)
//
// One director goroutine prepares requests ahead of time and collects those that ended. Each backend's event loop
// takes due requests from its own queue, whose timer wakes it. So when a request is due, only the loop has to act
// before it is sent, as in a run of LoadGen.
//
// A stage is one of three kinds: requests at due times (open), users who send the next request after an answer
// (closed), and sessions, whose calls wait for each other.
//
// The package computes no figure (package measure does), and must not import cmd.
package engine
