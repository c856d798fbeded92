package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire/encode"
	"github.com/mlperf-go/mlperf-go/datasets"
)

// appendTyped writes the body of a request for a message or a response.
func (d *Driver) appendTyped(dst []byte, s *datasets.Sample, c *backends.Config) ([]byte, error) {
	dst = append(dst, '{')
	if c.ServedModel != "" {
		dst = append(encode.Text(append(dst, `"model":`...), c.ServedModel), ',')
	}
	talk, err := talkOf(s)
	if err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	limit := "max_output_tokens"
	if c.API == messages {
		limit = "max_tokens"
		dst, err = talk.appendMessages(dst)
	} else {
		dst, err = talk.appendInput(dst)
	}
	if err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	if dst, err = appendTypedTools(dst, s.Tools, c.API); err != nil {
		return dst, fmt.Errorf("sample %d: %w", s.Index, err)
	}
	switch {
	case c.Sampling.MaxTokens > 0:
		dst = encode.Integer(dst, limit, int64(c.Sampling.MaxTokens))
	case c.API == messages:
		return dst, fmt.Errorf("sample %d: max_tokens is %d: a request for a message needs at least 1, set the tokens of "+
			"answers", s.Index, c.Sampling.MaxTokens)
	}
	own := *c
	if c.API == messages { // it has no field for these
		own.Sampling.MinTokens, own.Sampling.Seed, own.Sampling.StopTokenIDs, own.Sampling.IgnoreEOS = 0, nil, nil, false
	} else {
		own.Sampling.MinTokens, own.Sampling.StopTokenIDs = 0, nil
	}
	if dst, err = d.appendSampling(dst, s, &own); err != nil {
		return dst, err
	}
	if c.Stream {
		return append(dst, `,"stream":true}`...), nil
	}
	return append(dst, `,"stream":false}`...), nil
}

// talk is the messages of a chat.
type talk []struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
}

// part is a part of a message in OpenAI's form.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

func talkOf(s *datasets.Sample) (t talk, err error) {
	if len(s.Messages) == 0 {
		if s.Input == "" {
			return nil, fmt.Errorf("it has neither messages nor text: use --api completions for ids")
		}
		content, err := json.Marshal(s.Input)
		t = make(talk, 1)
		t[0].Role, t[0].Content = "user", content
		return t, err
	}
	if err := json.Unmarshal(s.Messages, &t); err != nil {
		return nil, fmt.Errorf("its messages are not a JSON array of messages: check the data set: %w", err)
	}
	for i, m := range t {
		if len(m.ToolCalls) > 2 || m.Role == "tool" {
			return nil, fmt.Errorf("message %d is a call of a tool or its result, which only the API chat carries", i)
		}
	}
	return t, nil
}

// contentOf returns the content of a message: a JSON text, or parts.
func contentOf(raw json.RawMessage) (text json.RawMessage, parts []part, err error) {
	if len(raw) > 0 && raw[0] == '"' {
		return raw, nil, nil
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, nil, fmt.Errorf("the content of a message is neither a text nor a list of parts: %w", err)
	}
	for _, p := range parts {
		if p.Type != "text" && p.Type != "image_url" {
			return nil, nil, fmt.Errorf("a part of type %.30q cannot be sent; use text and image_url", p.Type)
		}
	}
	return nil, parts, nil
}

// appendMessages writes Anthropic's messages. System prompts have a member of their own.
func (t talk) appendMessages(dst []byte) ([]byte, error) {
	var system []string
	dst = append(dst, `"messages":[`...)
	n := 0
	for _, m := range t {
		text, parts, err := contentOf(m.Content)
		if err != nil {
			return dst, err
		}
		if m.Role == "system" || m.Role == "developer" {
			system = append(system, plain(text, parts))
			continue
		}
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = append(encode.Text(append(dst, `{"role":`...), m.Role), `,"content":`...)
		if parts == nil {
			dst = append(append(dst, text...), '}')
			continue
		}
		dst = append(appendParts(dst, parts, appendBlock), '}')
	}
	if n == 0 {
		return dst, fmt.Errorf("it has no message besides the system prompt")
	}
	dst = append(dst, ']')
	if len(system) > 0 {
		dst = encode.Text(append(dst, `,"system":`...), strings.Join(system, "\n\n"))
	}
	return dst, nil
}

// plain returns the text of a content.
func plain(text json.RawMessage, parts []part) (s string) {
	if parts == nil && json.Unmarshal(text, &s) == nil {
		return s
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

func appendParts(dst []byte, parts []part, write func([]byte, *part) []byte) []byte {
	dst = append(dst, '[')
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = write(dst, &parts[i])
	}
	return append(dst, ']')
}

// appendBlock writes a block of an Anthropic message.
func appendBlock(dst []byte, p *part) []byte {
	if p.Type == "text" {
		return append(encode.Text(append(dst, `{"type":"text","text":`...), p.Text), '}')
	}
	head, data, isData := strings.Cut(p.ImageURL.URL, ";base64,")
	if media, ok := strings.CutPrefix(head, "data:"); ok && isData {
		dst = encode.Text(append(dst, `{"type":"image","source":{"type":"base64","media_type":`...), media)
		return append(encode.Text(append(dst, `,"data":`...), data), "}}"...)
	}
	return append(encode.Text(append(dst, `{"type":"image","source":{"type":"url","url":`...), p.ImageURL.URL), "}}"...)
}

// appendInput writes the input of a response.
func (t talk) appendInput(dst []byte) ([]byte, error) {
	dst = append(dst, `"input":[`...)
	for i, m := range t {
		text, parts, err := contentOf(m.Content)
		if err != nil {
			return dst, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(encode.Text(append(dst, `{"role":`...), m.Role), `,"content":`...)
		if parts == nil {
			dst = append(append(dst, text...), '}')
			continue
		}
		kind := "input_text"
		if m.Role == "assistant" {
			kind = "output_text"
		}
		dst = append(appendParts(dst, parts, func(dst []byte, p *part) []byte {
			if p.Type == "text" {
				return append(encode.Text(append(dst, `{"type":"`+kind+`","text":`...), p.Text), '}')
			}
			dst = encode.Text(append(dst, `{"type":"input_image","detail":"auto","image_url":`...), p.ImageURL.URL)
			return append(dst, '}')
		}), '}')
	}
	return append(dst, `],"store":false`...), nil
}

// appendTypedTools writes functions in the form of an API.
func appendTypedTools(dst []byte, tools json.RawMessage, api string) ([]byte, error) {
	if len(tools) == 0 {
		return dst, nil
	}
	var list []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(tools, &list); err != nil {
		return dst, fmt.Errorf("its tools are not a list of functions: %w", err)
	}
	head, schema := `{"type":"function","name":`, `,"parameters":`
	if api == messages {
		head, schema = `{"name":`, `,"input_schema":`
	}
	dst = append(dst, `,"tools":[`...)
	for i, t := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = encode.Text(append(dst, head...), t.Function.Name)
		dst = append(encode.Text(append(dst, `,"description":`...), t.Function.Description), schema...)
		if len(t.Function.Parameters) == 0 {
			t.Function.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		dst = append(append(dst, t.Function.Parameters...), '}')
	}
	return append(dst, ']'), nil
}
