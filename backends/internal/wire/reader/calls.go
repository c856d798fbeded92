package reader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// mostCalls bounds the function calls of one answer.
const mostCalls = 1024

// callPart is a function call, or what an event of a stream brings of one: its index says of which.
type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// call is a function call that is being put together.
type call struct {
	index          int
	id, kind, name string
	arguments      strings.Builder
}

// addCalls puts the tool calls of a document to those that came before. They are rare, so encoding/json reads them.
func (a *Answer) addCalls(raw []byte) {
	var parts []callPart
	if err := json.Unmarshal(raw, &parts); err != nil {
		a.fail(backends.FailBadEvent, fmt.Sprintf("the answer's tool_calls are no list of calls (%v): %s", err,
			foreign.Line(string(raw), 200)))
		return
	}
	for i := range parts {
		p := &parts[i]
		index := i
		if p.Index != nil {
			index = *p.Index
		}
		c := a.callOf(index)
		if c == nil {
			a.fail(backends.FailBadEvent, fmt.Sprintf("the answer has more than %d tool calls", mostCalls))
			return
		}
		// some servers repeat them
		c.id, c.kind, c.name = firstOf(c.id, p.ID), firstOf(c.kind, p.Type), firstOf(c.name, p.Function.Name)
		var text string
		if json.Unmarshal(p.Function.Arguments, &text) == nil {
			c.arguments.WriteString(text)
		} else { // a server that sends an object instead of its text
			c.arguments.Write(p.Function.Arguments)
		}
	}
}

// callOf finds the call of an index, or begins it; nil: there are too many.
func (a *Answer) callOf(index int) *call {
	for _, c := range a.calls {
		if c.index == index {
			return c
		}
	}
	if len(a.calls) == mostCalls {
		return nil
	}
	a.calls = append(a.calls, &call{index: index})
	return a.calls[len(a.calls)-1]
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// callsText is the list of calls as a whole answer of OpenAI's interface has it: what function-call benchmarks score in
// place of the text (docs/reference/scoring-rules.md#function-calls).
func (a *Answer) callsText() []byte {
	type function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	type whole struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	list := make([]whole, len(a.calls))
	for i, c := range a.calls {
		list[i] = whole{c.id, firstOf(c.kind, "function"), function{c.name, c.arguments.String()}}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(list) // texts into memory
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
