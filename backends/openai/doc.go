// Package openai speaks OpenAI's completions and chat routes as vLLM extends them.
//
// It owns the request bodies (encode.go), the reading of events and whole answers (event.go, choice.go, value.go, skip.go:
// an own walk over the JSON; slow.go: encoding/json, wherever the walk is not sure), the verdict on an answer (answer.go)
// and the probe of an endpoint. Importing it registers the drivers "vllm", "sim" (the simulator speaks vLLM's wire) and
// "openai" (any server of that family: nothing is sent that the benchmark did not ask for).
//
// In come datasets.Sample and the bytes of answers, out go request bodies and backends.Outcome fields.
//
// The walk and answer.go are a hot path: no allocation per event, no lock, no clock.
//
// It must not import sut, run, cmd or sim.
package openai
