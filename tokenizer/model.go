package tokenizer

// loadModel builds the BPE model.
func (t *Tokenizer) loadModel(doc *document) error {
	const where = "model"
	p := doc.Model
	switch {
	case p.Type != "BPE" && (p.Type != "" || p.Merges == nil):
		return unsupported(where, "it is of type %q", p.Type)
	case p.Dropout != nil && *p.Dropout != 0:
		return unsupported(where, "it has a dropout of %g", *p.Dropout)
	case p.ContinuingSubwordPrefix != nil && *p.ContinuingSubwordPrefix != "":
		return unsupported(where, "it has the continuing_subword_prefix %s", shown(*p.ContinuingSubwordPrefix))
	case p.EndOfWordSuffix != nil && *p.EndOfWordSuffix != "":
		return unsupported(where, "it has the end_of_word_suffix %s", shown(*p.EndOfWordSuffix))
	}
	m := &t.model
	m.byteFallback, m.fuseUnk, m.unk = p.ByteFallback, p.FuseUnk, none
	if p.UnkToken != nil {
		id, ok := p.Vocab[*p.UnkToken]
		if !ok {
			return broken(where, "the unk_token %s is not in the vocabulary", shown(*p.UnkToken))
		}
		m.unk = id
	}
	m.loadTexts(p.Vocab)
	if err := m.loadMerges(p); err != nil {
		return err
	}
	m.findWhole(len(t.tokens), p.IgnoreMerges)
	if !m.byteLevel && !p.IgnoreMerges && len(t.steps) == 0 && mayCutMarks(p.Vocab) {
		t.steps = append(t.steps, cutMarks)
	}
	return nil
}

// loadTexts maps the text of each token in the vocabulary to its id.
func (m *bpe) loadTexts(vocab tokenIDs) {
	m.ids = vocab
	if m.byteLevel {
		m.ids = make(map[string]int32, len(vocab))
		for token, id := range vocab {
			// A token with other characters represents no bytes, so no text is encoded as it.
			if raw, ok := rawBytes(token); ok {
				m.ids[raw] = id
			}
		}
	}
	for b := range m.symbols {
		name := byteToken(b)
		if m.byteLevel {
			name = string([]byte{byte(b)})
		}
		id, ok := m.ids[name]
		if !ok {
			id = none
		}
		m.symbols[b] = id
	}
}

// loadMerges ranks the merges in file order. If a pair occurs twice, the last rank counts.
func (m *bpe) loadMerges(p *modelPart) error {
	m.merges = newPairs(len(p.Merges))
	for rank, pair := range p.Merges {
		left, okLeft := p.Vocab[pair.left]
		right, okRight := p.Vocab[pair.right]
		id, ok := p.Vocab[pair.left+pair.right]
		if !okLeft || !okRight || !ok {
			return broken("model", "merge %d of %s and %s uses tokens that are not in the vocabulary", rank, shown(pair.left),
				shown(pair.right))
		}
		m.merges.put(left, right, merge{int32(rank), id})
	}
	return nil
}

// findWhole marks the tokens whose own text encodes to that token alone. Pieces with such a text, which are most
// pieces, need no merging. With ignore_merges every token is marked.
func (m *bpe) findWhole(ids int, all bool) {
	m.whole = make([]uint64, ids/64+1)
	var s scratch
	var got []int32
	for text, id := range m.ids {
		if !all {
			got = m.mergeAll(got[:0], text, &s)
		}
		if all || len(got) == 1 && got[0] == id {
			m.whole[id>>6] |= 1 << (id & 63)
		}
	}
}

// byteLetters maps each byte to its letter in byte-level vocabularies: printable Latin-1 characters to themselves, the
// other bytes to the letters from U+0100 on.
var byteLetters = func() (letters [256]rune) {
	other := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xa1 && b != 0xad {
			letters[b] = b
		} else {
			letters[b] = other
			other++
		}
	}
	return letters
}()

// letterBytes is the inverse of byteLetters; -1 for a letter that represents no byte.
var letterBytes = func() (bytes [0x144]int16) {
	for i := range bytes {
		bytes[i] = -1
	}
	for b, r := range byteLetters {
		bytes[r] = int16(b)
	}
	return bytes
}()

// rawBytes returns the bytes that a byte-level token represents; ok is false if one of its characters is not a byte
// letter.
func rawBytes(token string) (raw string, ok bool) {
	b := make([]byte, 0, len(token))
	for _, r := range token {
		if int(r) >= len(letterBytes) || letterBytes[r] < 0 {
			return "", false
		}
		b = append(b, byte(letterBytes[r]))
	}
	return string(b), true
}
