package ndjson

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// collect feeds the pieces and copies what comes out.
func collect(f *Framer, pieces ...[]byte) []string {
	f.Reset()
	got := []string{}
	for _, p := range pieces {
		for {
			doc, rest, ok := f.Next(p)
			if !ok {
				break
			}
			got, p = append(got, string(doc)), rest
		}
	}
	if doc, ok := f.End(); ok {
		got = append(got, string(doc))
	}
	return got
}

// cut makes pieces of n bytes.
func cut(stream []byte, n int) (pieces [][]byte) {
	for ; len(stream) > n; stream = stream[n:] {
		pieces = append(pieces, stream[:n])
	}
	return append(pieces, stream)
}

func TestLines(t *testing.T) {
	for in, want := range map[string][]string{
		"{\"a\":1}\n{\"b\":2}\n":          {`{"a":1}`, `{"b":2}`},
		"{\"a\":1}\r\n\r\n \t\n{}":        {`{"a":1}`, `{}`},
		"":                                {},
		"\n\n":                            {},
		" {} ":                            {`{}`},
		"{\"text\":\"a\\nb\"}\n[1,\t2]\n": {`{"text":"a\nb"}`, "[1,\t2]"},
	} {
		var f Framer
		for n := 1; n <= len(in)+1; n++ {
			require.Equal(t, want, collect(&f, cut([]byte(in), n)...), "%q in pieces of %d", in, n)
		}
	}
}

// TestAnySplit cuts random streams at random places: the documents are always the same.
func TestAnySplit(t *testing.T) {
	part := rapid.SampledFrom([]string{"\n", "\r\n", " ", "{\"a\":1}", "x", strings.Repeat("y", 700), "é"})
	rapid.Check(t, func(t *rapid.T) {
		stream := []byte(strings.Join(rapid.SliceOfN(part, 0, 60).Draw(t, "parts"), ""))
		n := rapid.IntRange(1, 40).Draw(t, "piece")
		require.Equal(t, collect(new(Framer), stream), collect(new(Framer), cut(stream, n)...))
	})
}

func TestTooLarge(t *testing.T) {
	var f Framer
	piece := bytes.Repeat([]byte("z"), 8<<20)
	for range 9 {
		_, _, ok := f.Next(piece)
		require.False(t, ok)
	}
	require.ErrorIs(t, f.Err(), ErrTooLarge)
	_, _, ok := f.Next([]byte("\n{}\n"))
	require.False(t, ok, "no document follows")
	f.Reset()
	require.NoError(t, f.Err())
	require.Zero(t, cap(f.line), "the giant's memory is given back")
}

func TestNoAllocation(t *testing.T) {
	stream := []byte(strings.Repeat("{\"response\":\"w\",\"done\":false}\n", 8))
	var f Framer
	for name, step := range map[string]int{"whole": len(stream), "pieces": 5} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for at := 0; at < len(stream); at += step {
				p := stream[at:min(at+step, len(stream))]
				for ok := true; ok; {
					_, p, ok = f.Next(p)
				}
			}
		}), name)
	}
}

func FuzzFramer(f *testing.F) {
	f.Add([]byte("{\"a\":1}\r\n\n{}"), 3)
	f.Add([]byte("\r\r\n x"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, n int) {
		require.Equal(t, collect(new(Framer), stream), collect(new(Framer), cut(stream, max(1, min(n, len(stream)+1)))...))
	})
}

func BenchmarkFramer(b *testing.B) {
	stream := []byte(strings.Repeat(`{"model":"tiny","created_at":"2026-11-21T00:25:41.608079315Z","response":"c","done":false}`+"\n", 16))
	var f Framer
	b.ReportAllocs()
	for b.Loop() {
		p := stream
		for ok := true; ok; {
			_, p, ok = f.Next(p)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/document")
}
