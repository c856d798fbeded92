package sglang

import (
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// appendRequest writes the body of one sample, with its ids, or its text if it has none.
func appendRequest(dst []byte, s *datasets.Sample, c *backends.Config) (_ []byte, err error) {
	p := &c.Sampling
	switch {
	case p.MaxTokens < 1:
		return dst, fmt.Errorf("sample %d: max_new_tokens is %d: a request needs at least 1, set --max-tokens", s.Index,
			p.MaxTokens)
	case len(s.InputIDs) > 0:
		if dst, err = encode.Prompt(append(dst, `{"input_ids":`...), s, c.Vocabulary); err != nil {
			return dst, err
		}
	case s.Input != "":
		dst = encode.Input(append(dst, `{"text":`...), s)
	default:
		return dst, fmt.Errorf("sample %d has neither prompt ids nor text: a request to /generate needs one of them "+
			"(use --api chat for messages)", s.Index)
	}
	dst = strconv.AppendInt(append(dst, `,"sampling_params":{"max_new_tokens":`...), int64(p.MaxTokens), 10)
	if dst, err = appendSampling(dst, c); err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	return append(strconv.AppendBool(append(dst, `},"stream":`...), c.Stream), `}`...), nil
}

// appendSampling writes the parameters that the benchmark fixes and nothing else: SGLang rejects unknown names
// (docs/reference/wire-protocols.md#sglang-generate-route).
func appendSampling(dst []byte, c *backends.Config) (_ []byte, err error) {
	p := &c.Sampling
	if p.MinTokens > 0 {
		dst = encode.Integer(dst, "min_new_tokens", int64(p.MinTokens))
	}
	if dst, err = encode.Number(dst, "temperature", p.Temperature); err != nil {
		return dst, err
	}
	if dst, err = encode.Number(dst, "top_p", p.TopP); err != nil {
		return dst, err
	}
	if p.TopK != nil {
		k := int64(*p.TopK)
		if k <= 0 {
			k = -1 // the only value that switches it off; SGLang rejects 0
		}
		dst = encode.Integer(dst, "top_k", k)
	}
	dst = encode.Integers(dst, "stop_token_ids", p.StopTokenIDs)
	if p.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	if p.Seed != nil && isRandom(c) {
		dst = encode.Integer(dst, "sampling_seed", *p.Seed)
	}
	if c.KeepText {
		dst = append(dst, `,"skip_special_tokens":false`...)
	}
	if f := c.Format; f != nil {
		dst = encode.Text(append(dst, `,"json_schema":`...), f.SchemaText())
	}
	return dst, nil
}

// isRandom reports whether tokens are drawn at random, so that a seed matters. Otherwise no seed is sent, because
// servers before 2025-09-21 reject sampling_seed.
func isRandom(c *backends.Config) bool {
	t, k := c.Sampling.Temperature, c.Sampling.TopK
	return (t == nil || *t != 0) && (k == nil || *k != 1)
}
