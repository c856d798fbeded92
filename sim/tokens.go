package sim

import (
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// Tokenizer turns text into token ids and back. Decode of several ids is the concatenation of Decode of each; an id that
// stands for part of a character decodes to those bytes. Its methods are called from several goroutines at once.
type Tokenizer interface {
	Encode(text string) []int32
	Decode(ids []int32) string
}

// FileTokenizer is a model's own tokenizer. Answers are encoded without the tokens that it puts around a text.
func FileTokenizer(t *tokenizer.Tokenizer) Tokenizer { return fileTokens{t} }

type fileTokens struct{ t *tokenizer.Tokenizer }

func (f fileTokens) Encode(text string) []int32 { return f.t.Encode(text, false) }
func (f fileTokens) Decode(ids []int32) string  { return joinPieces(f.t, ids) }

// synthTokens is the synthetic vocabulary with a benchmark's special tokens.
type synthTokens struct{ *datasets.SynthTokens }

func (s synthTokens) Decode(ids []int32) string { return joinPieces(s.SynthTokens, ids) }

func joinPieces(t interface{ Piece(id int32) []byte }, ids []int32) string {
	var text []byte
	for _, id := range ids {
		text = append(text, t.Piece(id)...)
	}
	return string(text)
}
