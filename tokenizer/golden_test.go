package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// readGolden reads a file of recorded results, or skips the test.
func readGolden(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(golden.Dir(t, "accuracy"), name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, into))
}

type goldenBPE struct {
	Tokenizers map[string]json.RawMessage
	Cases      []struct {
		Tokenizer, Text    string
		DecodeOnly         bool    `json:"decode_only"`
		IDs                []int32 `json:"ids"`
		IDsNoSpecial       []int32 `json:"ids_no_special"`
		DecodedSkipSpecial string  `json:"decoded_skip_special"`
		DecodedKeepSpecial string  `json:"decoded_keep_special"`
	}
}

func TestGoldenTokenizer(t *testing.T) {
	var golden goldenBPE
	readGolden(t, "tokenizer_bpe.json", &golden)
	loaded := map[string]*Tokenizer{}
	for name, file := range golden.Tokenizers {
		tok, err := Parse(file, nil)
		require.NoError(t, err, name)
		loaded[name] = tok
	}
	require.Len(t, loaded, 4)
	require.NotEmpty(t, golden.Cases)
	for _, c := range golden.Cases {
		t.Run(c.Tokenizer+"/"+strconv.Quote(c.Text), func(t *testing.T) {
			tok := loaded[c.Tokenizer]
			require.Equal(t, c.DecodedSkipSpecial, tok.Decode(c.IDs, true))
			require.Equal(t, c.DecodedSkipSpecial, streamed(tok, c.IDs, true))
			if c.DecodeOnly {
				return
			}
			require.Equal(t, c.IDs, tok.Encode(c.Text, true))
			require.Equal(t, c.IDsNoSpecial, tok.Encode(c.Text, false))
			require.Equal(t, c.DecodedKeepSpecial, tok.Decode(c.IDs, false))
		})
	}
}

// streamed decodes the ids one by one with a Stream.
func streamed(tok *Tokenizer, ids []int32, skipSpecial bool) string {
	s, text := tok.NewStream(skipSpecial), ""
	for _, id := range ids {
		text += s.Next(id)
	}
	return text + s.Flush()
}

func TestGoldenSplit(t *testing.T) {
	var golden struct {
		Patterns map[string][]string
		Cases    []struct {
			Pattern, Text string
			Pieces        []string
		}
	}
	readGolden(t, "pretokenizer_split.json", &golden)
	require.NotEmpty(t, golden.Cases)
	for _, c := range golden.Cases {
		t.Run(c.Pattern+"/"+strconv.Quote(c.Text), func(t *testing.T) {
			require.Equal(t, c.Pieces, pieces(t, golden.Patterns[c.Pattern], c.Text))
			require.Equal(t, c.Pieces, encodedPieces(t, golden.Patterns[c.Pattern], c.Text, c.Pieces))
		})
	}
}

// encodedPieces encodes a text with a tokenizer whose only tokens are the expected pieces, so that a different split
// fails.
func encodedPieces(t testing.TB, expressions []string, text string, vocabulary []string) []string {
	t.Helper()
	ids, steps := map[string]int{}, []any{}
	for _, p := range vocabulary {
		if _, known := ids[p]; !known {
			ids[p] = len(ids)
		}
	}
	for _, e := range expressions {
		steps = append(steps, map[string]any{"type": "Split", "pattern": map[string]string{"Regex": e},
			"behavior": "Isolated", "invert": false})
	}
	file, err := json.Marshal(map[string]any{
		"model":         map[string]any{"type": "BPE", "vocab": ids, "merges": []string{}, "ignore_merges": true},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": steps},
	})
	require.NoError(t, err)
	tok, err := Parse(file, nil)
	require.NoError(t, err)
	found := []string{}
	for _, id := range tok.Encode(text, false) {
		token, ok := tok.Token(id)
		require.True(t, ok)
		found = append(found, token)
	}
	return found
}

// pieces splits a text with regular expressions, one after the other.
func pieces(t testing.TB, expressions []string, text string) []string {
	t.Helper()
	tok := &Tokenizer{}
	doc := &document{PreTokenizer: &part{Type: "Sequence"}}
	for _, expression := range expressions {
		doc.PreTokenizer.PreTokenizers = append(doc.PreTokenizer.PreTokenizers,
			part{Type: "Split", Pattern: &pattern{Regex: &expression}, Behavior: "Isolated"})
	}
	require.NoError(t, tok.loadPreTokenizer(doc))
	return cutBy(tok.steps, text)
}

// cutBy returns the pieces that steps split a text into.
func cutBy(steps []step, text string) []string {
	found := []string{}
	var run func(i int) func(piece)
	run = func(i int) func(piece) {
		if i == len(steps) {
			return func(p piece) { found = append(found, p.text) }
		}
		return func(p piece) { steps[i](p, run(i+1)) }
	}
	run(0)(piece{text, true})
	return found
}
