// HOT PATH: choice runs once an event. No allocation; what it is not sure of goes to slow.go.

package openai

import (
	"bytes"

	"github.com/mlperf-go/mlperf-go/backends/internal/wire/reader"
)

// choicesOf reads the array of choices.
func (w *walker) choicesOf(e *reader.Event) bool {
	w.Blank()
	return w.list(e, (*walker).counted)
}

// counted reads one choice of the array, and gives it to who wants each of them.
func (w *walker) counted(e *reader.Event) bool {
	e.Choices++
	if !w.choice(e) {
		return false
	}
	if w.each != nil {
		prompt, produced := e.Prompt, e.Produced // of the whole batch
		e.Prompt, e.Produced = -1, -1
		w.each(e)
		e.Prompt, e.Produced = prompt, produced
	}
	return true
}

// choiceMembers has the members of one choice.
var choiceMembers = reader.NewTable(
	reader.On("index", keyIndex, (*walker).Index),
	reader.On("text", keyText, (*walker).choiceText),
	reader.On("logprobs", 0, (*walker).logprobs),
	reader.On("finish_reason", keyFinish, (*walker).Finish),
	reader.On("prompt_token_ids", 0, func(w *walker, _ *reader.Event) bool { return w.SkipNumbers() }),
	reader.On("token_ids", keyTokenIDs, (*walker).choiceIDs),
	reader.On("delta", keyMessage, (*walker).message),
	reader.On("message", keyMessage, (*walker).message),
	// SGLang's chat (docs/reference/wire-protocols.md#differences-between-servers)
	reader.On("response_token_ids", keyTokenIDs, (*walker).IDs),
	// of one choice, as OpenRouter sends it: encoding/json reads the choices apart
	reader.On("error", keyError, func(w *walker, _ *reader.Event) bool { return w.Null() }),
)

// choice reads one choice; what an earlier choice said is forgotten, but for the number of choices.
func (w *walker) choice(e *reader.Event) bool {
	e.Index, e.IDs, e.HasIDs, e.BadID = 0, e.IDs[:0], false, false
	e.Text, e.HasText, e.Finish, e.Calls = e.Text[:0], false, nil, nil
	w.behindText = 0
	if !w.Open('{') {
		return false
	}
	seen, ok := choiceMembers.Walk(&w.Scanner, w, e)
	return ok && seen&(keyText|keyMessage) != keyText|keyMessage
}

// choiceText reads the text of a choice, and its token ids where the bytes between the two are known.
func (w *walker) choiceText(e *reader.Event) bool {
	if !w.text(e) {
		return false
	}
	w.behindText, w.atText = w.I, w.Seen|keyText
	if len(w.middle) > 0 && w.atText == w.middleFrom && bytes.HasPrefix(w.B[w.I:], w.middle) {
		w.I += len(w.middle)
		w.Seen = w.middleTo | keyTokenIDs
		return w.ids(e)
	}
	return true
}

// choiceIDs reads the token ids of a choice, and remembers the bytes between its text and them.
func (w *walker) choiceIDs(e *reader.Event) bool {
	if w.IDsInLogprobs {
		return w.Skip(0)
	}
	if w.behindText > 0 && e.Finish == nil && w.Seen&^keyFinish == w.atText&^keyFinish {
		w.middle = append(w.middle[:0], w.B[w.behindText:w.I]...)
		w.middleFrom, w.middleTo = w.atText, w.Seen
	}
	return w.ids(e)
}

// text reads the text of the answer, and marks where it stands.
func (w *walker) text(e *reader.Event) bool {
	w.marks.text = w.I
	ok := w.Text(e, true)
	w.marks.behindText = w.I
	return ok
}

// ids reads the token ids, and marks where they stand.
func (w *walker) ids(e *reader.Event) bool {
	w.marks.ids = w.I
	ok := w.IDs(e)
	w.marks.behindIDs = w.I
	return ok
}

var messageMembers = reader.NewTable(
	reader.On("content", keyText, (*walker).text),
	reader.On("reasoning", keyReasoning, (*walker).aside),
	reader.On("reasoning_content", keyReasoningContent, (*walker).aside),
	reader.On("tool_calls", keyToolCalls, (*walker).Calls),
)

// message reads a chat message or its delta. Reasoning is output, and no part of the answer's text.
func (w *walker) message(e *reader.Event) bool { return messageMembers.Value(&w.Scanner, w, e) }

func (w *walker) aside(e *reader.Event) bool { return w.Text(e, false) }
