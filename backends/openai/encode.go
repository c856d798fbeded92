package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// encode appends the body of one sample, as compact JSON.
func (d *Driver) encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	if IsPooled(c.API) {
		return appendPooled(dst, s, c)
	}
	if IsTyped(c.API) {
		return d.appendTyped(dst, s, c)
	}
	// without a limit, chat answers end at the end of the context, and those of other routes after 16 tokens
	if c.Sampling.MaxTokens < 1 && c.API != "chat" {
		return dst, fmt.Errorf("sample %d: max_tokens is %d: a request needs at least 1, set --max-tokens", s.Index,
			c.Sampling.MaxTokens)
	}
	dst = append(dst, '{')
	if c.ServedModel != "" {
		dst = encode.Text(append(dst, `"model":`...), c.ServedModel)
		dst = append(dst, ',')
	}
	if c.API == "generate" {
		return d.appendGenerate(dst, s, c)
	}
	limit, err := "max_tokens", error(nil)
	if c.API == "chat" {
		limit = d.chatLimit
		dst, err = appendMessages(dst, s)
	} else {
		dst, err = appendPrompt(dst, s, c.Vocabulary)
	}
	if err != nil {
		return dst, err
	}
	if c.Sampling.MaxTokens > 0 {
		dst = encode.Integer(dst, limit, int64(c.Sampling.MaxTokens))
	}
	if dst, err = d.appendSampling(dst, s, c); err != nil {
		return dst, err
	}
	dst = appendStream(dst, c)
	dst = append(dst, d.ids(c)...)
	if c.KeepText {
		dst = append(dst, d.whole...)
	}
	return append(dst, '}'), nil
}

// appendGenerate writes the body for vLLM's route that accepts and returns token ids only.
func (d *Driver) appendGenerate(dst []byte, s *datasets.Sample, c *backends.Config) (_ []byte, err error) {
	if len(s.InputIDs) == 0 {
		return dst, fmt.Errorf("sample %d has no prompt ids: the generate route accepts nothing else (use --api completions "+
			"for text)", s.Index)
	}
	if dst, err = encode.Prompt(append(dst, `"token_ids":`...), s, c.Vocabulary); err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, `,"sampling_params":{"max_tokens":`...), int64(c.Sampling.MaxTokens), 10)
	if dst, err = d.appendSampling(dst, s, c); err != nil {
		return dst, err
	}
	return append(appendStream(append(dst, `,"detokenize":false}`...), c), '}'), nil
}

func appendStream(dst []byte, c *backends.Config) []byte {
	switch {
	case c.Stream && c.Drops("stream_options"):
		return append(dst, `,"stream":true`...)
	case c.Stream:
		return append(dst, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	return append(dst, `,"stream":false`...)
}

// appendPrompt writes the sample's ids, or its text if it has none.
func appendPrompt(dst []byte, s *datasets.Sample, vocabulary int) ([]byte, error) {
	dst = append(dst, `"prompt":`...)
	if len(s.InputIDs) == 0 {
		if s.Input == "" {
			return dst, fmt.Errorf("sample %d has neither prompt ids nor text: a completions request needs one of them "+
				"(use --api chat for messages)", s.Index)
		}
		return encode.Input(dst, s), nil
	}
	return encode.Prompt(dst, s, vocabulary)
}

// appendMessages writes the sample's messages, or its text as one message of the user.
func appendMessages(dst []byte, s *datasets.Sample) ([]byte, error) {
	dst = append(dst, `"messages":`...)
	// already valid and compact; messages with images are too large to check them twice
	if len(s.Messages) > 0 && s.MessageBytes == len(s.Messages) {
		return appendTools(append(dst, s.Messages...), s), nil
	}
	if len(s.Messages) > 0 {
		if !json.Valid(s.Messages) || bytes.TrimLeft(s.Messages, " \t\r\n")[0] != '[' {
			return dst, fmt.Errorf("sample %d: its messages are not a JSON array: check the data set", s.Index)
		}
		buf := bytes.NewBuffer(dst)
		_ = json.Compact(buf, s.Messages) // cannot fail: they are valid
		return appendTools(buf.Bytes(), s), nil
	}
	if s.Input == "" {
		return dst, fmt.Errorf("sample %d has neither messages nor text: a chat request needs one of them (use --api "+
			"completions for ids)", s.Index)
	}
	dst = append(dst, `[{"role":"user","content":`...)
	return append(encode.Input(dst, s), "}]"...), nil
}

// appendTools writes the functions that the model may call, if the sample has any.
func appendTools(dst []byte, s *datasets.Sample) []byte {
	if len(s.Tools) == 0 {
		return dst
	}
	dst = append(append(dst, `,"tools":`...), s.Tools...)
	if len(s.ToolChoice) > 0 {
		dst = append(append(dst, `,"tool_choice":`...), s.ToolChoice...)
	}
	return dst
}

// appendSampling writes all parameters that the benchmark fixes, so that no default of the server applies
// (docs/reference/wire-protocols.md#vllm-requests).
func (d *Driver) appendSampling(dst []byte, s *datasets.Sample, c *backends.Config) (_ []byte, err error) {
	p := &c.Sampling
	if p.MinTokens > 0 {
		dst = encode.Integer(dst, "min_tokens", int64(p.MinTokens))
	}
	if dst, err = encode.Number(dst, "temperature", p.Temperature); err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	if !c.Drops("top_p") {
		if dst, err = encode.Number(dst, "top_p", p.TopP); err != nil {
			return dst, fmt.Errorf("sample %d: %w", s.Index, err)
		}
	}
	if p.TopK != nil && !c.Drops("top_k") {
		dst = encode.Integer(dst, "top_k", d.topK(*p.TopK))
	}
	if p.Seed != nil && !c.Drops("seed") {
		dst = encode.Integer(dst, "seed", *p.Seed)
	}
	dst = encode.Integers(dst, "stop_token_ids", p.StopTokenIDs)
	if p.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	return d.appendFormat(dst, c), nil
}
