// HOT PATH: apply and the functions that it calls run once per event. No I/O, no clock, no lock, no allocation except
// for the growth of the answer itself.

package reader

import (
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// apply adds a document to the answer and returns the number of its new output tokens.
func (a *Answer) apply(e *Event) int {
	if e.IsError {
		a.fail(backends.FailServerErrorEvent, "the server reported an error inside its answer: "+
			foreign.Line(string(e.Message), 400))
		return 0
	}
	if e.Prompt >= 0 {
		a.prompt, a.cached = e.Prompt, e.Cached
	}
	if e.Produced >= 0 {
		a.count = e.Produced
	}
	if e.Choices == 0 {
		return 0
	}
	a.hasChoice = true
	if e.Choices > 1 || e.Index != 0 {
		a.fail(backends.FailBadEvent, fmt.Sprintf("expected one choice with index 0, got %d, the last with index %d",
			e.Choices, e.Index))
		return 0
	}
	a.done = a.done || e.Last
	over := a.finish != ""
	if e.Finish != nil {
		a.setFinish(e)
	}
	if a.returnText && e.Calls != nil {
		a.addCalls(e.Calls)
	}
	a.hasIDs = a.hasIDs || e.HasIDs
	a.aside = a.aside || e.Aside
	a.visible = a.visible || e.IsCall || !e.Aside && (e.HasText || len(e.IDs) > 0)
	var n int
	if e.MayRepeat {
		n = a.addNew(e)
	} else {
		n = a.add(e)
	}
	if over && n > 0 && !isAborted(a.finish) {
		a.fail(backends.FailBadEvent, fmt.Sprintf("output follows the finish_reason %q", a.finish))
		return 0
	}
	return n
}

// setFinish sets the finish reason of the answer. An aborted answer stays aborted; two different reasons are otherwise
// a contradiction.
func (a *Answer) setFinish(e *Event) {
	reason := intern(e.Finish)
	switch {
	case isAborted(a.finish) || reason == "":
		return
	case a.finish != "" && a.finish != reason && !isAborted(reason):
		a.fail(backends.FailBadEvent, fmt.Sprintf("the answer has two finish reasons, %q and %q", a.finish, reason))
		return
	}
	a.finish = reason
	if len(e.Why) > 0 {
		a.explanation = foreign.Line(string(e.Why), 400)
	}
}

// add adds the text and the ids of an event to the answer, and returns the number of tokens.
func (a *Answer) add(e *Event) int {
	if a.keepText {
		a.text = append(a.text, e.Text...)
	}
	if !e.HasIDs && e.HasText {
		a.lacksIDs, a.firstLacks = true, a.firstLacks || a.reported == 0
		return 1
	}
	if !a.valid(e, e.IDs) {
		return 0
	}
	a.tokens = append(a.tokens, e.IDs...)
	return len(e.IDs)
}

// valid reports whether all ids are in the vocabulary, and fails the answer if not.
func (a *Answer) valid(e *Event, ids []int32) bool {
	if e.BadID {
		a.fail(backends.FailBadEvent, "a token id is negative or above 2147483647")
		return false
	}
	if a.vocabulary == 0 {
		return true
	}
	for _, id := range ids {
		if int(id) >= a.vocabulary {
			a.fail(backends.FailBadEvent, fmt.Sprintf("token id %d is outside the vocabulary of %d ids: the server runs "+
				"another model, or its ids are wrong", id, a.vocabulary))
			return false
		}
	}
	return true
}
