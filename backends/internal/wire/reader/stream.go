// HOT PATH: Feed and take run once an event. No allocation once each part has come and has its room.

package reader

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// forget starts an answer.
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

// News are the parts for which the last Feed found tokens.
func (b *Batch) News() []wire.News { return b.news }

// take reads one document and gives the number of new output tokens of all parts. What comes behind the one that
// settles the batch is not read, whether the same bytes brought it or later ones.
func (b *Batch) take(doc []byte) int {
	b.news = b.news[:0]
	n := 0
	if b.whole.decode(doc) {
		n = b.spread(doc)
	}
	b.whole.over = b.whole.done && b.seen > 0 && b.open == 0
	return n
}

// spread gives the event, which doc is, to the parts that it is of.
func (b *Batch) spread(doc []byte) int {
	w := b.whole
	switch e := &w.event; {
	case e.IsError || e.Choices == 0: // of the whole batch
		return w.apply(e)
	case e.Choices == 1:
		return b.bring(e)
	}
	return b.several(doc)
}

// bring adds an event to the part that it is of. A count beside one choice is that part's: llama.cpp sends it so, and
// vLLM where it is asked for a count in each event (docs/reference/wire-protocols.md#differences-between-servers).
func (b *Batch) bring(e *Event) int {
	w, index := b.whole, e.Index
	if index < 0 || index >= int64(b.maxParts) {
		w.fail(backends.FailBatch, fmt.Sprintf("the answer to a batch of at most %d prompts has one with index %d",
			b.maxParts, index))
		return 0
	}
	a := b.part(int(index))
	switch {
	case a.reason != backends.OK:
		return 0
	case a.finish != "" && (e.Finish != nil || e.HasText || len(e.IDs) > 0):
		w.fail(backends.FailBatch, fmt.Sprintf("the answer with index %d comes again behind its finish_reason", index))
		return 0
	}
	if index != b.last { // what a decoder knows is of the event before, whatever part that was of
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

// part gives the answer with an index, and begins it where it is the first of it.
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
		a.grown.begin(b.whole.want.StreamMode)
		a.read = 1 // what there is was read as the whole's
		b.came[index] = true
		b.seen++
		b.open++
	}
	return a
}

// several adds a document with more than one choice. No listed server sends such events
// (docs/reference/wire-protocols.md#differences-between-servers).
func (b *Batch) several(doc []byte) int {
	b.held = b.held[:0]
	clear := func() { b.held = b.held[:0] }
	e := &b.whole.event
	if err := b.decoder.DecodeBatch(doc, e, clear, func(e *Event) { b.held = append(b.held, e.copied()) }); err != nil {
		b.whole.refuse(doc, err)
		return 0
	}
	e.Choices = 0
	b.whole.apply(e)
	n := 0
	for i := range b.held {
		b.held[i].Choices = 1
		n += b.bring(&b.held[i])
	}
	return n
}

// copied is an event that outlives its document.
func (e *Event) copied() Event {
	own := *e
	own.IDs, own.Text, own.Calls, own.Why = slices.Clone(e.IDs), slices.Clone(e.Text), slices.Clone(e.Calls),
		slices.Clone(e.Why)
	own.Finish, own.Message = slices.Clone(e.Finish), slices.Clone(e.Message)
	return own
}

// gather judges the parts that came.
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
