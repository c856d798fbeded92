package ollama

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// appendRequest writes the body of one sample: its messages or its text. raw switches off the server's own template,
// and truncate and shift stop the server from silently shortening prompts that do not fit into its context. Ollama
// supports neither min_tokens, stop_token_ids nor ignore_eos.
func appendRequest(dst []byte, s *datasets.Sample, c *backends.Config) (_ []byte, err error) {
	p := &c.Sampling
	dst = append(encode.Text(append(dst, `{"model":`...), c.ServedModel), ',')
	if c.API == "chat" {
		if dst, err = appendMessages(dst, s); err != nil {
			return dst, err
		}
	} else if s.Input == "" {
		return dst, fmt.Errorf("sample %d has no text: a request to /api/generate needs it (use --api chat for messages)",
			s.Index)
	} else {
		dst = append(encode.Input(append(dst, `"prompt":`...), s), `,"raw":true`...)
	}
	if p.MaxTokens < 1 { // without a limit, an answer may never end
		return dst, fmt.Errorf("sample %d: num_predict is %d: a request needs at least 1, set --max-tokens", s.Index,
			p.MaxTokens)
	}
	dst = strconv.AppendBool(append(dst, `,"stream":`...), c.Stream)
	if f := c.Format; f != nil && f.Schema != nil {
		dst = append(append(dst, `,"format":`...), f.Schema...)
	} else if f != nil {
		dst = append(dst, `,"format":"json"`...)
	}
	dst = strconv.AppendInt(append(dst, `,"truncate":false,"shift":false,"options":{"num_predict":`...),
		int64(p.MaxTokens), 10)
	if dst, err = encode.Drawing(dst, p); err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	return append(dst, '}', '}'), nil
}

// appendMessages writes the sample's messages and functions, or its text as one message of the user.
func appendMessages(dst []byte, s *datasets.Sample) ([]byte, error) {
	switch {
	case len(s.Messages) > 0 && s.MessageBytes != len(s.Messages) && !json.Valid(s.Messages):
		return dst, fmt.Errorf("sample %d: its messages are not JSON: check the data set", s.Index)
	case len(s.Messages) > 0:
		dst = append(append(dst, `"messages":`...), s.Messages...)
	case s.Input != "":
		dst = append(encode.Input(append(dst, `"messages":[{"role":"user","content":`...), s), "}]"...)
	default:
		return dst, fmt.Errorf("sample %d has neither messages nor text: a request to /api/chat needs one of them", s.Index)
	}
	if len(s.Tools) > 0 {
		dst = append(append(dst, `,"tools":`...), s.Tools...)
	}
	return dst, nil
}
