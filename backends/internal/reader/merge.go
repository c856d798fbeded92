// HOT PATH: apply and what it calls run once an event. No I/O, no clock, no lock, no allocation but for the growth of the answer itself.

package reader

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
)

// apply adds what a document says to the answer and gives the number of output tokens that are new in it.
func (a *Answer) apply(e *Event) int {
	if e.IsError {
		a.fail(backends.FailServerErrorEvent, "the server reported an error inside its answer: "+backends.Cut(string(e.Message), 400))
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
		a.fail(backends.FailBadEvent, fmt.Sprintf("one choice with index 0 was asked for, %d came, the last with index %d", e.Choices, e.Index))
		return 0
	}
	a.done = a.done || e.Last
	if e.Finish != nil {
		a.finish = intern(e.Finish)
		if len(e.Why) > 0 {
			a.why = backends.Cut(string(e.Why), 400)
		}
	}
	if a.giveText && e.Calls != nil {
		a.addCalls(e.Calls)
	}
	a.hasIDs = a.hasIDs || e.HasIDs
	a.hidden = a.hidden || e.Aside
	if e.Running {
		return a.running(e)
	}
	return a.add(e)
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

// running adds an event that holds either what is new or all so far, told apart by the count that comes with each
// (spec/backends.md §2.3). A server under load merges events and may take tokens back, so neither the length nor the mode
// of the event before says it. What fits neither shows at the end, where ids and count differ.
func (a *Answer) running(e *Event) int {
	if !e.HasIDs {
		return a.runningText(e)
	}
	have, n := len(a.tokens), len(e.IDs)
	switch {
	case e.Produced == int64(n) && n > 0, e.Produced != int64(have+n) && e.Produced >= 0 && n > have:
		return a.replace(e)
	case e.Produced == int64(have+n), have == 0 && e.Produced < 0:
		if !a.valid(e, e.IDs) {
			return 0
		}
		a.tokens = append(a.tokens, e.IDs...)
		a.mirror = have == 0
		if a.keepText {
			a.text = append(a.text, e.Text...)
		}
		return a.fresh()
	}
	a.mirror = false
	if n > 0 && e.Produced < 0 {
		a.fail(backends.FailBadEvent, fmt.Sprintf("an event has %d token ids behind %d others and no %s: whether they are new can not be told", n, have, a.Words.Count))
	}
	return 0
}

// replace takes all ids of an event for those of the answer. Ids that were given out stay as they are: what the server took
// back goes into another array.
func (a *Answer) replace(e *Event) int {
	have := len(a.tokens)
	same := 0
	if a.mirror {
		same = min(e.Known, have)
	}
	if !a.valid(e, e.IDs[same:]) {
		return 0
	}
	if len(e.IDs) >= have && (same == have || slices.Equal(a.tokens[same:], e.IDs[same:have])) {
		a.tokens = append(a.tokens, e.IDs[have:]...)
	} else {
		a.tokens = slices.Clone(e.IDs)
	}
	a.mirror = true
	if a.keepText {
		a.text = append(a.text[:0], e.Text...)
	}
	return a.fresh()
}

// fresh is the number of tokens that were not reported yet: ids that were taken back and sent again are no new ones.
func (a *Answer) fresh() int { return max(0, len(a.tokens)-a.timed) }

// runningText adds an event without ids: its text is all so far where it begins with what was there.
func (a *Answer) runningText(e *Event) int {
	if !e.HasText && e.Produced <= int64(a.timed) {
		return 0
	}
	a.bareIDs, a.early = a.bareIDs || e.HasText, a.early || e.HasText && a.timed == 0
	if a.keepText {
		if have := len(a.text); len(e.Text) >= have && string(e.Text[:have]) == string(a.text) {
			a.text = append(a.text, e.Text[have:]...)
		} else {
			a.text = append(a.text, e.Text...)
		}
	}
	if e.Produced < 0 {
		return 1
	}
	return max(0, int(min(e.Produced, 1<<30))-a.timed)
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
			a.fail(backends.FailBadEvent, fmt.Sprintf("token id %d is outside the vocabulary of %d ids: the server runs another model, or its ids are wrong", id, a.vocabulary))
			return false
		}
	}
	return true
}
