package accuracy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two or more dashes or dots form one mark; so do three or more dots with white space between them.
func TestMarksOfSeveralCharacters(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "x": 0, ".": 0, "-": 0, "-.": 0, "..": 2, "--": 2, "---x": 3, "....": 4, "..x.": 2,
		". .": 0, ". . .": 5, ". . .x": 5, ". . . .": 7, ".  .": 0, ". .\n.": 5, ". .x": 0, ". . x": 0, ". ": 0,
	} {
		require.Equal(t, want, multiPunct(text), "%q", text)
	}
}

// A word ends before white space, a mark, or a comma that a word's end or the text's end follows.
func TestEndsOfWords(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "a b": 1, "a,": 1, "a, b": 1, "a,b": 3, "a,b c": 3, "a,,": 2,
		"a,)": 1,
		"a--": 1, "a)": 1, "ab,c,": 4, "é b": 2, ", b": 1, ",": 1} {
		require.Equal(t, want, wordLength(text), "%q", text)
	}
}

// Only a token that is an abbreviation or an ellipsis ends a sentence by its neighbour, and an initial never does so.
func TestTokensThatEndByTheirNeighbour(t *testing.T) {
	p := plainPunkt()
	p.starters = map[string]bool{"the": true}
	for _, c := range []struct {
		token punktToken
		next  string
		ends  bool
	}{
		{punktToken{text: "etc.", abbr: true}, "The", true}, {punktToken{text: "etc."}, "The", false},
		{punktToken{text: "...", ellipsis: true}, "The", true}, {punktToken{text: "...", ellipsis: true}, "Then", false},
		{punktToken{text: "etc.", abbr: true}, "the", false}, {punktToken{text: "a.", abbr: true}, "The", false},
		{punktToken{text: "etc", abbr: true}, "The", false},
	} {
		token, next := c.token, punktToken{text: c.next, kind: strings.ToLower(c.next)}
		token.kind = token.text
		p.second(&token, &next)
		require.Equal(t, c.ends, token.ends, c)
	}
}
