package openai

import (
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// terms returns the names of a completion's fields.
func (d *dialect) terms() reader.Terms {
	return reader.Terms{
		Count: "usage.completion_tokens",
		IDs:   d.needIDs,
		Needs: "token ids (return_token_ids, vLLM >= 0.10.2) nor usage (stream_options.include_usage)",
		Parts: "choices",
	}
}

// newAnswer returns a reader of completions. vLLM's generate route may end a stream without a finish reason if the last
// step produced no token (docs/reference/wire-protocols.md#vllm-generate-route).
func newAnswer(d *dialect, c *backends.Config) wire.Answer {
	if IsPooled(c.API) {
		return newPooled(c)
	}
	if IsTyped(c.API) {
		return newTyped(c)
	}
	w := &walker{Scanner: reader.NewScanner(c)}
	o := reader.Options{Decoder: w, Terms: d.terms()}
	if c.Batch > 0 {
		return reader.NewBatch(c, o, w)
	}
	if c.API == "generate" {
		o.EndsByCount = c.Sampling.MaxTokens
	}
	if !c.Stream {
		w.layout = &layout{}
	}
	return reader.New(c, o)
}
