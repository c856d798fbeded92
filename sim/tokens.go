package sim

import (
	"slices"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// Tokenizer turns text into token ids and back. Decode of several ids is the concatenation of Decode of each; an id for
// a part of a character decodes to those bytes. Its methods are called concurrently.
type Tokenizer interface {
	Encode(text string) []int32
	Decode(ids []int32) string
}

// FileTokenizer is a model's own tokenizer. It encodes answers without the special tokens around a text.
func FileTokenizer(t *tokenizer.Tokenizer) Tokenizer { return fileTokens{t} }

type fileTokens struct{ t *tokenizer.Tokenizer }

func (f fileTokens) Encode(text string) []int32 { return f.t.Encode(text, false) }
func (f fileTokens) Decode(ids []int32) string  { return joinPieces(f.t, ids) }
func (f fileTokens) Special(id int32) bool      { return f.t.Special(id) }

// synthTokens is the synthetic vocabulary with a benchmark's special tokens.
type synthTokens struct{ *datasets.SynthTokens }

func (s synthTokens) Decode(ids []int32) string { return joinPieces(s.SynthTokens, ids) }

// withoutSpecial removes special tokens if the tokenizer can identify them.
func withoutSpecial(t Tokenizer, ids []int32) []int32 {
	if t, ok := t.(interface{ Special(id int32) bool }); ok {
		ids = slices.DeleteFunc(slices.Clone(ids), t.Special)
	}
	return ids
}

func joinPieces(t interface{ Piece(id int32) []byte }, ids []int32) string {
	var text []byte
	for _, id := range ids {
		text = append(text, t.Piece(id)...)
	}
	return string(text)
}
