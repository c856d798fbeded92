package openai

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// dialect is what a family of servers understands beside OpenAI's fields. Unknown fields are ignored by most servers
// and refused by TensorRT-LLM, so each gets its own only
// (docs/reference/wire-protocols.md#differences-between-servers).
type dialect struct {
	server, owner string // see backends.Description
	chatLimit     string // the field that bounds a chat answer
	always        bool   // ids are asked for although nothing needs them
	askIDs        string // asks for token ids; empty: no field is known
	chatIDs       string // the same in chat
	streamIDs     string // the same in a chat stream
	whole         string // keeps special tokens in the text
	topKOff       *int64 // the one way to switch top_k off; nil: 0 and -1 are both understood
	generate      bool   // has /inference/v1/generate
	logprobs      bool   // can name ids among the log probabilities
	grammar       grammar
	// emptyCache is the route that empties the prefix cache; empty: none is known.
	emptyCache string
	needIDs    string // how it is made to send token ids, as a clause
	// requestID is the place of a request's id. Servers that do not know the header ignore it.
	requestID wire.RequestIDField
}

const (
	returnIDs = `,"return_token_ids":true`
	fromVLLM  = "they are asked for with return_token_ids, which vLLM >= 0.10.2 honours and older or other servers ignore"
)

var minusOne, zero int64 = -1, 0

var byHeader = wire.RequestIDField{Header: "X-Request-Id"}

var (
	vllm = dialect{
		server: "vllm", owner: "vllm",
		chatLimit: "max_completion_tokens", always: true, askIDs: returnIDs, chatIDs: returnIDs, streamIDs: returnIDs,
		whole: `,"skip_special_tokens":false`, generate: true, logprobs: true, grammar: vllmGrammar, needIDs: fromVLLM,
		emptyCache: "/reset_prefix_cache", requestID: byHeader,
	}
	// generic is sent nothing that the benchmark did not ask for.
	generic = dialect{chatLimit: "max_tokens", askIDs: returnIDs, chatIDs: returnIDs, streamIDs: returnIDs, generate: true,
		logprobs: true, needIDs: fromVLLM, requestID: byHeader}
	// SGLang refuses return_token_ids in a chat stream (docs/reference/wire-protocols.md#differences-between-servers).
	sglang = dialect{
		chatLimit: "max_tokens", askIDs: returnIDs, chatIDs: returnIDs, topKOff: &minusOne, grammar: sglangGrammar,
		needIDs: "SGLang sends them on its native route (--api generate)",
		// it does not use the header (docs/reference/wire-protocols.md#sglang-generate-route)
		requestID: wire.RequestIDField{Member: "rid"},
	}
	// llama.cpp and Ollama name no token ids on these routes.
	llamaCpp = dialect{chatLimit: "max_tokens", topKOff: &zero,
		needIDs: "llama.cpp sends them on its native route (--api generate)", requestID: byHeader}
	ollama = dialect{chatLimit: "max_tokens", topKOff: &zero, needIDs: "Ollama sends none on any route",
		requestID: byHeader}
	trtllm = dialect{
		server: "tensorrt-llm", owner: "tensorrt_llm",
		chatLimit: "max_tokens", askIDs: `,"detokenize":false`, topKOff: &zero,
		needIDs:   "TensorRT-LLM sends them on its completions route (--api completions), asked with detokenize false",
		requestID: byHeader,
	}
)

// ids is the member that asks for token ids.
func (d *dialect) ids(c *backends.Config) string {
	switch {
	case c.IDsInLogprobs && c.API == "chat":
		return `,"logprobs":true,"top_logprobs":0,"return_tokens_as_token_ids":true`
	case c.IDsInLogprobs:
		return `,"logprobs":0,"return_tokens_as_token_ids":true`
	case !d.always && !c.NeedIDs, c.Drops("return_token_ids"):
		return ""
	case c.API != "chat":
		return d.askIDs
	case c.Stream:
		return d.streamIDs
	}
	return d.chatIDs
}

// topK gives top_k as the server knows it: vLLM takes 0 and -1 for off, SGLang -1 only and TensorRT-LLM 0 only.
func (d *dialect) topK(k int) int64 {
	if k <= 0 && d.topKOff != nil {
		return *d.topKOff
	}
	return int64(k)
}
