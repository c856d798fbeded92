package prompts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/tokenizer"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func TestKindsThatNeedATokenizer(t *testing.T) {
	for kind, want := range map[profile.DataKind]bool{profile.Fixed: false, profile.Random: false, profile.None: false,
		profile.Synthetic: true, profile.SharedPrefix: true, profile.Conversations: true, profile.ShareGPT: true,
		profile.Prompts: true, profile.Recorded: true, profile.TraceLengths: true} {
		require.Equal(t, want, NeedsTokenizer(with(kind, nil)), string(kind))
	}
}

func TestBadCorpora(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "empty"), nil, 0o600))
	for path, want := range map[string]string{"absent": "no such file", ".": "is a directory", "empty": "has no text"} {
		_, err := newWriter(nil, filepath.Join(folder, path))
		require.ErrorContains(t, err, "data.corpus: ")
		require.ErrorContains(t, err, want, path)
	}
}

// A text that is too long loses only its end, between characters.
func TestFitKeepsTheBeginning(t *testing.T) {
	w, err := newWriter(nil, "")
	require.NoError(t, err)
	w.count = utf8.RuneCountInString
	for _, text := range []string{strings.Repeat("a", 100), strings.Repeat("é", 100), strings.Repeat("猫", 100)} {
		for n := 90; n <= 100; n++ {
			fitted := w.fit(rand.New(rand.NewPCG(1, 2)), text, n)
			require.Equal(t, n, utf8.RuneCountInString(fitted))
			require.True(t, utf8.ValidString(fitted))
			require.Equal(t, string([]rune(text)[:60]), string([]rune(fitted)[:60]))
		}
	}
}

// Rows of ShareGPT are omitted if their lengths, counted by a tokenizer, are outside the profile's bounds.
func TestRowsOutsideOfTheBounds(t *testing.T) {
	tok, err := tokenizer.Parse([]byte(`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`), nil)
	require.NoError(t, err)
	bounds := func(kind string, low, high float64) *profile.Distribution {
		return &profile.Distribution{Kind: kind, Min: low, Max: high}
	}
	row := entry{prompt: "aaa", answer: "aaaaa"}
	for _, c := range []struct {
		input, output *profile.Distribution
		want          bool
	}{
		{nil, nil, true},
		{bounds("uniform", 3, 3), bounds("uniform", 5, 5), true},
		{bounds("uniform", 4, 9), nil, false},
		{bounds("uniform", 1, 2), nil, false},
		{nil, bounds("uniform", 6, 9), false},
		{nil, bounds("uniform", 1, 4), false},
		{bounds("uniform", 3, 0), nil, true},
		{bounds("fixed", 9, 9), nil, true},
	} {
		d := &profile.Data{Kind: profile.ShareGPT, Input: c.input, Output: c.output}
		require.Equal(t, c.want, keeper(d, tok)(&row), "%+v %+v", c.input, c.output)
		require.True(t, keeper(d, nil)(&row), "without a tokenizer nothing is known")
		d.Kind = profile.Prompts
		require.True(t, keeper(d, tok)(&row))
	}
	for most, want := range map[int]bool{0: true, 8: true, 7: false} {
		d := &profile.Data{Kind: profile.ShareGPT, MaxTotal: most}
		require.Equal(t, want, keeper(d, tok)(&row), most)
		d.Output = profile.FixedAt(4) // in place of the recorded answer's five tokens
		require.Equal(t, want || most == 7, keeper(d, tok)(&row), most)
	}
	list := &collector{d: &profile.Data{}, keep: func(e *entry) bool { return e.answer != "x" }, want: 2}
	for i, e := range []entry{{prompt: "a"}, {prompt: "b", answer: "x"}, {answer: "y"}, {prompt: "c"}} {
		require.Equal(t, i == 3, list.add(e) == errEnough)
	}
	require.Equal(t, []entry{{prompt: "a"}, {prompt: "c"}}, list.rows)
	require.Equal(t, 4, list.seen)
}

// Shuffled rows come from the whole file, other rows from its beginning.
func TestRowsOfAFile(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "prompt %02d\n\n", i)
	}
	for _, shuffled := range []bool{false, true} {
		p := with(profile.Prompts, func(p *profile.Profile) {
			p.Data = profile.Data{Kind: profile.Prompts, Rows: 10, Shuffle: shuffled, Path: file(t, "p.txt", text.String())}
		})
		late := 0
		for _, r := range all(t, p, 10, 1) {
			if r.Text >= "prompt 10" {
				late++
			}
		}
		require.Equal(t, shuffled, late > 0, "%d of 10 rows are not among the first ten", late)
	}
}

// Rows of Spec-Bench and SPEED-Bench have a list of the user's turns, of which the first is sent; a category chooses
// rows.
func TestRowsOfSpeculativeBenchmarks(t *testing.T) {
	for name, rows := range map[string][3]string{
		"Spec-Bench":  {`"turns": ["one", "two"]`, `"turns": ["three"]`, `"turns": ["four", "five"]`},
		"SPEED-Bench": {turnsOf("one", "two"), turnsOf("three"), turnsOf("four", "five")},
	} {
		text := `{"question_id": "1", "category": "qa", ` + rows[0] + "}\n" + `{"question_id": "2", "category": "math", ` +
			rows[1] + "}\n" + `{"question_id": "3", "category": "qa", ` + rows[2] + "}\n"
		for category, want := range map[string][]string{"": {"one", "three", "four"}, "qa": {"one", "four", "one"},
			"math": {"three", "three", "three"}} {
			p := with(profile.Prompts, func(p *profile.Profile) {
				p.Data = profile.Data{Kind: profile.Prompts, Category: category, Path: file(t, "q.jsonl", text)}
			})
			var got []string
			for _, r := range all(t, p, 3, 1) {
				got = append(got, r.Text)
			}
			require.Equal(t, want, got, "%s: %s", name, category)
		}
	}
	require.Equal(t, entry{prompt: "a", answer: "b"}, entryOf(map[string]json.RawMessage{
		"messages": json.RawMessage(`[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]`)}, layout{}))
}

func turnsOf(texts ...string) string {
	var messages []string
	for _, text := range texts {
		messages = append(messages, `{"role": "user", "content": "`+text+`"}`)
	}
	return `"messages": [` + strings.Join(messages, ", ") + "]"
}
