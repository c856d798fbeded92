package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/models"
)

var llamaRow = row("llama3.1-8b")

func row(name string) *models.Row {
	m, err := models.Find(name)
	if err != nil {
		panic(err)
	}
	return m.Row
}

func TestVocabularyWords(t *testing.T) {
	v := SynthVocabulary()
	require.Len(t, v.numbers, SynthWords, "every word is its own")
	for w := range v.numbers {
		require.GreaterOrEqual(t, len(w), synthLetters)
	}
	w := word(5)
	require.Equal(t, []int32{6005, 1005, '.', '\n', 6005, ' ', 1005, '!'}, v.Encode(w+" "+w+".\n"+w+"  "+w+"!"))
	require.Equal(t, []int32{'a', 'b', ' ', 'b', 'a'}, v.Encode("ab ba"))
	require.Empty(t, v.Encode(""))
	require.Equal(t, w, v.Decode([]int32{SynthBOS, 6005, 128009, -1, 999, 256, 5096}), "special tokens have no text")
}

func TestVocabularyRoundTrip(t *testing.T) {
	v := SynthVocabulary()
	piece := rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, SynthWords-1), word),
		rapid.SampledFrom([]string{" ", "  ", "\n", "\r\n", ".", "'s", "'", "1", "1234", "\t", "x", "é", "中", "\u00a0",
			"\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		ids := v.Encode(text)
		require.Equal(t, text, v.Decode(ids))
	})
}

func FuzzVocabulary(f *testing.F) {
	f.Add("badera lin'S \n\n x")
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, text, SynthVocabulary().Decode(SynthVocabulary().Encode(text)))
	})
}

func TestSynthKeepsItsBounds(t *testing.T) {
	records, err := Synth(llamaRow, 3000, 7)
	require.NoError(t, err)
	v := SynthVocabulary()
	lengths := make([]int, len(records))
	shared := 0.0
	for i, r := range records {
		lengths[i] = len(r.InputIDs)
		require.Equal(t, SynthBOS, r.InputIDs[0])
		require.Equal(t, strings.Replace(r.Template, "{input}", r.Input, 1), v.Decode(r.InputIDs))
		require.Equal(t, r.InputIDs[1:], v.Encode(v.Decode(r.InputIDs)))
		words := strings.Fields(r.Output)
		require.True(t, len(words) >= 20 && len(words) <= 100, "%d words", len(words))
		tokens := len(v.Encode(r.Output)) + 1
		require.True(t, tokens >= 2 && tokens < 128, "%d tokens", tokens)
		shared += sharedWords(r) / float64(len(records))
	}
	s := Summarize(lengths)
	require.GreaterOrEqual(t, s.Min, 64)
	require.LessOrEqual(t, s.Max, synthLongestPrompt)
	require.InDelta(t, 640, s.Mean, 60)
	require.Greater(t, s.Mean, float64(s.Median), "skewed to the right")
	require.Greater(t, shared, 0.7)
	require.Less(t, shared, 1.0)
}

// sharedWords returns the share of the output's words that occur in its input.
func sharedWords(r SynthRecord) float64 {
	words, found := strings.Fields(r.Output), 0
	for _, w := range words {
		if strings.Contains(r.Input, strings.TrimSuffix(w, ".")) {
			found++
		}
	}
	return float64(found) / float64(len(words))
}

func TestSynthIsDeterministic(t *testing.T) {
	short, err := Synth(llamaRow, 5, 42)
	require.NoError(t, err)
	long, err := Synth(llamaRow, 9, 42)
	require.NoError(t, err)
	require.Equal(t, short, long[:5])
	other, err := Synth(llamaRow, 5, 43)
	require.NoError(t, err)
	require.NotEqual(t, short, other)
	for _, seed := range []int64{0, -1, 1 << 62} {
		_, err := Synth(llamaRow, 2, seed)
		require.NoError(t, err)
	}
}

// TestSynthOfEveryBenchmark generates a set in every schema of the registry and reads it as a run does.
func TestSynthOfEveryBenchmark(t *testing.T) {
	for _, row := range models.Rows() {
		for _, code := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s code %v", row.Name, code), func(t *testing.T) {
				const n = 60
				set := SynthSet{Row: row, Samples: n, Seed: 3, Code: code}
				var file bytes.Buffer
				require.NoError(t, set.Write(&file))
				require.True(t, utf8.Valid(file.Bytes()))
				o := ForRow(row)
				o.KeepText, o.KeepTarget, o.Keep = true, true, row.Scoring.Columns.Names()
				d, err := Open(writeFile(t, "synth.json", file.Bytes()), o)
				require.NoError(t, err)
				require.Len(t, d.Samples, n)
				require.True(t, Synthetic(d), "it is told from a real one")
				for _, s := range d.Samples {
					ref, ok := row.Scoring.Columns.Reference(s.Kept)
					require.True(t, ok)
					require.True(t, s.Target == "" || len(SynthTokensOf(row).Encode(s.Target)) >= row.MinOutputTokens,
						"record %d: what a server must add to it would be wrong", s.Index)
					require.True(t, row.Scoring.Columns.Target == "" || ref.Target != "", "record %d has no truth", s.Index)
					require.Equal(t, strings.HasPrefix(ref.Subset, "livecodebench"), ref.Tests != "",
						"record %d: a program brings its tests, and nothing else does", s.Index)
				}
				var records []map[string]json.RawMessage
				require.NoError(t, json.Unmarshal(file.Bytes(), &records))
				require.NotEmpty(t, records[0])
			})
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestSynthRefuses(t *testing.T) {
	_, err := Synth(llamaRow, 0, 1)
	require.ErrorContains(t, err, "needs at least 1 record, not 0")
	_, err = Synth(&models.Row{Name: "small", Vocabulary: 8000}, 1, 1)
	require.ErrorContains(t, err, "its vocabulary of 8000 ids has no room")
	_, err = Synth(&models.Row{Name: "pictures", Columns: []models.Column{{Name: "sound", Type: "text", Required: true}}},
		1, 1)
	require.ErrorContains(t, err, `its column "sound" cannot be invented`)
	require.ErrorContains(t, SynthSet{Row: llamaRow, Samples: 100, Seed: 1}.Write(fullDisk{}),
		"cannot write a synthetic data set of 100 records for llama3.1-8b: no space left")
}
