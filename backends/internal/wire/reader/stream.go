// HOT PATH: Feed and readDocument run once per event. No allocation once every part has come and has its buffers.

package reader

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// forget discards the previous answer.
func (b *Batch) forget() {
	for i := range b.came {
		b.came[i] = false
	}
	b.seen, b.open, b.last, b.news = 0, 0, -1, b.news[:0]
}

// Feed reads p up to the next event with output tokens.
func (b *Batch) Feed(p []byte) (int, []byte) {
	n, rest := b.whole.Feed(p)
	if n > 0 {
		for i := range b.news {
			b.live[b.news[i].Part].report(b.news[i].N)
		}
	}
	return n, rest
}

// Begun returns false: the events of a batch belong to several answers.
func (b *Batch) Begun() bool { return false }

// Visible returns false: the parts of a batch are not told apart.
func (b *Batch) Visible() bool { return false }

// News returns the parts for which the last Feed found tokens.
func (b *Batch) News() []wire.News { return b.news }

// readDocument reads one document and returns the number of new output tokens of all parts. Documents after the
// document that settles the batch are not read, whether they came in the same bytes or later.
func (b *Batch) readDocument(doc []byte) int {
	b.news = b.news[:0]
	n := 0
	if b.whole.decode(doc) {
		n = b.apply(doc)
	}
	b.whole.allDone = b.whole.done && b.seen > 0 && b.open == 0
	return n
}

// apply adds the event that was decoded from doc to its part, or to several.
func (b *Batch) apply(doc []byte) int {
	w := b.whole
	switch e := &w.event; {
	case e.IsError || e.Choices == 0: // of the whole batch
		return w.apply(e)
	case e.Choices == 1:
		return b.applyTo(e)
	}
	return b.applyChoices(doc)
}

// applyTo adds an event with one choice to its part. A count beside one choice is that part's: llama.cpp sends it so,
// and vLLM if a count in each event is requested (docs/reference/wire-protocols.md#differences-between-servers).
func (b *Batch) applyTo(e *Event) int {
	w, index := b.whole, e.Index
	if index < 0 || index >= int64(b.maxParts) {
		w.fail(backends.FailBatch, fmt.Sprintf("the answer to a batch of at most %d prompts has one with index %d",
			b.maxParts, index))
		return 0
	}
	if !w.checkNumber(e) {
		return 0
	}
	a := b.part(int(index))
	switch {
	case a.reason != backends.OK:
		return 0
	case a.finish != "" && (e.Finish != nil || e.HasText || len(e.IDs) > 0):
		w.fail(backends.FailBatch, fmt.Sprintf("the answer with index %d continues after its finish_reason", index))
		return 0
	}
	if index != b.last { // e.Known is about the previous event, which belongs to another part
		e.Known, b.last = 0, index
	}
	unfinished := a.finish == ""
	e.Index = 0
	n := a.apply(e)
	e.Index = index
	if unfinished && a.finish != "" {
		b.open--
	}
	if n > 0 {
		b.news = append(b.news, wire.News{Part: int(index), N: n, Tokens: a.tokens})
	}
	return n
}

// part returns the reader of the part with an index, and starts it if this is the part's first event.
func (b *Batch) part(index int) *Answer {
	for len(b.live) <= index {
		b.live, b.came = append(b.live, nil), append(b.came, false)
	}
	if b.live[index] == nil {
		b.live[index] = b.newPart()
	}
	a := b.live[index]
	if !b.came[index] {
		a.Begin("")
		a.mode.begin(b.whole.want.StreamMode)
		a.read = 1 // not empty; the bytes are counted for the whole
		b.came[index] = true
		b.seen++
		b.open++
	}
	return a
}

// applyChoices adds a document with more than one choice. No listed server sends such events
// (docs/reference/wire-protocols.md#differences-between-servers).
func (b *Batch) applyChoices(doc []byte) int {
	b.choices = b.choices[:0]
	clear := func() { b.choices = b.choices[:0] }
	add := func(e *Event) { b.choices = append(b.choices, e.clone()) }
	e := &b.whole.event
	if err := b.decoder.DecodeBatch(doc, e, clear, add); err != nil {
		b.whole.refuse(doc, err)
		return 0
	}
	e.Choices = 0
	b.whole.apply(e)
	n := 0
	for i := range b.choices {
		b.choices[i].Choices = 1
		n += b.applyTo(&b.choices[i])
	}
	return n
}

// clone returns a copy that outlives the document.
func (e *Event) clone() Event {
	own := *e
	own.IDs, own.Text, own.Calls, own.Why = slices.Clone(e.IDs), slices.Clone(e.Text), slices.Clone(e.Calls),
		slices.Clone(e.Why)
	own.Finish, own.Message = slices.Clone(e.Finish), slices.Clone(e.Message)
	return own
}

// gather checks the parts that came.
func (b *Batch) gather() {
	for index, came := range b.came {
		if !came {
			continue
		}
		p := backends.Part{Index: index}
		p.Detail = b.live[index].Finish(&p.Outcome, backends.OK)
		b.parts = append(b.parts, p)
	}
}
