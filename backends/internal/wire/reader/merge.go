// HOT PATH: apply and what it calls run once an event. No I/O, no clock, no lock, no allocation but for the growth of
// the answer itself.

package reader

import (
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// apply adds what a document says to the answer and gives the number of output tokens that are new in it.
func (a *Answer) apply(e *Event) int {
	if e.IsError {
		a.fail(backends.FailServerErrorEvent, "the server reported an error inside its answer: "+
			foreign.Line(string(e.Message), 400))
		return 0
	}
	if e.Prompt >= 0 {
		a.prompt = e.Prompt
	}
	if e.Produced >= 0 {
		a.count = e.Produced
	}
	if e.Choices == 0 {
		return 0
	}
	a.choice = true
	if e.Choices > 1 || e.Index != 0 {
		a.fail(backends.FailBadEvent, fmt.Sprintf("one choice with index 0 was asked for, %d came, the last with index %d",
			e.Choices, e.Index))
		return 0
	}
	a.done = a.done || e.Last
	over := a.finish != ""
	if e.Finish != nil {
		a.ends(e)
	}
	if a.giveText && e.Calls != nil {
		a.addCalls(e.Calls)
	}
	a.hasIDs = a.hasIDs || e.HasIDs
	a.hidden = a.hidden || e.Aside
	n := 0
	if e.Running {
		n = a.running(e)
	} else {
		n = a.add(e)
	}
	if over && n > 0 && !isAborted(a.finish) {
		a.fail(backends.FailBadEvent, fmt.Sprintf("output follows the finish_reason %q", a.finish))
		return 0
	}
	return n
}

// ends notes the finish reason of an event. An answer has one: what was aborted stays so, and two others contradict
// each other.
func (a *Answer) ends(e *Event) {
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
		a.why = foreign.Line(string(e.Why), 400)
	}
}

// add adds the text and the ids of an event to the answer.
func (a *Answer) add(e *Event) int {
	if a.keepText {
		a.text = append(a.text, e.Text...)
	}
	if !e.HasIDs && e.HasText {
		a.bareIDs, a.early = true, a.early || a.timed == 0
		return 1
	}
	if !a.valid(e, e.IDs) {
		return 0
	}
	a.tokens = append(a.tokens, e.IDs...)
	return len(e.IDs)
}

// valid says whether ids can be ones of the model.
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
