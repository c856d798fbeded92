// Package llamacpp implements the native route of llama.cpp's server, /completion, which accepts and returns token ids.
//
// It contains the request bodies (encode.go), the reader of events and whole answers (event.go, with encoding/json) and
// the probe of a server (probe.go). Importing it registers the driver "llamacpp"; its APIs "completions" and "chat" are
// those of package openai.
//
// A stream ends at "stop": true, without [DONE]. It lacks the ids of tokens whose bytes are not a whole character. Such
// an answer is counted by the server's own count, and fails if the benchmark needs all ids. Whole answers have them
// all.
//
// It must not import sut, run, cmd or sim.
package llamacpp
