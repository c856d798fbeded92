package openai

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// dialect describes a family of servers: the fields that it accepts besides OpenAI's, and its routes. Most servers
// ignore unknown fields and TensorRT-LLM rejects them, so that each family receives its own only
// (docs/reference/wire-protocols.md#differences-between-servers).
type dialect struct {
	server, owner string   // see backends.Description
	chatLimit     string   // the field that limits a chat answer
	always        bool     // ids are requested even if they are not needed
	askIDs        string   // requests token ids; empty: there is no such field
	chatIDs       string   // the same in chat
	streamIDs     string   // the same in a chat stream
	whole         string   // keeps special tokens in the text
	topKOff       *int64   // the only value that switches top_k off; nil: 0 and -1 both do
	generate      bool     // has /inference/v1/generate
	without       []string // APIs of this package that the servers lack, or answer in a form of their own
	logprobs      bool     // can send ids in the log probabilities
	grammar       grammar
	// emptyCache is the route that empties the prefix cache; empty: the servers have no such route.
	emptyCache string
	needIDs    string // how to get token ids; follows "the answer carries no token ids: "
	// requestID is the place of a request's id. Servers without support for the header ignore it.
	requestID wire.RequestIDField
}

const (
	returnIDs = `,"return_token_ids":true`
	fromVLLM  = "the request contains return_token_ids, which vLLM >= 0.10.2 supports and other servers ignore"
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
	// generic servers receive only the fields that the benchmark needs.
	generic = dialect{chatLimit: "max_tokens", askIDs: returnIDs, chatIDs: returnIDs, streamIDs: returnIDs, generate: true,
		logprobs: true, needIDs: fromVLLM, requestID: byHeader}
	// SGLang rejects return_token_ids in a chat stream (docs/reference/wire-protocols.md#differences-between-servers).
	sglang = dialect{
		chatLimit: "max_tokens", askIDs: returnIDs, chatIDs: returnIDs, topKOff: &minusOne, grammar: sglangGrammar,
		without: []string{rerank},
		needIDs: "SGLang sends them on its native route (--api generate)",
		// it ignores the header (docs/reference/wire-protocols.md#sglang-generate-route)
		requestID: wire.RequestIDField{Member: "rid"},
	}
	// llama.cpp and Ollama send no token ids on these routes.
	llamaCpp = dialect{chatLimit: "max_tokens", topKOff: &zero, without: []string{messages, responses},
		needIDs: "llama.cpp sends them on its native route (--api generate)", requestID: byHeader}
	ollama = dialect{chatLimit: "max_tokens", topKOff: &zero, without: []string{rerank, messages, responses},
		needIDs: "Ollama sends none on any route", requestID: byHeader}
	trtllm = dialect{
		server: "tensorrt-llm", owner: "tensorrt_llm",
		chatLimit: "max_tokens", askIDs: `,"detokenize":false`, topKOff: &zero,
		without:   []string{embeddings, rerank, messages, responses},
		needIDs:   "TensorRT-LLM sends them on its completions route (--api completions), asked with detokenize false",
		requestID: byHeader,
	}
)

// ids returns the member that requests token ids.
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

// topK returns top_k in the form of the server. Off is 0 or -1 for vLLM, -1 for SGLang and 0 for TensorRT-LLM.
func (d *dialect) topK(k int) int64 {
	if k <= 0 && d.topKOff != nil {
		return *d.topKOff
	}
	return int64(k)
}
