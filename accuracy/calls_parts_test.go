package accuracy

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeclarationsAreNoCalls(t *testing.T) {
	for args, want := range map[string]bool{"": true, "a": true, "a, b": true, "a: int": true, "a:int, b : str": true,
		"a,": true, ",": true, "a: 'x'": false, "a: list[int]": false, "a: ": false, "1": false, "a b": false, "a=1": false,
		"'a'": false, "_a": true, "é": false, "a1": true, "1a": false, "a, 1": false, "a-b": false} {
		require.Equal(t, want, looksDeclared(args), args)
	}
	for word, want := range map[string]bool{"a": true, "1": true, "": false, "a b": false, "-a": false, "a-": false,
		"a.b": false, "_": true, "é": true} {
		require.Equal(t, want, wordOnly(word), word)
	}
}

// Objects of JavaScript with values of each kind, nested, and with commas in lists. Python's re finds the same pairs
// with the expression of the reference.
func TestObjectsOfJavaScript(t *testing.T) {
	for code, want := range map[string]string{
		`{a: 1}`:               `{"a": 1}`,
		`{a: [1, 2], b: true}`: `{"a": [1, 2], "b": true}`,
		`{'a': 'x', "b": 1.5}`: `{"a": "x", "b": 1.5}`,
		`{a: {b: 1}`:           `{"a": "{b: 1"}`,
		`{a: [], b: x}`:        `{"a": [], "b": "x"}`,
		`{}`:                   `{}`,
		`{a}`:                  `{}`,
		`{: 1}`:                `{}`,
		`{a: 1, b}`:            `{"a": "1, b"}`,
		`a`:                    `"a"`,
	} {
		var b strings.Builder
		pyDump(&b, scriptObject(code, 0))
		require.Equal(t, want, b.String(), code)
	}
	require.Equal(t, `{a: 1}`, scriptObject(`{a: 1}`, maxNesting+1))
	require.IsType(t, newObject(), scriptObject(`{a: 1}`, maxNesting))
	for s, want := range map[string]string{"": "", "a": "", "ab": "", "abc": "b", "éaé": "a"} {
		require.Equal(t, want, inner(s), s)
	}
}

// Tuples and intervals are equal only with the same brackets, at either end, and with the same number of parts.
func TestBracketsOfTuples(t *testing.T) {
	for _, c := range []struct {
		given, truth string
		equal        bool
	}{
		{"(1,2)", "(1,2)", true}, {"(1,2)", "(1, 2)", true}, {"[1,2)", "(1,2)", false}, {"(1,2]", "(1,2)", false},
		{"[1,2]", "[1,2]", true}, {"(1,2,3)", "(1,2)", false}, {"(1,3)", "(1,2)", false}, {"(2,2)", "(1,2)", false},
		{"(1,2)", "(1,2,3)", false}, {"", "(1,2)", false}, {"1", "(1,2)", false},
	} {
		equal, _ := mathEqual(c.given, c.truth)
		require.Equal(t, c.equal, equal, c)
	}
	equal, _, err := gradeMath(context.Background(), nil, "", "")
	require.NoError(t, err)
	require.True(t, equal)
}

// The highest code point of a Python literal, and the one after it.
func TestHighestCharacterOfALiteral(t *testing.T) {
	v, ok := pythonLiteral(`'\U0010ffff'`)
	require.True(t, ok)
	require.Equal(t, "\U0010ffff", v)
	_, ok = pythonLiteral(`'\U00110000'`)
	require.False(t, ok)
}
