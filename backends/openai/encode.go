package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// encode appends the body of one sample, as compact JSON.
func (d *Driver) encode(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	if c.Sampling.MaxTokens < 1 {
		return dst, fmt.Errorf("sample %d: max_tokens is %d: a request needs at least 1, set --max-tokens", s.Index, c.Sampling.MaxTokens)
	}
	dst = append(dst, '{')
	if c.ServedModel != "" {
		dst = appendText(append(dst, `"model":`...), c.ServedModel)
		dst = append(dst, ',')
	}
	limit := `,"max_tokens":`
	var err error
	if c.API == "chat" {
		dst, err = appendMessages(dst, s)
		if d.vllm {
			limit = `,"max_completion_tokens":`
		}
	} else {
		dst, err = appendPrompt(dst, s, c.Vocabulary)
	}
	if err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, limit...), int64(c.Sampling.MaxTokens), 10)
	if dst, err = appendSampling(dst, s, c); err != nil {
		return dst, err
	}
	if c.Stream {
		dst = append(dst, `,"stream":true,"stream_options":{"include_usage":true}`...)
	} else {
		dst = append(dst, `,"stream":false`...)
	}
	if d.vllm || c.NeedIDs {
		dst = append(dst, `,"return_token_ids":true`...)
	}
	if d.vllm && c.KeepText {
		dst = append(dst, `,"skip_special_tokens":false`...)
	}
	return append(dst, '}'), nil
}

// appendPrompt writes the ids where the sample has them, else its text.
func appendPrompt(dst []byte, s *datasets.Sample, vocabulary int) ([]byte, error) {
	dst = append(dst, `"prompt":`...)
	if len(s.InputIDs) == 0 {
		if s.Input == "" {
			return dst, fmt.Errorf("sample %d has neither prompt ids nor text: a completions request needs one of them (messages go with --api chat)", s.Index)
		}
		return appendText(dst, s.Input), nil
	}
	dst = append(dst, '[')
	for i, id := range s.InputIDs {
		// One id outside the vocabulary kills some servers (spec/real-servers.md §3).
		if id < 0 || (vocabulary > 0 && int(id) >= vocabulary) {
			return dst, fmt.Errorf("sample %d: prompt id %d at position %d is outside the vocabulary of %d ids: it is not sent", s.Index, id, i, vocabulary)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendID(dst, uint32(id))
	}
	return append(dst, ']'), nil
}

// appendMessages writes the sample's messages, or its text as one message of the user.
func appendMessages(dst []byte, s *datasets.Sample) ([]byte, error) {
	dst = append(dst, `"messages":`...)
	if len(s.Messages) > 0 {
		if !json.Valid(s.Messages) {
			return dst, fmt.Errorf("sample %d: its messages are no JSON: check the data set", s.Index)
		}
		buf := bytes.NewBuffer(dst)
		if err := json.Compact(buf, s.Messages); err != nil {
			return dst, fmt.Errorf("sample %d: its messages are no JSON: %w", s.Index, err)
		}
		return buf.Bytes(), nil
	}
	if s.Input == "" {
		return dst, fmt.Errorf("sample %d has neither messages nor text: a chat request needs one of them (ids go with --api completions)", s.Index)
	}
	dst = append(dst, `[{"role":"user","content":`...)
	return append(appendText(dst, s.Input), "}]"...), nil
}

// appendSampling writes what the benchmark fixes: a server's own defaults must not leak in (spec/backends.md §1.2).
func appendSampling(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	p := &c.Sampling
	if p.MinTokens > 0 {
		dst = strconv.AppendInt(append(dst, `,"min_tokens":`...), int64(p.MinTokens), 10)
	}
	for _, f := range []struct {
		key   string
		value *float64
	}{{"temperature", p.Temperature}, {"top_p", p.TopP}} {
		if f.value == nil {
			continue
		}
		if math.IsNaN(*f.value) || math.IsInf(*f.value, 0) {
			return dst, fmt.Errorf("sample %d: %s is %v: it has to be a finite number", s.Index, f.key, *f.value)
		}
		dst = append(append(append(dst, `,"`...), f.key...), `":`...)
		dst = strconv.AppendFloat(dst, *f.value, 'g', -1, 64)
	}
	if p.TopK != nil {
		dst = strconv.AppendInt(append(dst, `,"top_k":`...), int64(*p.TopK), 10)
	}
	if p.Seed != nil {
		dst = strconv.AppendInt(append(dst, `,"seed":`...), *p.Seed, 10)
	}
	if len(p.StopTokenIDs) > 0 {
		dst = append(dst, `,"stop_token_ids":[`...)
		for i, id := range p.StopTokenIDs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(id), 10)
		}
		dst = append(dst, ']')
	}
	if p.IgnoreEOS {
		dst = append(dst, `,"ignore_eos":true`...)
	}
	return dst, nil
}

// appendText writes a JSON string; HTML's characters stay as they are.
func appendText(dst []byte, text string) []byte {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic("openai: a string has no JSON: " + err.Error()) // Encode of a string into memory has no way to fail
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// triples are the numbers 000 to 999 in three digits each.
var triples = func() (t [1000][3]byte) {
	for i := range t {
		t[i] = [3]byte{byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)}
	}
	return t
}()

// appendID writes a token id three digits at a time: half the cost of strconv (spec/performance.md §4).
func appendID(dst []byte, id uint32) []byte {
	if id < 1000 {
		return appendHead(dst, id)
	}
	if id < 1000000 {
		return append(appendHead(dst, id/1000), triples[id%1000][:]...)
	}
	return append(appendID(dst, id/1000), triples[id%1000][:]...)
}

// appendHead writes a number below 1000 without leading zeros.
func appendHead(dst []byte, n uint32) []byte {
	t := &triples[n]
	switch {
	case n >= 100:
		return append(dst, t[:]...)
	case n >= 10:
		return append(dst, t[1:]...)
	}
	return append(dst, t[2])
}
