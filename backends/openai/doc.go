// Package openai speaks OpenAI's completions and chat routes as vLLM extends them, and vLLM's generate route.
//
// It owns the request bodies (encode.go; dialect.go: what each family of servers understands), the reading of events
// and whole answers (event.go, choice.go: an own walk over the JSON; slow.go: encoding/json, wherever the walk is not
// sure) and the drivers. Importing it registers "vllm", "sim" (the simulator speaks vLLM's wire), "trtllm" and "openai"
// (any server of that family: nothing is sent that the benchmark did not ask for).
//
// In come datasets.Sample and the bytes of answers, out go request bodies and backends.Outcome fields.
//
// The walk is a hot path: no allocation per event, no lock, no clock.
//
// It must not import sut, run, cmd or sim.
package openai
