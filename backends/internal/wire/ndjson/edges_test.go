package ndjson

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line of the largest size is returned, and one more byte is too large, however it is cut. No document follows it.
func TestLongestLine(t *testing.T) {
	body := bytes.Repeat([]byte("z"), MaxLine+1)
	for extra := range 2 {
		for name, pieces := range map[string][][]byte{
			"two pieces":            {body[:MaxLine/2], append(bytes.Clone(body[:MaxLine-MaxLine/2+extra]), '\n')},
			"a line end of its own": {body[:MaxLine+extra], []byte("\n")},
			"no line end":           {body[:10], body[:MaxLine-10+extra]},
		} {
			var f Framer
			got := 0
			for _, p := range pieces {
				doc, _, ok := f.Next(p)
				require.Equal(t, ok, len(doc) > 0, name)
				got = len(doc)
			}
			if doc, ok := f.End(); ok {
				got = len(doc)
			}
			require.Equal(t, map[bool]int{true: MaxLine}[extra == 0], got, name)
			require.Equal(t, extra == 1, f.Err() != nil, name)
			_, _, ok := f.Next([]byte("\n{}\n{}\n"))
			require.Equal(t, extra == 0, ok, name)
		}
	}
}

func TestErrorNamesTheLimit(t *testing.T) { require.ErrorContains(t, ErrTooLarge, "16 MiB") }

// A document of one byte is one, and what Next has returned is not returned by End again.
func TestShortDocuments(t *testing.T) {
	var f Framer
	f.Next([]byte("1"))
	doc, _, ok := f.Next([]byte("\n"))
	require.True(t, ok)
	require.Equal(t, "1", string(doc))
	_, ok = f.End()
	require.False(t, ok)
	f.Next([]byte("2"))
	doc, ok = f.End()
	require.True(t, ok)
	require.Equal(t, "2", string(doc))
}
