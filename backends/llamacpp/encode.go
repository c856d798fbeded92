package llamacpp

import (
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// appendRequest writes the body of one sample, with its ids, or its text if it has none.
func appendRequest(dst []byte, s *datasets.Sample, c *backends.Config) (_ []byte, err error) {
	p := &c.Sampling
	dst = append(dst, `{"prompt":`...)
	switch {
	case p.MaxTokens < 1: // without a limit, an answer ends at the end of the context
		return dst, fmt.Errorf("sample %d: n_predict is %d: a request needs at least 1, set --max-tokens", s.Index,
			p.MaxTokens)
	case len(s.InputIDs) > 0:
		if dst, err = encode.Prompt(dst, s, c.Vocabulary); err != nil {
			return dst, err
		}
	case s.Input != "":
		dst = encode.Text(dst, s.Input)
	default:
		return dst, fmt.Errorf("sample %d has neither prompt ids nor text: a request to /completion needs one of them "+
			"(use --api chat for messages)", s.Index)
	}
	dst = encode.Integer(dst, "n_predict", int64(p.MaxTokens))
	if dst, err = appendSampling(dst, p); err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	if f := c.Format; f != nil {
		dst = append(append(dst, `,"json_schema":`...), f.SchemaText()...)
	}
	dst = strconv.AppendBool(append(dst, `,"stream":`...), c.Stream)
	return append(dst, `,"return_tokens":true}`...), nil
}

// appendSampling writes the parameters that the benchmark fixes, and switches off the server's defaults: it discards
// tokens below 5 % of the most probable one (min_p 0.05), and may penalize repeated ones. The route supports neither
// min_tokens nor stop_token_ids.
func appendSampling(dst []byte, p *models.Sampling) (_ []byte, err error) {
	if dst, err = encode.Number(dst, "temperature", p.Temperature); err != nil {
		return dst, err
	}
	if dst, err = encode.Number(dst, "top_p", p.TopP); err != nil {
		return dst, err
	}
	if p.TopK != nil {
		dst = encode.Integer(dst, "top_k", int64(max(*p.TopK, 0))) // 0 is off
	}
	dst = append(dst, `,"min_p":0,"repeat_penalty":1`...)
	if p.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	if p.Seed != nil {
		dst = encode.Integer(dst, "seed", *p.Seed)
	}
	return dst, nil
}
