package sse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An event of the largest size is returned, and one more byte is too large: in one piece, in a line of two pieces, and
// in two lines. No event follows it.
func TestLargestEvent(t *testing.T) {
	body := bytes.Repeat([]byte("z"), MaxEvent+1)
	for name, c := range map[string]struct {
		pieces func(n int) [][]byte // of an event with n bytes
		most   int
	}{
		"a line of two pieces": {func(n int) [][]byte {
			return [][]byte{[]byte("data:"), body[:n-5], []byte("\n\n")}
		}, MaxEvent},
		"the end of a long line": {func(n int) [][]byte {
			return [][]byte{append([]byte("data:"), body[:n-15]...), append(bytes.Clone(body[:10]), "\n\n"...)}
		}, MaxEvent},
		"two lines": {func(n int) [][]byte {
			return [][]byte{append(append([]byte("data:"), body[:n-9]...), "\ndata: 12345678\n\n"...)}
		}, MaxEvent},
		"one line": {func(n int) [][]byte {
			return [][]byte{append(append([]byte("data:"), body[:n]...), '\n'), []byte("\n")}
		}, MaxEvent},
	} {
		for extra := range 2 {
			var f Framer
			got := 0
			for _, p := range c.pieces(c.most + extra) {
				for ok := true; ok; {
					var data []byte
					if data, p, ok = f.Next(p); ok {
						got = len(data)
						require.NotZero(t, got, name)
					}
				}
			}
			require.Equal(t, extra == 0, got > 0, name)
			if extra == 0 {
				require.NoError(t, f.Err(), name)
				continue
			}
			require.ErrorIs(t, f.Err(), ErrTooLarge, name)
			require.False(t, f.Between(), name)
			_, _, ok := f.Next([]byte("\n\ndata: a\n\n"))
			require.False(t, ok, name)
			_, ok = f.End()
			require.False(t, ok, name)
		}
	}
	require.ErrorContains(t, ErrTooLarge, "16 MiB")
}

// Between two events nothing is kept, and the next byte begins a line.
func TestBetween(t *testing.T) {
	for stream, want := range map[string]bool{
		"": false, ": c": false, ": c\n": true,
		"data: a": false, "data: a\n": false, "data: a\n\n": true, "data: a\r\n\r\n": true,
		"data: a\n\nd": false, "data: a\n\n\n": true, "data: a\n\n\r": false, "data: a\n\n\r\n": true,
		"event: error\n": false, "event: x\n": true, "error: x\n": false, "event: error\n\n": false,
		"data:\n\n": true, "data: a\ndata: b\n\n": true,
	} {
		var f Framer
		for p, ok := []byte(stream), true; ok; {
			_, p, ok = f.Next(p)
		}
		require.Equal(t, want, f.Between(), "%q", stream)
	}
	var f Framer
	f.Next([]byte("data: a"))
	_, _, ok := f.Next([]byte("\ndata: b\n\n"))
	require.True(t, ok)
	require.False(t, f.Between(), "the event is kept until the next call")
	_, ok = f.End()
	require.False(t, ok, "it was returned already")
}

// An event of one line is returned without a copy, whatever its line ends are.
func TestOneLineIsNotCopied(t *testing.T) {
	for end, copied := range map[string]bool{"\n\n": false, "\r\n\r\n": false, "\r\r": false, "\n\r\n": false,
		"\r\n\n":        false,
		"\ndata: b\n\n": true, "\n: c\n\n": true} {
		var f Framer
		_, _, ok := f.Next([]byte("data: a" + end))
		require.True(t, ok)
		require.Equal(t, copied, len(f.data) > 0, "%q", end)
	}
}

// The end of a stream ends its last event, unless that is empty.
func TestEndOfAStream(t *testing.T) {
	for stream, want := range map[string]string{"data: a": "a", "data: a\n": "a", "data: a\ndata: b": "a\nb", "data:": "",
		"data:\n":     "",
		"data: a\n\n": "", "event: x": "", "error: b": "", "data: a\nerror: b": "", "data": "", "data: a\nevent: error": ""} {
		var f Framer
		for p, ok := []byte(stream), true; ok; {
			_, p, ok = f.Next(p)
		}
		data, ok := f.End()
		require.Equal(t, want != "", ok, "%q", stream)
		if ok {
			require.Equal(t, want, string(data))
		}
		require.Equal(t, strings.Contains(stream, "error"), f.Failure() != nil, "%q", stream)
	}
}
