// Package ollama speaks Ollama's native routes, /api/generate and /api/chat: text in, text out, one JSON document to a
// line.
//
// It owns the request bodies (encode.go), the reading of documents and whole answers (event.go: an own walk over the
// JSON; slow.go: encoding/json, wherever the walk is not sure) and the probe of a server (probe.go). Importing it
// registers the driver "ollama"; its API "completions" is that of package openai.
//
// A stream ends at "done": true, which brings the counts. There are no token ids on any route.
//
// In come datasets.Sample and the bytes of answers, out go request bodies and backends.Outcome fields.
//
// The walk is a hot path: no allocation per document, no lock, no clock.
//
// It must not import sut, run, cmd or sim.
package ollama
