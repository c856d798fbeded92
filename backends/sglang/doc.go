// Package sglang implements SGLang's native route, /generate, which accepts and returns token ids.
//
// It contains the request bodies (encode.go), the reader of events and whole answers (event.go, grown.go: a walk over
// the JSON; slow.go: encoding/json, for documents that the walk rejects) and the probe of a server (probe.go).
// Importing it registers the driver "sglang"; its APIs "completions" and "chat" are those of package openai.
//
// A stream is cumulative unless the server was started with --incremental-streaming-output: each event repeats all text
// and ids. The walk skips what the previous event contained, so that the cost of a long answer grows with its
// new tokens only.
//
// The walk is a hot path: no allocation per event, no lock, no clock.
//
// It must not import sut, run, cmd or sim.
package sglang
