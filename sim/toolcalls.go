package sim

import (
	"encoding/json"
	"strconv"
	"strings"
)

// The engine ends an answer of function calls like any other; the route reports it with another finish_reason.
const (
	finishStop   = "stop"
	finishLength = "length"
	finishCalls  = "tool_calls"
)

// wireCall is a function call as it is streamed: first its head, then its arguments in pieces.
type wireCall struct {
	toolCall
	arguments []rune
	from      int // index of its head among the parts of the answer
}

// wireCalls holds the function calls of an answer. A part is a head or a character of arguments.
type wireCalls struct {
	list  []wireCall
	parts int
	text  []byte // the list as JSON
}

// callsIn parses an answer as calls, like a server's parser for a request with tools; nil: it is text.
func (s *spelling) callsIn() *wireCalls {
	if !strings.HasPrefix(string(s.text[:min(len(s.text), 2)]), "[{") {
		return nil
	}
	var text string
	var list []toolCall
	if json.Unmarshal([]byte(`"`+string(s.text)+`"`), &text) != nil || json.Unmarshal([]byte(text), &list) != nil ||
		len(list) == 0 {
		return nil
	}
	for _, c := range list {
		if c.Function.Name == "" {
			return nil
		}
	}
	return newCalls(list)
}

func newCalls(list []toolCall) *wireCalls {
	w := &wireCalls{}
	for _, c := range list {
		w.list = append(w.list, wireCall{c, []rune(c.Function.Arguments), w.parts})
		w.parts += 1 + len(w.list[len(w.list)-1].arguments)
	}
	w.text, _ = json.Marshal(list) // texts
	return w
}

// appendCalls appends the parts of the calls that tokens [from, to) carry. The reasoning comes before the calls.
func (q *sequence) appendCalls(dst []byte, from, to int) []byte {
	return q.calls.appendDelta(dst, from-q.reasoning, to-q.reasoning, len(q.tokens)-q.reasoning)
}

// appendDelta appends the parts of tokens [from, to) of n. The parts are spread over the tokens, and the first token
// contains a head.
func (w *wireCalls) appendDelta(dst []byte, from, to, n int) []byte {
	upTo := func(tokens int) int { return (w.parts*tokens + n - 1) / n }
	first, end := upTo(from), upTo(to)
	dst = append(dst, `"tool_calls":[`...)
	entries := 0
	for i := range w.list {
		c := &w.list[i]
		behind := c.from + 1 + len(c.arguments)
		if first == end && (first <= c.from || first > behind) || first < end && (end <= c.from || first >= behind) {
			continue
		}
		if entries++; entries > 1 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"index":`...), int64(i), 10)
		if first <= c.from {
			dst = append(appendEscaped(append(dst, `,"id":"`...), c.ID), `","type":"function","function":{"name":"`...)
			dst = append(appendEscaped(dst, c.Function.Name), `","arguments":"`...)
		} else {
			dst = append(dst, `,"function":{"arguments":"`...)
		}
		bit := c.arguments[max(first-c.from-1, 0):max(min(end, behind)-c.from-1, 0)]
		dst = append(appendEscaped(dst, string(bit)), `"}}`...)
	}
	return append(dst, ']')
}
