package llamacpp

import (
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// appendRequest writes the body of one sample, with its ids, or its text if it has none. The route supports neither
// min_tokens nor stop_token_ids.
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
		dst = encode.Input(dst, s)
	default:
		return dst, fmt.Errorf("sample %d has neither prompt ids nor text: a request to /completion needs one of them "+
			"(use --api chat for messages)", s.Index)
	}
	dst = encode.Integer(dst, "n_predict", int64(p.MaxTokens))
	if dst, err = encode.Drawing(dst, p); err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	if p.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	if f := c.Format; f != nil {
		dst = append(append(dst, `,"json_schema":`...), f.SchemaText()...)
	}
	dst = strconv.AppendBool(append(dst, `,"stream":`...), c.Stream)
	return append(dst, `,"return_tokens":true}`...), nil
}
