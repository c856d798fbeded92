package datasets

import (
	"strings"

	"github.com/mlperf-go/mlperf-go/models"
)

// SynthTokens is the synthetic vocabulary with the special tokens of one model. It is immutable and safe for concurrent
// use.
type SynthTokens struct {
	special []models.SpecialToken
	texts   map[int32]string
}

// SynthTokensOf returns the synthetic vocabulary with a benchmark's special tokens.
func SynthTokensOf(row *models.Row) *SynthTokens {
	t := &SynthTokens{special: row.Special, texts: map[int32]string{}}
	for _, s := range row.Special {
		t.texts[s.ID] = s.Text
	}
	return t
}

// Encode returns the token ids of a text. A special token in the text becomes its id.
func (t *SynthTokens) Encode(text string) []int32 {
	var ids []int32
	v := SynthVocabulary()
	for text != "" {
		at, next := len(text), models.SpecialToken{}
		for _, s := range t.special {
			if i := strings.Index(text[:at], s.Text); i >= 0 {
				at, next = i, s
			}
		}
		ids = v.AppendIDs(ids, text[:at])
		if at == len(text) {
			break
		}
		ids, text = append(ids, next.ID), text[at+len(next.Text):]
	}
	return ids
}

// Decode returns the text of ids. skipSpecial omits special tokens. Unused ids are ignored.
func (t *SynthTokens) Decode(ids []int32, skipSpecial bool) string {
	text := make([]byte, 0, 6*len(ids))
	for _, id := range ids {
		text = t.appendText(text, id, skipSpecial)
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}

// Piece returns the bytes that a token adds to a text. A special token adds none.
func (t *SynthTokens) Piece(id int32) []byte { return t.appendText(nil, id, true) }

func (t *SynthTokens) appendText(dst []byte, id int32, skipSpecial bool) []byte {
	special, ok := t.texts[id]
	switch {
	case ok && skipSpecial:
		return dst
	case ok:
		return append(dst, special...)
	}
	return SynthVocabulary().appendToken(dst, id)
}
