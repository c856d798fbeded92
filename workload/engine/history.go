package engine

import (
	"bytes"
	"encoding/json"

	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// History contains the prompts and answers of a session so far. nil: none.
type History struct {
	IDs      []int32
	Text     string
	Messages []byte // of a chat, separated by commas
}

// message is one message of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Messages returns the messages of a chat request after those of h, separated by commas.
func (h *History) chat(r *prompts.Request) []byte {
	var dst []byte
	if h != nil {
		dst = append(dst, h.Messages...)
	}
	if r.System != "" {
		dst = appendMessage(dst, "system", r.System)
	}
	list := bytes.TrimPrefix(bytes.TrimSpace(r.Messages), []byte{'['})
	if list = bytes.TrimSpace(bytes.TrimSuffix(list, []byte{']'})); len(list) > 0 {
		dst = append(comma(dst), list...)
	}
	if r.Text != "" {
		dst = appendMessage(dst, "user", r.Text)
	}
	return dst
}

func comma(dst []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return dst
}

func appendMessage(dst []byte, role, content string) []byte {
	text, _ := json.Marshal(message{role, content}) // strings are always encoded
	return append(comma(dst), text...)
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
		next.Messages = appendMessage(h.chat(r), "assistant", answer)
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
