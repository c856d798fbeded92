// Package ollama implements Ollama's native routes, /api/generate and /api/chat, which accept and return text, one JSON
// document per line.
//
// It contains the request bodies (encode.go), the reader of documents and whole answers (event.go, with encoding/json)
// and the probe of a server (probe.go). Importing it registers the driver "ollama"; its API "completions" is that of
// package openai.
//
// A stream ends at "done": true; that document has the counts. No route returns token ids.
//
// It must not import sut, run, cmd or sim.
package ollama
