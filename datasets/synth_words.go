package datasets

import (
	"sync"

	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// Token ids of the synthetic vocabulary. They leave room for the special tokens of the Llama-3 family.
const (
	SynthBOS        int32 = 128000 // first id of every synthetic prompt
	SynthWords            = 4096   // number of invented words
	synthSpacedWord int32 = 1000   // synthSpacedWord + k is word k preceded by a space
	synthBareWord   int32 = 6000   // synthBareWord + k is word k alone
	synthLetters          = 6      // length of the shortest word in bytes; see word
)

// Syllables of the invented words. The first two have two letters each, so that every word is unique.
var (
	openings = [16]string{"ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "wu", "za"}
	middles  = [16]string{"la", "me", "ni", "ro", "su", "ta", "ve", "bi", "do", "ku", "pa", "ge", "fi", "mo", "lu", "ne"}
	endings  = [16]string{"ra", "lin", "do", "sken", "mu", "tor", "vel", "ga", "pin", "bro", "dan", "ke", "lom", "nis",
		"tu", "zel"}
)

// word returns the invented word number k (0 <= k < SynthWords).
func word(k int) string { return openings[k>>8] + middles[k>>4&15] + endings[k&15] }

// Vocabulary is the synthetic vocabulary: raw bytes (ids 0 to 255) and invented words with and without a leading space.
// It is immutable and safe for concurrent use.
type Vocabulary struct {
	words   [SynthWords]string
	numbers map[string]int32
}

// SynthVocabulary returns the synthetic vocabulary.
var SynthVocabulary = sync.OnceValue(func() *Vocabulary {
	v := &Vocabulary{numbers: make(map[string]int32, SynthWords)}
	for k := range SynthWords {
		v.words[k] = word(k)
		v.numbers[v.words[k]] = int32(k)
	}
	return v
})

// Encode returns the token ids of any text, and Decode returns exactly that text. A word of the vocabulary with the
// space before it is one id, and so is every other byte. Encode adds no beginning-of-text id.
func (v *Vocabulary) Encode(text string) []int32 {
	return v.AppendIDs(make([]int32, 0, len(text)/4+4), text)
}

// AppendIDs is like Encode but appends to dst. It splits a text like Llama-3, so that a tokenizer.json can produce the
// same ids.
func (v *Vocabulary) AppendIDs(dst []int32, text string) []int32 {
	for len(text) > 0 {
		n := tokenizer.Llama3Piece(text)
		dst = v.appendPiece(dst, text[:n])
		text = text[n:]
	}
	return dst
}

func (v *Vocabulary) appendPiece(dst []int32, piece string) []int32 {
	if len(piece) >= synthLetters {
		if k, ok := v.numbers[piece]; ok {
			return append(dst, synthBareWord+k)
		}
		if piece[0] == ' ' {
			if k, ok := v.numbers[piece[1:]]; ok {
				return append(dst, synthSpacedWord+k)
			}
		}
	}
	for i := range len(piece) {
		dst = append(dst, int32(piece[i]))
	}
	return dst
}

// Decode returns the text of token ids. It ignores unused ids and special tokens.
func (v *Vocabulary) Decode(ids []int32) string {
	text := make([]byte, 0, len(ids)*7)
	for _, id := range ids {
		text = v.appendToken(text, id)
	}
	return string(text)
}

// appendToken appends the bytes of one token, which may be part of a UTF-8 character.
func (v *Vocabulary) appendToken(dst []byte, id int32) []byte {
	switch {
	case id >= 0 && id < 256:
		return append(dst, byte(id))
	case id >= synthSpacedWord && id < synthSpacedWord+SynthWords:
		return append(append(dst, ' '), v.words[id-synthSpacedWord]...)
	case id >= synthBareWord && id < synthBareWord+SynthWords:
		return append(dst, v.words[id-synthBareWord]...)
	}
	return dst
}
