package datasets

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// passes reports whether the scanner accepts b as one JSON value.
func passes(b []byte) bool {
	s := scanner{b: b}
	s.space()
	if s.value() != nil {
		return false
	}
	s.space()
	return s.pos == len(b)
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,true,null,"\u00e9\n"]}`, `[01]`, `"\u12"`, `-`, `1.`, `{"a"}`,
		"\"\x01\"", `[,]`, `1e`, ` {} `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if strings.Count(string(b), "[")+strings.Count(string(b), "{") > maxDepth {
			return
		}
		require.Equal(t, json.Valid(b), passes(b))
	})
}

func TestUnquoteEqualsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		got, ok := unquote(nil, quoted[1:len(quoted)-1])
		require.True(t, ok)
		require.Equal(t, text, string(got))
	})
	got, ok := unquote(nil, []byte(`a\u00E9\/\b\f\n\r\t\"\\\uD83D\ude00`))
	require.True(t, ok)
	require.Equal(t, "aé/\b\f\n\r\t\"\\😀", string(got))
	for _, half := range []string{`\ud800`, `\ud800x`, `\udc00\ud800`, `\ud800\n12345`, `\ud800\u0041`} {
		_, ok := unquote(nil, []byte(half))
		require.False(t, ok, half)
	}
}
