// Package llamacpp speaks the native route of llama.cpp's server, /completion: token ids in, token ids out.
//
// It owns the request bodies (encode.go), the reading of events and whole answers (event.go: an own walk over the JSON;
// slow.go: encoding/json, wherever the walk is not sure) and the probe of a server (probe.go). Importing it registers
// the driver "llamacpp"; its APIs "completions" and "chat" are those of package openai.
//
// A stream ends at "stop": true, without [DONE]. It lacks the ids of tokens whose bytes are no whole character: such an
// answer is counted by the server's own count, and one that has to have all ids fails. Whole answers have them all.
//
// In come datasets.Sample and the bytes of answers, out go request bodies and backends.Outcome fields.
//
// The walk is a hot path: no allocation per event, no lock, no clock.
//
// It must not import sut, run, cmd or sim.
package llamacpp
