package tokenizer

// Hot path: this file runs per text and per piece. Encoders are pooled, so that only the ids are allocated.

// encoder is the working memory of one Encode.
type encoder struct {
	scratch
	dst   []int32
	chain []func(piece) // the pre-tokenizers in order, then the model

	// Only for a tokenizer.model:
	sp      *spModel
	model   *bpe
	normal  []byte
	ways    []way
	back    []int32
	unknown bool // whether the last id is the unknown token
}

func newEncoder(t *Tokenizer) *encoder {
	e := &encoder{chain: make([]func(piece), len(t.steps)+1), sp: t.sp, model: &t.model}
	e.chain[len(t.steps)] = func(p piece) {
		if p.text != "" {
			e.dst = t.model.appendIDs(e.dst, p.text, &e.scratch)
		}
	}
	for i := len(t.steps) - 1; i >= 0; i-- {
		cut, emit := t.steps[i], e.chain[i+1]
		e.chain[i] = func(p piece) {
			if p.text != "" {
				cut(p, emit)
			}
		}
	}
	return e
}

// Encode returns the ids of a text. addSpecial adds the post-processor's tokens around them, such as the begin-of-text
// id. Special tokens in the text always become their ids. Invalid UTF-8 bytes are encoded unchanged.
func (t *Tokenizer) Encode(text string, addSpecial bool) []int32 {
	return t.AppendIDs(make([]int32, 0, len(text)/4+8), text, addSpecial)
}

// AppendIDs is like Encode but appends to dst.
func (t *Tokenizer) AppendIDs(dst []int32, text string, addSpecial bool) []int32 {
	if addSpecial {
		dst = append(dst, t.prefix...)
	}
	e := t.encoders.Get().(*encoder)
	e.dst = dst
	if t.sp != nil {
		t.appendPieces(e, text)
		return t.finishIDs(e, addSpecial)
	}
	take := func(id int32) { e.dst = append(e.dst, id) }
	t.verbatim.split(text, func(start, end int) {
		clean := t.normalized(text[start:end])
		t.canonical.split(clean, func(from, to int) {
			e.chain[0](piece{clean[from:to], start == 0 && from == 0})
		}, take)
	}, take)
	return t.finishIDs(e, addSpecial)
}

// finishIDs returns the ids of an encoder and puts it back into the pool.
func (t *Tokenizer) finishIDs(e *encoder, addSpecial bool) []int32 {
	dst := e.dst
	e.dst = nil
	t.encoders.Put(e)
	if addSpecial {
		dst = append(dst, t.suffix...)
	}
	return dst
}
