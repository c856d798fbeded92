// Package sglang speaks SGLang's native route, /generate: token ids in, token ids out.
//
// It owns the request bodies (encode.go), the reading of events and whole answers (event.go, grown.go: an own walk over
// the JSON; slow.go: encoding/json, wherever the walk is not sure) and the probe of a server (probe.go). Importing it
// registers the driver "sglang"; its APIs "completions" and "chat" are those of package openai.
//
// A stream is cumulative unless the server was started with --incremental-streaming-output: each event repeats all text
// and ids. The walk then steps over what it knows from the event before, so that a long answer costs what is new in it.
//
// In come datasets.Sample and the bytes of answers, out go request bodies and backends.Outcome fields.
//
// The walk is a hot path: no allocation per event, no lock, no clock.
//
// It must not import sut, run, cmd or sim.
package sglang
