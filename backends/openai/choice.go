// HOT PATH: choice runs once per event. No allocation; a document that it rejects goes to slow.go.

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

// counted reads one choice of the array, and passes it to w.each.
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

// choiceMembers are the members of one choice.
var choiceMembers = reader.NewTable(
	reader.On("index", keyIndex, (*walker).Index),
	reader.On("text", keyText, (*walker).choiceText),
	reader.On("logprobs", 0, (*walker).logprobs),
	reader.On("finish_reason", keyFinish, noted(answerFinish)),
	reader.On("stop_reason", 0, (*walker).Pass),
	reader.On("token_ids", keyTokenIDs, (*walker).choiceIDs),
	reader.On("prompt_token_ids", 0, func(w *walker, _ *reader.Event) bool { return w.SkipNumbers() }),
	reader.On("delta", keyMessage, (*walker).message),
	reader.On("message", keyMessage, (*walker).message),
	// SGLang's chat (docs/reference/wire-protocols.md#differences-between-servers)
	reader.On("response_token_ids", keyTokenIDs, (*walker).IDs),
	// OpenRouter reports an error of one choice here: encoding/json reads it
	reader.On("error", keyError, func(w *walker, _ *reader.Event) bool { return w.Null() }),
)

// choice reads one choice. It replaces everything from earlier choices except their number.
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

// choiceText reads the text of a choice, and its token ids too if the bytes between the two are known.
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
		return w.Skip()
	}
	if w.behindText > 0 && e.Finish == nil && w.Seen&^keyFinish == w.atText&^keyFinish {
		w.middle = append(w.middle[:0], w.B[w.behindText:w.I]...)
		w.middleFrom, w.middleTo = w.atText, w.Seen
	}
	return w.ids(e)
}

// text reads the text of the answer, and marks its position.
func (w *walker) text(e *reader.Event) bool {
	w.marks.text = w.I
	ok := w.noted(answerText, e)
	w.marks.behindText = w.I
	return ok
}

// ids reads the token ids, and marks their position.
func (w *walker) ids(e *reader.Event) bool {
	w.marks.ids = w.I
	ok := w.noted(answerIDs, e)
	w.marks.behindIDs = w.I
	return ok
}

var messageMembers = reader.NewTable(
	reader.On("content", keyText, (*walker).text),
	reader.On("reasoning", keyReasoning, (*walker).aside),
	reader.On("reasoning_content", keyReasoningContent, (*walker).aside),
	reader.On("tool_calls", keyToolCalls, (*walker).Calls),
)

// message reads a chat message or its delta. Reasoning is output that is not part of the text.
func (w *walker) message(e *reader.Event) bool { return messageMembers.Value(&w.Scanner, w, e) }

func (w *walker) aside(e *reader.Event) bool { return w.Text(e, false) }
