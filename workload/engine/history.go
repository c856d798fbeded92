package engine

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/internal/quote"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// History contains the prompts and answers of a session so far. nil: none.
type History struct {
	IDs      []int32
	Text     string
	Messages []byte // of a chat, separated by commas
}

// chat appends the messages of a chat request after those of h, separated by commas. dst ends where they may begin.
func (h *History) chat(dst []byte, r *prompts.Request) []byte {
	if h != nil {
		dst = append(dst, h.Messages...)
	}
	if r.System != "" {
		dst = appendMessage(dst, "system", r.System, false)
	}
	list := bytes.TrimPrefix(bytes.TrimSpace(r.Messages), []byte{'['})
	if list = bytes.TrimSpace(bytes.TrimSuffix(list, []byte{']'})); len(list) > 0 {
		dst = append(comma(dst), list...)
	}
	if r.Text != "" {
		dst = appendMessage(dst, "user", r.Text, r.Plain)
	}
	return dst
}

// comma separates a message from the one before it.
func comma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// appendMessage appends a message. isPlain is set if its content is known to be plain.
func appendMessage(dst []byte, role, content string, isPlain bool) []byte {
	dst = append(append(append(comma(dst), `{"role":"`...), role...), `","content":`...)
	if isPlain {
		dst = quote.Plain(dst, content)
	} else {
		dst = quote.HTML(dst, content)
	}
	return append(dst, '}')
}

// Prompt returns the ids and the text of a completion request after those of h.
func (h *History) prompt(r *prompts.Request) ([]int32, string) {
	if h == nil {
		return r.IDs, r.Text
	}
	if len(r.IDs) > 0 {
		return append(h.IDs[:len(h.IDs):len(h.IDs)], r.IDs...), ""
	}
	return nil, h.Text + r.Text
}

// after returns the history behind a request and its answer.
func (h *History) after(r *prompts.Request, isChat bool, ids []int32, answer string) *History {
	if r.Answer != "" {
		answer = r.Answer
	}
	next := &History{}
	if isChat {
		next.Messages = appendMessage(h.chat(nil, r), "assistant", answer, false)
		return next
	}
	next.IDs, next.Text = h.prompt(r)
	if len(next.IDs) > 0 {
		next.IDs = append(next.IDs[:len(next.IDs):len(next.IDs)], ids...)
	} else {
		next.Text += answer
	}
	return next
}
