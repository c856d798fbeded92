package http1_test

import (
	"bytes"
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// jsonProtocol reads answers the obvious way, with encoding/json: what a harness without a hot path would do.
var jsonProtocol = wire.Protocol{Path: "/v1/completions", NewAnswer: func() wire.Answer { return &jsonAnswer{} }}

type jsonAnswer struct {
	events bool
	body   []byte
	tokens []int32
	finish string
	usage  int
	done   bool
}

type jsonDocument struct {
	Choices []struct {
		Text         string  `json:"text"`
		TokenIDs     []int32 `json:"token_ids"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

func (a *jsonAnswer) Begin(kind string) {
	*a = jsonAnswer{events: kind != "application/json", body: a.body[:0], tokens: a.tokens[:0]}
}
func (a *jsonAnswer) News() []wire.News    { return nil }
func (a *jsonAnswer) Visible() bool        { return true }
func (a *jsonAnswer) Begun() bool          { return true }
func (a *jsonAnswer) Expect(wire.Expected) {}
func (a *jsonAnswer) Tokens() []int32      { return a.tokens }
func (a *jsonAnswer) Settled() bool        { return a.done }

func (a *jsonAnswer) Feed(p []byte) (int, []byte) {
	a.body = append(a.body, p...)
	if !a.events {
		return 0, nil
	}
	new := 0
	for {
		line, rest, ok := bytes.Cut(a.body, []byte("\n"))
		if !ok {
			return new, nil
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			new += a.take(data)
		}
		a.body = a.body[:copy(a.body, rest)]
	}
}

func (a *jsonAnswer) take(data []byte) int {
	if string(data) == "[DONE]" {
		a.done = true
		return 0
	}
	var d jsonDocument
	if err := json.Unmarshal(data, &d); err != nil {
		return 0
	}
	before := len(a.tokens)
	for _, c := range d.Choices {
		a.tokens = append(a.tokens, c.TokenIDs...)
		if c.FinishReason != nil {
			a.finish = *c.FinishReason
		}
	}
	if d.Usage != nil {
		a.usage = d.Usage.CompletionTokens
	}
	return len(a.tokens) - before
}

func (a *jsonAnswer) Finish(o *backends.Outcome, cut backends.Reason) string {
	if !a.events {
		a.take(a.body)
	}
	o.Reason, o.Tokens, o.NTokens, o.UsageTokens, o.FinishReason = cut, a.tokens, len(a.tokens), a.usage, a.finish
	o.TokenSource = backends.TokensFromIDs
	if len(a.tokens) == 0 {
		o.Reason = backends.FailEmpty
	}
	return ""
}
