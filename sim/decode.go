package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// maxPrompts is vLLM's limit of prompts in one request (docs/reference/wire-protocols.md#vllm-requests).
const maxPrompts = 1024

// maxBody is the largest request body that is read.
const maxBody = 64 << 20

// wireRequest is a decoded request body before it is checked against the server's settings.
type wireRequest struct {
	Model               *string
	Prompts             []wirePrompt
	List                bool // whether the prompts came as a list, perhaps of one
	Messages            json.RawMessage
	System              json.RawMessage // system prompt of a message or a response
	Tools               json.RawMessage
	ToolChoice          json.RawMessage
	MaxTokens           *int
	MaxCompletionTokens *int
	MinTokens           *int
	IgnoreEOS           *bool
	StopTokenIDs        []int32
	N                   *int
	Stream              *bool
	StreamOptions       *struct {
		IncludeUsage         *bool `json:"include_usage"`
		ContinuousUsageStats *bool `json:"continuous_usage_stats"`
	}
	StreamInterval *int
	ReturnTokenIDs *bool
	RequestID      *string
	RequestIDs     json.RawMessage // SGLang's rid: a text, or one for each prompt
	SamplingParams json.RawMessage // of SGLang's native route
	Tokens         []int32         // of /detokenize
	SkipSpecial    *bool           // of SGLang's /detokenize
	TokenStrs      *bool           // of /tokenize
	Encoding       *string         // of embeddings
	Query          *string         // of a ranking
	Documents      []string        // of a ranking
	TopN           int             // of a ranking; 0: all
	Options        *struct {
		NumPredict *int `json:"num_predict"`
	} // of Ollama
}

// fields are the supported fields of a route, by name; all others are ignored.
type fields map[string]func(*wireRequest) any

// wirePrompt is one prompt: ids if IDs is not nil, else text.
type wirePrompt struct {
	Text string
	IDs  []int32
}

// requestFields are the fields of vLLM's routes, which ignores all others.
var requestFields = fields{
	"model":                 func(q *wireRequest) any { return &q.Model },
	"messages":              func(q *wireRequest) any { return &q.Messages },
	"tools":                 func(q *wireRequest) any { return &q.Tools },
	"tool_choice":           func(q *wireRequest) any { return &q.ToolChoice },
	"max_tokens":            func(q *wireRequest) any { return &q.MaxTokens },
	"max_completion_tokens": func(q *wireRequest) any { return &q.MaxCompletionTokens },
	"min_tokens":            func(q *wireRequest) any { return &q.MinTokens },
	"ignore_eos":            func(q *wireRequest) any { return &q.IgnoreEOS },
	"stop_token_ids":        func(q *wireRequest) any { return &q.StopTokenIDs },
	"n":                     func(q *wireRequest) any { return &q.N },
	"stream":                func(q *wireRequest) any { return &q.Stream },
	"stream_options":        func(q *wireRequest) any { return &q.StreamOptions },
	"stream_interval":       func(q *wireRequest) any { return &q.StreamInterval },
	"return_token_ids":      func(q *wireRequest) any { return &q.ReturnTokenIDs },
	"request_id":            func(q *wireRequest) any { return &q.RequestID },
	"tokens":                func(q *wireRequest) any { return &q.Tokens },
	"skip_special_tokens":   func(q *wireRequest) any { return &q.SkipSpecial },
	"return_token_strs":     func(q *wireRequest) any { return &q.TokenStrs },
}

// errNotJSON and fieldError distinguish the two kinds of bad bodies.
var errNotJSON = errors.New("the body is not a JSON object")

type fieldError struct {
	field, reason string
}

func (e *fieldError) Error() string { return e.field + ": " + e.reason }

// decodeRequest decodes a request body with the fields of a route. It reads prompt ids, which are nearly all of its
// bytes, in place, and the other fields with encoding/json.
func decodeRequest(body []byte, known fields) (*wireRequest, error) {
	q := new(wireRequest)
	c := cursor{b: body}
	if !c.take('{') {
		return nil, errNotJSON
	}
	if c.take('}') {
		return q, c.end()
	}
	for {
		key, ok := c.key()
		if !ok {
			return nil, errNotJSON
		}
		if err := q.field(key, &c, known); err != nil {
			return nil, classify(err, body)
		}
		switch {
		case c.take(','):
		case c.take('}'):
			return q, c.end()
		default:
			return nil, errNotJSON
		}
	}
}

// classify returns a field's error only if the body as a whole is JSON.
func classify(err error, body []byte) error {
	if !json.Valid(body) {
		return errNotJSON
	}
	return err
}

// isPrompt reports whether a field is the prompt: SGLang's native route has two others.
func (f fields) isPrompt(key string) bool {
	if _, native := f["sampling_params"]; native {
		return key == "text" || key == "input_ids"
	}
	if _, pooled := f["encoding_format"]; pooled {
		return key == "input"
	}
	return key == "prompt"
}

