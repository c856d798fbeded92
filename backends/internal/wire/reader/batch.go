package reader

import (
	"bytes"
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// BatchDecoder reads documents that contain the answers to several prompts.
type BatchDecoder interface {
	Decoder
	// DecodeBatch reads one document: it calls add with every answer in it, and sets e to the other members of the
	// document. It calls clear before it starts, and before it starts again because a walk has given up. The error is a
	// *ShapeError if the document is valid JSON of an unexpected form.
	DecodeBatch(doc []byte, e *Event, clear func(), add func(*Event)) error
}

// Batch reads the answers to several prompts, streamed (stream.go) or in one body, and checks each of them. It
// implements wire.Answer. It reports the tokens of a body at its end only.
type Batch struct {
	whole   *Answer // body, framing and failures of the request
	one     *Answer // reads each part of a body in turn
	decoder BatchDecoder
	parts   []backends.Part
	unnamed int       // parts of a body without their own id
	tokens  [][]int32 // buffers of the parts
	texts   [][]byte

	live     []*Answer // readers of a stream's parts by index; nil: none of that index came yet
	came     []bool    // by index: the part came in this answer
	seen     int       // parts that came
	open     int       // parts that came and have no finish reason yet
	last     int64     // index of the previous event; -1: it had none
	news     []wire.News
	choices  []Event // of a document with several
	newPart  func() *Answer
	maxParts int
}

// NewBatch returns a reader of answers to several prompts.
func NewBatch(c *backends.Config, o Options, d BatchDecoder) *Batch {
	o.Decoder = d
	b := &Batch{whole: New(c, o), decoder: d, maxParts: c.Batch}
	b.whole.readDocument, b.whole.repeat = b.readDocument, nil
	o.Decoder = noDecoder{}
	b.newPart = func() *Answer { return New(c, o) }
	b.one = b.newPart()
	return b
}

// noDecoder is the decoder of the parts' readers, which receive decoded events.
type noDecoder struct{}

func (noDecoder) Forget()                     {}
func (noDecoder) Decode([]byte, *Event) error { return nil }

// Begin discards the previous answer and starts one.
func (b *Batch) Begin(contentType string) {
	b.whole.Begin(contentType)
	b.parts, b.unnamed = b.parts[:0], 0
	b.forget()
}

// Expect sets what the answer must contain. All parts of a batch belong to one request.
func (b *Batch) Expect(want wire.Expected) { b.whole.Expect(want) }

// Tokens returns nil: News returns the tokens of each part.
func (b *Batch) Tokens() []int32 { return nil }

// Settled reports whether the answer has failed, or has [DONE] and the finish reasons of all its parts.
func (b *Batch) Settled() bool { return b.whole.Settled() }

// Finish reads what is left. The parts of o are in the order of the body, or of their indices in a stream, each with
// the index that it carries; the caller checks whether they are the requested ones. An answer that was cut has no
// parts.
func (b *Batch) Finish(o *backends.Outcome, cut backends.Reason) string {
	w := b.whole
	o.UsageTokens, o.InputTokens, o.CachedTokens, o.Parts = -1, -1, -1, nil
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
		return "the answer has no " + w.Terms.Parts + ": " + foreign.Line(string(w.body), 200)
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
	if count := b.whole.count; ids && count >= 0 && count != int64(total) {
		for i := range b.parts {
			if p := &b.parts[i]; p.Reason == backends.OK {
				p.Reason = backends.FailTokenCount
				p.Detail = fmt.Sprintf("the answers to the batch carry %d token ids, but %s is %d", total, b.whole.Terms.Count,
					count)
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
	if e.Choices = 0; !w.checkIdentity(e) {
		return
	}
	w.lacksName = w.lacksName || (len(e.ID) == 0 && b.unnamed > 0) // the id is beside the parts, or in each of them
	w.apply(e)
}

// add checks one part of a body.
func (b *Batch) add(e *Event) {
	a := b.one
	index, choices := e.Index, e.Choices
	if len(e.ID) == 0 {
		b.unnamed++
	} else if !b.whole.checkIdentity(e) || !b.whole.checkNumber(e) {
		return
	}
	a.Begin("application/json")
	a.read, e.Choices, e.Index = 1, 1, 0
	a.apply(e)
	i := len(b.parts)
	if i == len(b.tokens) {
		// an empty text differs from a missing one, which is nil
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
