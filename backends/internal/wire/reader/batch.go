package reader

import (
	"bytes"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// BatchDecoder reads documents that hold the answers to several prompts.
type BatchDecoder interface {
	Decoder
	// DecodeBatch reads one document: add gets every answer in it, and what stands beside them is left in e. Where it
	// begins again, because a walk has given up, clear comes before. Its error is a *ShapeError where the document is JSON
	// of another shape.
	DecodeBatch(doc []byte, e *Event, clear func(), add func(*Event)) error
}

// Batch reads the answers to several prompts, streamed (stream.go) or in one body, and judges each of them. It is a
// wire.Answer and a backends.Batched; of a body it has nothing to report before the end.
type Batch struct {
	whole   *Answer // body, framing and failures of the request
	one     *Answer // of a body: each part in turn
	decoder BatchDecoder
	parts   []backends.Part
	unnamed int       // parts of a body without an id of their own
	tokens  [][]int32 // memory of the parts
	texts   [][]byte

	live     []*Answer // of a stream: the parts by index; nil: none came with it yet
	came     []bool    // of live, in this answer
	seen     int       // parts that came
	open     int       // of them, without a finish reason
	last     int64     // index of the event before; -1: it had none
	news     []wire.News
	held     []Event // the choices of a document with several
	newPart  func() *Answer
	maxParts int
}

// NewBatch makes a reader of answers to several prompts.
func NewBatch(c *backends.Config, o Options, d BatchDecoder) *Batch {
	o.Decoder = d
	b := &Batch{whole: New(c, o), decoder: d, maxParts: c.Batch}
	b.whole.reads, b.whole.repeat = b.take, nil
	o.Decoder = nothing{}
	b.newPart = func() *Answer { return New(c, o) }
	b.one = b.newPart()
	return b
}

// nothing is the decoder of parts: they come decoded.
type nothing struct{}

func (nothing) Forget()                     {}
func (nothing) Decode([]byte, *Event) error { return nil }

// Begin starts an answer.
func (b *Batch) Begin(contentType string) {
	b.whole.Begin(contentType)
	b.parts, b.unnamed = b.parts[:0], 0
	b.forget()
}

// Expect sets what the answer must say about itself. The parts of a batch are of one request.
func (b *Batch) Expect(want wire.Expected) { b.whole.Expect(want) }

// Tokens are those of the parts: News has them.
func (b *Batch) Tokens() []int32 { return nil }

// Settled is true after a failure, and after [DONE] of a stream all of whose parts have their finish reason.
func (b *Batch) Settled() bool { return b.whole.Settled() }

// Finish reads what is left. The parts of o are in the order of a body, or of their indices, each with the index that
// it carries; whether they are the ones that were asked for is not known here. An answer that was cut has none.
func (b *Batch) Finish(o *backends.Outcome, cut backends.Reason) string {
	w := b.whole
	o.UsageTokens, o.InputTokens, o.Parts = -1, -1, nil
	if b.Settled() {
		cut = backends.OK
	}
	if cut == backends.OK && w.reason == backends.OK {
		if w.events {
			w.end()
			b.gather()
		} else {
			b.read()
		}
	}
	o.UsageTokens, o.InputTokens = int(w.count), int(w.prompt)
	o.Identified, o.Model = w.identified(), w.modelName
	switch {
	case w.reason != backends.OK:
		o.Reason = w.reason
		return w.detail
	case cut != backends.OK:
		o.Reason = cut
		return ""
	case w.read == 0:
		o.Reason = backends.FailEmpty
		return "the server answered 200 with an empty body"
	case w.want.Must && !w.identified():
		o.Reason = backends.FailWrongAnswer
		return unidentified
	case len(b.parts) == 0:
		o.Reason = backends.FailBadEvent
		return "the answer has no " + w.Words.Parts + ": " + foreign.Line(string(w.body), 200)
	}
	o.Reason, o.Parts = backends.OK, b.parts
	o.NTokens = b.sum()
	return ""
}

// sum adds the tokens of all parts and compares them with the server's count, which is of the whole batch.
func (b *Batch) sum() int {
	total, ids := 0, true
	for i := range b.parts {
		total += max(0, b.parts[i].NTokens)
		ids = ids && b.parts[i].TokenSource == backends.TokensFromIDs
	}
	if said := b.whole.count; ids && said >= 0 && said != int64(total) {
		for i := range b.parts {
			if p := &b.parts[i]; p.Reason == backends.OK {
				p.Reason = backends.FailTokenCount
				p.Detail = fmt.Sprintf("the answers to the batch carry %d token ids and %s says %d", total, b.whole.Words.Count,
					said)
			}
		}
	}
	return total
}

func (b *Batch) read() {
	w := b.whole
	body := bytes.TrimSpace(w.body)
	if len(body) == 0 {
		return
	}
	if err := b.decoder.DecodeBatch(body, &w.event, func() { b.parts, b.unnamed = b.parts[:0], 0 }, b.add); err != nil {
		w.refuse(body, err)
		return
	}
	e := &w.event
	if e.Choices = 0; !w.belongs(e) {
		return
	}
	w.nameless = w.nameless || (len(e.ID) == 0 && b.unnamed > 0) // the id stands beside the parts, or in each of them
	w.apply(e)
}

// add judges one part.
func (b *Batch) add(e *Event) {
	a := b.one
	index, choices := e.Index, e.Choices
	if len(e.ID) == 0 {
		b.unnamed++
	} else if !b.whole.belongs(e) {
		return
	}
	a.Begin("application/json")
	a.read, e.Choices, e.Index = 1, 1, 0
	a.apply(e)
	i := len(b.parts)
	if i == len(b.tokens) {
		// a text may be empty, and is none where it is nil
		b.tokens, b.texts = append(b.tokens, nil), append(b.texts, []byte{})
	}
	p := backends.Part{Index: int(index)}
	p.Detail = a.Finish(&p.Outcome, backends.OK)
	b.tokens[i] = append(b.tokens[i][:0], p.Tokens...)
	b.texts[i] = append(b.texts[i][:0], p.Text...)
	if p.Tokens != nil {
		p.Tokens = b.tokens[i]
	}
	if p.Text != nil {
		p.Text = b.texts[i]
	}
	b.parts = append(b.parts, p)
	e.Index, e.Choices = index, choices
}
