package sse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// collect feeds the pieces and copies what comes out.
func collect(pieces ...[]byte) []string {
	var f Framer
	got := []string{}
	for _, p := range pieces {
		for {
			data, rest, ok := f.Next(p)
			if !ok {
				break
			}
			got = append(got, string(data))
			p = rest
		}
	}
	if data, ok := f.End(); ok {
		got = append(got, string(data))
	}
	return got
}

func TestFraming(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"two events", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"no blank after the colon", "data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"mixed line ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", []string{"a", "b", "c"}},
		{"comments", ": keep-alive\n\n:\n\ndata: a\n: in between\ndata: b\n\n", []string{"a\nb"}},
		{"several data lines", "data: a\ndata: b\ndata\ndata:c\n\n", []string{"a\nb\n\nc"}},
		{"other fields", "event: x\nid: 1\nretry: 5\ndata: a\n\ndate: b\n\n", []string{"a"}},
		{"empty data is no event", "data:\n\ndata\n\ndata: \n\ndata: a\n\n", []string{"a"}},
		{"byte order mark", "\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", []string{"a"}},
		{"end without a blank line", "data: a\n\ndata: b\n", []string{"a", "b"}},
		{"end inside a line", "data: a\n\ndata: b", []string{"a", "b"}},
		{"done", "data: [DONE]\n\n", []string{"[DONE]"}},
		{"nothing", "", []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, collect([]byte(c.in)))
			var single [][]byte
			for i := range len(c.in) {
				single = append(single, []byte(c.in[i:i+1]))
			}
			require.Equal(t, c.want, collect(single...), "byte by byte")
		})
	}
}

// TestAnySplit cuts random streams at random places: the events are always the same.
func TestAnySplit(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"data: ", "data:", "data", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", ": comment", "x", "{\"a\":1}", " ", "event: e",
		"[DONE]", "é", strings.Repeat("y", 700),
	})
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte(strings.Join(rapid.SliceOfN(part, 0, 60).Draw(t, "parts"), ""))
		require.Equal(t, collect(stream), collect(split(t, stream)...))
	})
}

func split(t *rapid.T, stream []byte) [][]byte {
	var pieces [][]byte
	for len(stream) > 0 {
		n := rapid.IntRange(1, min(len(stream), 40)).Draw(t, "piece")
		pieces = append(pieces, bytes.Clone(stream[:n]))
		stream = stream[n:]
	}
	return pieces
}

func TestTooLarge(t *testing.T) {
	piece := bytes.Repeat([]byte("z"), 8<<20)
	for name, end := range map[string]string{"one line": "", "many lines": "\ndata: "} {
		t.Run(name, func(t *testing.T) {
			var f Framer
			_, _, ok := f.Next([]byte("data: "))
			for i := 0; i < 9 && !ok; i++ {
				_, _, ok = f.Next(piece)
				require.False(t, ok)
				_, _, ok = f.Next([]byte(end))
			}
			require.ErrorIs(t, f.Err(), ErrTooLarge)
			_, _, ok = f.Next([]byte("\n\ndata: a\n\n"))
			require.False(t, ok, "no event follows")
			f.Reset()
			require.NoError(t, f.Err())
			require.Zero(t, cap(f.line)+cap(f.data), "the giant's memory is given back")
		})
	}
}

// TestErrorLines keeps the text of a line "error:" in pieces of any size, and none of the stream's data.
func TestErrorLines(t *testing.T) {
	stream := "data: a\n\nerror: {\"code\":500}\n\nerror: second\n\ndata: [DONE]\n\n"
	for n := 1; n <= len(stream); n++ {
		var f Framer
		var got []string
		for at := 0; at < len(stream); at += n {
			p := []byte(stream[at:min(at+n, len(stream))])
			for {
				data, rest, ok := f.Next(p)
				if !ok {
					break
				}
				got, p = append(got, string(data)), rest
			}
		}
		require.Equal(t, []string{"a"}, got, "no event follows an error")
		require.Equal(t, `{"code":500}`, string(f.Failure()))
		f.Reset()
		require.Nil(t, f.Failure())
	}
	var f Framer
	f.Next([]byte("errors: no\nerror:" + strings.Repeat("x", 5000) + "\n"))
	require.Len(t, f.Failure(), maxFailure)
}

// TestErrorEvents fails a stream for an event of type "error", wherever its type is and however the bytes are split.
func TestErrorEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
		said     string
	}{
		{"type first", "data: a\n\nevent: error\ndata: {\"message\":\"m\"}\n\ndata: b\n\n", []string{"a"}, `{"message":"m"}`},
		{"data first", "data: m\nevent: error\n\ndata: b\n\n", []string{}, "m"},
		{"no data", "data: a\n\nevent: error\n: m\n\ndata: b\n\n", []string{"a"}, "event: error"},
		{"CRLF, no blank, upper case", "event:ERROR\r\ndata:m\r\n\r\ndata: b\r\n\r\n", []string{}, "m"},
		{"the stream ends in it", "data: a\n\nevent: error\ndata: m", []string{"a"}, "m"},
		{"several lines", "event: error\ndata: m\ndata: n\n\n", []string{}, "m\nn"},
		{"the last type counts", "event: error\nevent: message\ndata: a\n\n", []string{"a"}, ""},
		{"another type", "event: errors\ndata: a\n\nevent: x-error\ndata: b\n\n", []string{"a", "b"}, ""},
	} {
		for n := 1; n <= len(c.in); n++ {
			var f Framer
			got := []string{}
			for at := 0; at < len(c.in); at += n {
				for p := []byte(c.in[at:min(at+n, len(c.in))]); ; {
					data, rest, ok := f.Next(p)
					if !ok {
						break
					}
					got, p = append(got, string(data)), rest
				}
				require.False(t, f.fault && f.Between(), "the rest of such an event belongs to it")
			}
			if data, ok := f.End(); ok {
				got = append(got, string(data))
			}
			require.Equal(t, c.want, got, "%s, in pieces of %d", c.name, n)
			require.Equal(t, c.said, string(f.Failure()), "%s, in pieces of %d", c.name, n)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	stream := []byte(strings.Repeat("data: {\"a\":1}\n\n", 8))
	var f Framer
	for name, step := range map[string]int{"whole": len(stream), "pieces": 5} {
		allocs := testing.AllocsPerRun(100, func() {
			for at := 0; at < len(stream); at += step {
				p := stream[at:min(at+step, len(stream))]
				for ok := true; ok; {
					_, p, ok = f.Next(p)
				}
			}
		})
		require.Zero(t, allocs, name)
	}
}

func FuzzFramer(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\n: c\n\ndata: b\ndata: c\n\n"), 3)
	f.Add([]byte("\r\r\ndata\rdata:\n\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, step int) {
		if step < 1 {
			step = 1
		}
		var pieces [][]byte
		for at := 0; at < len(stream); at += min(step, len(stream)) {
			pieces = append(pieces, stream[at:min(at+step, len(stream))])
		}
		require.Equal(t, collect(stream), collect(pieces...))
	})
}

func BenchmarkFramer(b *testing.B) {
	event := "data: {\"id\":\"cmpl-1\",\"choices\":[{\"index\":0,\"text\":\"" + strings.Repeat("w", 180) + "\"}]}\n\n"
	stream := []byte(strings.Repeat(event, 16))
	var f Framer
	b.ReportAllocs()
	for b.Loop() {
		p := stream
		for ok := true; ok; {
			_, p, ok = f.Next(p)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/event")
}
