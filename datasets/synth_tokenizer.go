package datasets

import (
	"io"

	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// synthSpecial are the special tokens of the Llama-3 family, which the synthetic vocabulary leaves room for. Prompts
// begin with the first.
var synthSpecial = []tokenizer.SpecialToken{
	{ID: SynthBOS, Text: "<|begin_of_text|>"},
	{ID: 128001, Text: "<|end_of_text|>"},
	{ID: 128008, Text: "<|eom_id|>"},
	{ID: 128009, Text: "<|eot_id|>"},
}

// WriteTokenizer writes a tokenizer.json that encodes and decodes like the vocabulary, so that other programs can score
// a rehearsal. There are two differences: special tokens in a text become their ids, and invalid UTF-8 is decoded to
// U+FFFD.
func (v *Vocabulary) WriteTokenizer(w io.Writer) error {
	return tokenizer.WriteWords(w, func(yield func(int32, string) bool) {
		for b := range 256 {
			if !yield(int32(b), string([]byte{byte(b)})) {
				return
			}
		}
		for _, family := range []struct {
			first int32
			space string
		}{{synthSpacedWord, " "}, {synthBareWord, ""}} {
			for k, word := range v.words {
				if !yield(family.first+int32(k), family.space+word) {
					return
				}
			}
		}
	}, synthSpecial)
}
