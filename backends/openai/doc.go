// Package openai implements OpenAI's completions and chat routes as vLLM extends them, and vLLM's generate route.
//
// It contains the request bodies (encode.go), the differences between families of servers (dialect.go: one row each),
// the reader of events and whole answers (event.go, choice.go, shape.go: a walk over the JSON; slow.go: encoding/json,
// for documents that the walk rejects) and the drivers. Importing it registers "vllm", "sim" (the simulator, which
// implements vLLM's routes), "trtllm" and "openai" (any other server of the family, which receives only the fields that
// the benchmark needs).
//
// The walk is a hot path: no allocation per event, no lock, no clock.
//
// It must not import sut, run, cmd or sim.
package openai
