package reader

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// maxCalls is the limit of function calls in one answer.
const maxCalls = 1024

// callPart is a function call, or the piece of it in one event of a stream. Index identifies the call.
type callPart struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// call is a function call that is assembled from its pieces.
type call struct {
	index          int
	id, kind, name string
	arguments      strings.Builder
}

// addCalls adds the tool calls of a document. They are rare, so encoding/json reads them.
func (a *Answer) addCalls(raw []byte) {
	var parts []callPart
	if err := json.Unmarshal(raw, &parts); err != nil {
		a.fail(backends.FailBadEvent, fmt.Sprintf("the answer's tool_calls are not a list of calls (%v): %s", err,
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
			a.fail(backends.FailBadEvent, fmt.Sprintf("the answer has more than %d tool calls", maxCalls))
			return
		}
		// some servers repeat these in each piece
		c.id, c.kind, c.name = firstOf(c.id, p.ID), firstOf(c.kind, p.Type), firstOf(c.name, p.Function.Name)
		var text string
		if json.Unmarshal(p.Function.Arguments, &text) == nil {
			c.arguments.WriteString(text)
		} else { // some servers send an object instead of its text
			c.arguments.Write(p.Function.Arguments)
		}
	}
}

// callOf returns the call of an index, a new one if necessary; nil: there are too many.
func (a *Answer) callOf(index int) *call {
	for _, c := range a.calls {
		if c.index == index {
			return c
		}
	}
	if len(a.calls) == maxCalls {
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

// callsText returns the calls as the list in an answer of OpenAI's interface, which function-call benchmarks score
// instead of the text (docs/reference/scoring-rules.md#function-calls).
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
	_ = e.Encode(list) // cannot fail: strings, written to memory
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}
