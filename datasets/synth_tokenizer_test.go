package datasets

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/tokenizer"
)

// synthSpecial contains the special tokens of the Llama-3 family, for which the synthetic vocabulary leaves room.
// Prompts begin with the first.
var synthSpecial = []tokenizer.SpecialToken{
	{ID: SynthBOS, Text: "<|begin_of_text|>"},
	{ID: 128001, Text: "<|end_of_text|>"},
	{ID: 128008, Text: "<|eom_id|>"},
	{ID: 128009, Text: "<|eot_id|>"},
}

// writeTokenizer writes a tokenizer.json that encodes and decodes like the vocabulary, so that other programs can score
// a rehearsal. There are two differences: special tokens in a text become their ids, and invalid UTF-8 is decoded to
// U+FFFD.
func (v *Vocabulary) writeTokenizer(w io.Writer) error {
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

func synthTokenizer(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, SynthVocabulary().writeTokenizer(&file))
	tok, err := tokenizer.Parse(file.Bytes(), nil)
	require.NoError(t, err)
	return tok
}

func TestTokenizerIsTheVocabulary(t *testing.T) {
	v, tok := SynthVocabulary(), synthTokenizer(t)
	part := rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, SynthWords-1), word),
		rapid.SampledFrom([]string{" ", "  ", "\n", "\r\n", ".", "'s", "'", "1", "1234", "\t", "x", "é", "中", "\u00a0",
			"\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		ids := v.Encode(text)
		require.Equal(t, ids, tok.AppendIDs([]int32{}, text, false))
		if text == strings.ToValidUTF8(text, "") {
			require.Equal(t, text, tok.Decode(ids, true))
		}
		more := rapid.SliceOf(rapid.OneOf(rapid.Int32Range(-1, 127),
			rapid.Int32Range(synthSpacedWord-1, synthBareWord+SynthWords), rapid.Int32Range(SynthBOS, SynthBOS+10))).Draw(t,
			"ids")
		require.Equal(t, v.Decode(more), tok.Decode(more, true))
	})
}

func TestTokenizerReadsSynthRecords(t *testing.T) {
	tok := synthTokenizer(t)
	records, err := Synth(llamaRow, 50, 11)
	require.NoError(t, err)
	for _, r := range records {
		text := prompt(r.Template, r.Input)
		require.Equal(t, r.InputIDs, tok.Encode(text, true))
		require.Equal(t, text, tok.Decode(r.InputIDs, true))
		require.Equal(t, "<|begin_of_text|>"+text, tok.Decode(r.InputIDs, false))
	}
	require.ErrorContains(t, SynthVocabulary().writeTokenizer(fullDisk{}),
		"cannot write a tokenizer.json of 8448 tokens: no space left")
}
