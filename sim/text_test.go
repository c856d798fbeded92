package sim

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/datasets"
)

// TestSpelling: an answer may be cut into events anywhere. Each text consists of whole characters, and together they
// are the answer's text with U+FFFD for each broken byte.
func TestSpelling(t *testing.T) {
	words := datasets.SynthVocabulary()
	sp := newSpeller(words, 128256, 128009)
	rapid.Check(t, func(t *rapid.T) {
		var ids []int32
		for range rapid.IntRange(1, 12).Draw(t, "pieces") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				ids = append(ids, words.Encode(rapid.String().Draw(t, "text"))...)
			case 1:
				ids = append(ids, rapid.Int32Range(0, 255).Draw(t, "byte"))
			case 2:
				ids = append(ids, rapid.Int32Range(1000, 5095).Draw(t, "word"))
			default:
				ids = append(ids, 128009)
			}
		}
		s := sp.spell(ids)
		got := ""
		for from := 0; from < len(ids); {
			to := from + rapid.IntRange(1, len(ids)-from).Draw(t, "tokens")
			var piece string
			if err := json.Unmarshal([]byte(`"`+string(s.between(from, to))+`"`), &piece); err != nil {
				t.Fatalf("%q: %v", s.between(from, to), err)
			}
			if !utf8.Valid(s.between(from, to)) {
				t.Fatalf("%q is cut inside a character", s.between(from, to))
			}
			got += piece
			from = to
		}
		if want := string([]rune(words.Decode(ids))); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestPiecesOutsideTheVocabulary(t *testing.T) {
	sp := newSpeller(datasets.SynthVocabulary(), 10, 3)
	require.Empty(t, sp.piece(-1)+sp.piece(10)+sp.piece(3))
}
