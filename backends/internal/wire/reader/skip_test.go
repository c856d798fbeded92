package reader

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPlainEnd compares the search by eight bytes with that by the table, for any bytes around the result.
func TestPlainEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.SampledFrom([]byte{'"', '\\', 0, '\n', 0x1f, ' ', '!', '#', '[', ']', 0x7f, 0x80, 0xa2, 0xdc, 0xff, 'a'})
		b := rapid.SliceOfN(odd, 0, 40).Draw(t, "bytes")
		from := rapid.IntRange(0, len(b)).Draw(t, "from")
		want := from
		for want < len(b) && plain[b[want]] {
			want++
		}
		require.Equal(t, want, plainEnd(b, from), "%q", b)
	})
}

// A value may be nested as deep as maxDepth, whatever it is nested in.
func TestSkipIsBounded(t *testing.T) {
	for open, end := range map[string]string{"[": "]", `{"a":`: "}", `[{"a":`: "}]"} {
		levels := maxDepth / len(end)
		deep := strings.Repeat(open, levels) + "1" + strings.Repeat(end, levels)
		for doc, want := range map[string]bool{deep: true, strings.Replace(deep, "1", "[1]", 1): false} {
			s := Scanner{B: []byte(doc)}
			require.Equal(t, want, s.Skip(), doc)
			require.Equal(t, want, s.I == len(doc), doc)
		}
	}
}

// A value that is cut anywhere is refused, and nothing behind its bytes is read. Of a number every beginning that ends
// in a digit is a value too.
func TestSkipOfCutValues(t *testing.T) {
	for _, doc := range []string{`{"a":[true,false,null],"b":{"c":"d\"e"}}`, `[[],{},"\u00e9"]`, `"text"`, "true"} {
		for n := range len(doc) {
			s := Scanner{B: []byte(doc)[:n:n]}
			require.False(t, s.Skip(), doc[:n])
		}
		s := Scanner{B: []byte(doc)}
		require.True(t, s.Skip() && s.I == len(doc), doc)
	}
	for _, doc := range []string{"-120.045e+67", "0.5E-1", "10", "0"} {
		for n := 1; n <= len(doc); n++ {
			s := Scanner{B: []byte(doc)[:n:n]}
			isDigit := doc[n-1] >= '0' && doc[n-1] <= '9'
			require.Equal(t, isDigit, s.Skip(), doc[:n])
		}
	}
	for _, doc := range []string{"01", "-", "-01", ".5", "1.", "1.e5", "1e", "1e+", "+1"} {
		s := Scanner{B: []byte(doc)}
		require.False(t, s.Skip() && s.I == len(doc), doc)
	}
}

// An object that is cut anywhere has no end, and its members up to there are read.
func TestMembersOfCutObjects(t *testing.T) {
	for _, doc := range []string{`{"a":1,"bc":"d","e":[2]}`, `{"a":1 , "bc": "d","e" :[2]}`} {
		for n := 1; n <= len(doc); n++ {
			s := Scanner{B: []byte(doc)[:n:n]}
			require.True(t, s.Open('{'))
			keys, first := "", true
			for {
				key, more, ok := s.Member(&first)
				if !more {
					require.Equal(t, n == len(doc), ok, doc[:n])
					break
				}
				if keys += string(key); !s.Skip() {
					break
				}
			}
			require.True(t, strings.HasPrefix("abce", keys), doc[:n])
			require.Equal(t, n >= strings.Index(doc, `[2]`), keys == "abce", doc[:n])
		}
	}
}

// TestPlainIDs requires that PlainIDs reads the same numbers as moreIDs, or nothing.
func TestPlainIDs(t *testing.T) {
	for doc, want := range map[string][]int32{
		"[1]": {1}, "[0,10,999999999]x": {0, 10, 999999999},
		"": nil, "[": nil, "[]": nil, "[1": nil, "[1,": nil, "[1,]": nil, "[,1]": nil, "[01]": nil, "[ 1]": nil, "[1 ]": nil,
		"[1,\n2]": nil,
		"[-1]":    nil, "[1.5]": nil, "[1e3]": nil, "[1234567890]": nil, "null": nil, "1]": nil,
	} {
		s, e := Scanner{B: []byte(doc)}, Event{}
		require.Equal(t, want != nil, s.PlainIDs(&e), doc)
		require.Equal(t, want, e.IDs, doc)
		require.Equal(t, want != nil, e.HasIDs, doc)
		if want == nil {
			require.Zero(t, s.I, doc)
		}
	}
}
