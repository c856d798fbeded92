// Package llamacpp implements the native route of llama.cpp's server, /completion, which accepts and returns token ids.
//
// It contains the request bodies (encode.go), the reader of events and whole answers (event.go, with encoding/json) and
// the probe of a server (probe.go). Importing it registers the driver "llamacpp"; its APIs "completions" and "chat" are
// those of package openai.
//
// A stream ends at "stop": true, without [DONE]. It lacks the ids of tokens whose bytes are not a whole character.
// For such an answer the server's own count is used, and the answer fails if the benchmark needs all ids. Answers
// without a stream have all ids.
//
// It must not import sut, run, cmd or sim.
package llamacpp
