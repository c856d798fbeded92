package openai

import (
	"bytes"
	"math"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// Servers that send no token ids may send them in the log probabilities, as "token_id:5" in place of the token's text
// (return_tokens_as_token_ids; vLLM 0.6 and later). Completions have a list of tokens, chat has a list of objects.

var tokenID = []byte("token_id:")

// asID parses "token_id:5". named reports whether the token has that form, and ok whether the id is valid.
func asID(token []byte) (id int32, named, ok bool) {
	digits, named := bytes.CutPrefix(token, tokenID)
	if !named || len(digits) == 0 || len(digits) > 10 {
		return 0, named, false
	}
	v := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, true, false
		}
		v = v*10 + int64(c-'0')
	}
	return int32(min(v, math.MaxInt32)), true, v <= math.MaxInt32
}

// logprobsMembers are the lists of tokens: of texts in completions, of objects in chat. An answer may have both keys,
// one of them null.
var logprobsMembers = reader.NewTable(
	reader.On("tokens", 0, func(w *walker, e *reader.Event) bool { return w.tokenList(e, (*walker).named) }),
	reader.On("content", 0, func(w *walker, e *reader.Event) bool { return w.tokenList(e, (*walker).entry) }),
)

// logprobs reads the ids in a choice's log probabilities.
func (w *walker) logprobs(e *reader.Event) bool {
	if !w.IDsInLogprobs {
		return w.Skip()
	}
	return !e.HasIDs && logprobsMembers.Value(&w.Scanner, w, e)
}

// tokenList reads a list of tokens. It returns false if ids came before: encoding/json decides which of them count.
func (w *walker) tokenList(e *reader.Event, element func(*walker, *reader.Event) bool) bool {
	return !e.HasIDs && w.list(e, element)
}

// list reads an array, or null.
func (w *walker) list(e *reader.Event, element func(*walker, *reader.Event) bool) bool {
	if w.Null() {
		return true
	}
	if !w.Open('[') {
		return false
	}
	w.Blank()
	if w.Open(']') {
		return true
	}
	for {
		w.Blank()
		if !element(w, e) {
			return false
		}
		w.Blank()
		if w.Open(']') {
			return true
		}
		if !w.Open(',') {
			return false
		}
	}
}

// named reads one token.
func (w *walker) named(e *reader.Event) bool {
	raw, escaped, ok := w.Str()
	if !ok || escaped {
		return false
	}
	addNamed(e, raw)
	return true
}

func addNamed(e *reader.Event, token []byte) {
	id, named, ok := asID(token)
	if !named {
		return // the server sends texts instead of ids
	}
	e.HasIDs = true
	if !ok {
		e.BadID, id = true, -1
	}
	e.IDs = append(e.IDs, id)
}

var entryMembers = reader.NewTable(reader.On("token", keyToken, (*walker).named))

// entry reads the object of one token in a chat answer.
func (w *walker) entry(e *reader.Event) bool {
	if !w.Open('{') {
		return false
	}
	_, ok := entryMembers.Walk(&w.Scanner, w, e)
	return ok
}

// slowLogprobs reads the ids in a choice's log probabilities with encoding/json.
func slowLogprobs(o reader.Object, e *reader.Event) {
	tokens := o.Strings("tokens")
	for _, entry := range o.Objects("content") {
		tokens = append(tokens, string(entry.String("token")))
	}
	for _, t := range tokens {
		addNamed(e, []byte(t))
	}
}
