package openai

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/reader"
)

var words = reader.Words{
	Count: "usage.completion_tokens",
	IDs:   "they are asked for with return_token_ids, which vLLM >= 0.10.2 honours and older servers ignore",
	Needs: "token ids (return_token_ids, vLLM >= 0.10.2) nor usage (stream_options.include_usage)",
	Parts: "choices",
}

// newAnswer makes a reader of completions. vLLM's generate route may end a stream without a finish reason where the last
// step brought no token (spec/backends.md §1.5).
func newAnswer(c *backends.Config) *reader.Answer {
	o := reader.Options{Decoder: &walker{Scanner: reader.Scanner{KeepText: c.KeepText}}, Words: words}
	if c.API == "generate" {
		o.EndsByCount = c.Sampling.MaxTokens
	}
	return reader.New(c, o)
}
