package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/secret"
)

func TestLongErrorsAreLists(t *testing.T) {
	filler := strings.Repeat("word ", 40)
	for text, want := range map[string]string{
		"short; stays. As it is": "short; stays. As it is",
		"the server failed; " + filler + "end. Start it again. Then `a; b. c` " + filler + "end": "the server failed:\n" +
			"  - " + filler + "end.\n  - Start it again.\n  - Then `a; b. c` " + filler + "end",
		"nothing found (" + filler + "a; " + filler + "b). Try X\nlog; one. Two": "nothing found:\n" +
			"  - " + filler + "a\n  - " + filler + "b\n  - Try X\nlog; one. Two",
		"no field (line 1), of (the record has a: b), wanted " + filler + filler + "(integers); rename it": "no field " +
			"(line 1), of (the record has a: b), wanted " + filler + filler + "(integers):\n  - rename it",
		"unclear, as they differ: one; two " + filler + "; three " + filler: "unclear, as they differ:\n  - one\n  - two " +
			filler + "\n  - three " + filler,
		strings.Repeat("x", 400): strings.Repeat("x", 400),
	} {
		require.Equal(t, want, listed(text))
	}
}

// The list of a text contains all words of the text.
func TestListsKeepEveryWord(t *testing.T) {
	words := rapid.SliceOf(rapid.SampledFrom([]string{
		"a", "bb;", "c.", "(d", "e)", "\"f", "g\"", "`", strings.Repeat("h", 90)}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(words.Draw(t, "words"), " ")
		bare := strings.NewReplacer(" ", "", "\n", "", "-", "", ";", "", ":", "", ".", "", "(", "", ")", "")
		require.Equal(t, bare.Replace(text), bare.Replace(listed(text)))
	})
}

func TestTextIsFolded(t *testing.T) {
	for _, c := range []struct {
		label, text, want string
		width             int
	}{
		{"", "a b c", "a b c\n", 0},
		{"", "aa bb cc", "aa bb\ncc\n", 5},
		{"", "  aa bb cc", "  aa bb\n  cc\n", 7},
		{"x:", "aa bb cc", "x: aa\n   bb\n   cc\n", 6},
		{"", "- aa bb\n\n  - cc dd", "- aa\n  bb\n\n  - cc\n    dd\n", 6},
		{"", "run `a b c` now", "run\n`a b c`\nnow\n", 8},
		{"", "see /a/path/that/is/long here", "see\n/a/path/that/is/long\nhere\n", 10},
	} {
		var out bytes.Buffer
		page{to: &out, width: c.width}.labelled(plain, c.label, c.text)
		require.Equal(t, c.want, out.String(), "%q", c.text)
	}
}

// A page of a pipe has whole lines and no colour. A narrow one wraps cells, and colours the words in columns that the
// program fills itself.
func TestTables(t *testing.T) {
	fill := func(p page) {
		table := p.table(1)
		table.row("name", "state", "found by the search", "why")
		table.row("VALID", "INVALID", "some long words in it", "because of this and of that")
		table.Flush()
	}
	var out bytes.Buffer
	fill(page{to: &out})
	require.Equal(t, "name   state    found by the search    why\n"+
		"VALID  INVALID  some long words in it  because of this and of that\n", out.String())

	out.Reset()
	ink := foreign.Writer(&out)
	fill(page{to: ink, width: 50, ink: ink})
	require.Equal(t, "name   state    found by  why\n"+
		"                the\n"+
		"                search\n"+
		"VALID  \x1b[31mINVALID\x1b[0m  some      because of this and of\n"+
		"                long      that\n"+
		"                words in\n"+
		"                it\n", out.String())
}

// No line is longer than the page unless it is a single word, and no text is lost, whatever the cells contain.
func TestTablesFit(t *testing.T) {
	cell := rapid.StringMatching(`[a-z]{0,12}( [a-z/]{1,12}){0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		table := page{to: &out, width: 80}.table()
		all := ""
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			cells := []any{}
			for range rapid.IntRange(2, 5).Draw(t, "cells") {
				c := cell.Draw(t, "cell")
				cells, all = append(cells, c), all+c
			}
			table.row(cells...)
		}
		table.Flush()
		for _, l := range strings.Split(out.String(), "\n") {
			require.LessOrEqual(t, len(l), 80)
		}
		require.Equal(t, letters(all), letters(out.String()))
	})
}

// letters returns how often each letter occurs.
func letters(text string) map[rune]int {
	n := map[rune]int{}
	for _, r := range text {
		if r != ' ' && r != '\n' {
			n[r]++
		}
	}
	return n
}

// Only terminals get colours: neither a pipe nor a file does, whatever the environment contains.
func TestPipesHaveNoColour(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&out, &out, []string{"TERM=xterm", "COLUMNS=20"}, &secret.Redactor{})
	require.Zero(t, c.out.width)
	c.err.labelled(red, "error:", "a text that has more than twenty columns")
	require.NoError(t, c.messages.Flush())
	require.Equal(t, "error: a text that has more than twenty columns\n", out.String())
}

func TestShellLines(t *testing.T) {
	for _, c := range []struct {
		command string
		width   int
		want    []string
	}{
		{"a b c", 0, []string{"a b c"}},
		{"a b c", 5, []string{"a b c"}},
		{"aa bb cc dd", 8, []string{`aa bb \`, `  cc \`, `  dd`}},
		{`run 'a b' "c \" d" <(x y)`, 9, []string{`run \`, `  'a b' \`, `  "c \" d" \`, `  <(x y)`}},
	} {
		require.Equal(t, c.want, shellLines(c.command, c.width))
	}
}