func (q *wireRequest) field(key string, c *cursor, of fields) error {
	if of.isPrompt(key) {
		return q.prompt(c)
	}
	raw, ok := c.value()
	if !ok {
		return errNotJSON
	}
	target, known := of[key]
	if !known {
		if !json.Valid(raw) {
			return errNotJSON
		}
		return nil
	}
	if err := json.Unmarshal(raw, target(q)); err != nil {
		return &fieldError{key, fmt.Sprintf("a value of another type is needed (%v)", err)}
	}
	return nil
}

// prompt reads string | [string] | [int] | [[int]] | null.
func (q *wireRequest) prompt(c *cursor) error {
	switch c.peek() {
	case '"', 'n':
		raw, ok := c.value()
		var text *string
		if !ok || json.Unmarshal(raw, &text) != nil {
			return errNotJSON
		}
		if text != nil {
			q.Prompts = []wirePrompt{{Text: *text}}
		}
		return nil
	case '[':
		q.Prompts = nil
		return q.promptList(c)
	}
	return &fieldError{"prompt", "a string, a list of strings, a list of token ids or a list of such lists is needed"}
}

func (q *wireRequest) promptList(c *cursor) error {
	at := c.i
	c.take('[')
	switch first := c.peek(); first {
	case ']':
		c.take(']')
		return nil
	case '"':
		q.List, c.i = true, at
		raw, ok := c.value()
		if !ok {
			return errNotJSON
		}
		var texts []*string
		if json.Unmarshal(raw, &texts) != nil {
			return &fieldError{"prompt", "a list must hold strings only, or token ids only"}
		}
		for _, t := range texts {
			if t == nil {
				return &fieldError{"prompt", "a list must hold strings only, or token ids only"}
			}
			q.Prompts = append(q.Prompts, wirePrompt{Text: *t})
		}
		return nil
	case '[':
		q.List = true
		for {
			ids, err := c.ids()
			if err != nil {
				return err
			}
			q.Prompts = append(q.Prompts, wirePrompt{IDs: ids})
			if c.take(']') {
				return nil
			}
			if !c.take(',') {
				return errNotJSON
			}
		}
	default:
		c.i = at
		ids, err := c.ids()
		if err != nil {
			return err
		}
		q.Prompts = []wirePrompt{{IDs: ids}}
		return nil
	}
}

// cursor walks over JSON bytes and finds where values end. It does not check what is inside them.
type cursor struct {
	b []byte
	i int
}

// peek returns the next byte that is not white space, 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch ch := c.b[c.i]; ch {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return ch
		}
	}
	return 0
}

func (c *cursor) take(ch byte) bool {
	if c.peek() != ch {
		return false
	}
	c.i++
	return true
}

func (c *cursor) end() error {
	if c.peek(); c.i != len(c.b) {
		return errNotJSON
	}
	return nil
}

func (c *cursor) key() (string, bool) {
	if c.peek() != '"' {
		return "", false
	}
	raw, ok := c.value()
	var s string
	if !ok || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, c.take(':')
}

// value returns the bytes of the next value.
func (c *cursor) value() ([]byte, bool) {
	c.peek()
	from, depth := c.i, 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			if !c.str() {
				return nil, false
			}
			if depth == 0 {
				return c.b[from:c.i], true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return c.b[from:c.i], c.i > from
			}
			if depth--; depth == 0 {
				c.i++
				return c.b[from:c.i], true
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return c.b[from:c.i], c.i > from
			}
		}
		c.i++
	}
	return c.b[from:], depth == 0 && c.i > from
}

// str moves past the string that begins here.
func (c *cursor) str() bool {
	c.i++
	for {
		n := bytes.IndexAny(c.b[c.i:], `"\`)
		if n < 0 || c.i+n+1 >= len(c.b) && c.b[c.i+n] == '\\' {
			c.i = len(c.b)
			return false
		}
		if c.i += n + 1; c.b[c.i-1] == '"' {
			return true
		}
		c.i++ // skip the escaped character
	}
}

// ids reads an array of integers.
func (c *cursor) ids() ([]int32, error) {
	if !c.take('[') {
		return nil, &fieldError{"prompt", "a list must hold strings only, or token ids only"}
	}
	out := make([]int32, 0, min(1024, (len(c.b)-c.i)/4+1))
	if c.take(']') {
		return out, nil
	}
	for {
		id, err := c.id()
		if err != nil {
			return nil, err
		}
		out = append(out, id)
		if c.take(']') {
			return out, nil
		}
		if !c.take(',') {
			return nil, &fieldError{"prompt", "a token id must be a whole number"}
		}
	}
}

func (c *cursor) id() (int32, error) {
	negative := c.peek() == '-'
	if negative {
		c.i++
	}
	from, v := c.i, int64(0)
	for ; c.i < len(c.b) && c.b[c.i]-'0' < 10; c.i++ {
		if v = v*10 + int64(c.b[c.i]-'0'); v > math.MaxInt32 {
			return 0, &fieldError{"prompt", "a token id is out of vocabulary: it has more than 31 bits"}
		}
	}
	switch n := c.i - from; {
	case n == 0, n > 1 && c.b[from] == '0':
		return 0, &fieldError{"prompt", "a token id must be a whole number"}
	case negative:
		return 0, &fieldError{"prompt", "a token id must not be negative"}
	}
	return int32(v), nil
}
