package trace

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func parsed(format, text string) (*Trace, error) {
	return Parse(&profile.TraceFile{Path: "t", Format: format}, strings.NewReader(text))
}

func TestFormats(t *testing.T) {
	for _, c := range []struct{ format, text string }{
		{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:48.5,30,3\n" +
			"2023-11-16 18:15:46.6805900,10,1\n" +
			"2023-11-16 18:15:46.7805900,20,2\n"},
		{"azure", "101.8194100,30,3\n100,10,1\n100.1,20,2\n"},
		{"burstgpt", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n6.81941,ChatGPT,30,3,33,x\n" +
			"5,ChatGPT,10,1,11,x\n5.1,GPT-4,20,2,22,x\n"},
		{"mooncake", `{"timestamp": 1819.41, "input_length": 30, "output_length": 3, "hash_ids": [1, 4]}` + "\n\n" +
			`{"timestamp": 0, "input_length": 10, "output_length": 1, "hash_ids": [1, 2, 3]}` + "\n" +
			`{"timestamp": 100, "input_length": 20, "output_length": 2, "hash_ids": []}` + "\n"},
		{"jsonl", `{"seconds": 1.81941, "input": 30, "output": 3}` + "\n" +
			`{"timestamp": 0, "input": 10, "output": 1}` + "\n" +
			`{"seconds": 0.1, "input": 20, "output": 2}`},
	} {
		got, err := parsed(c.format, c.text)
		require.NoError(t, err, c.format)
		require.Equal(t, []int32{10, 20, 30}, got.Input, "rows are sorted by time")
		require.Equal(t, []int32{1, 2, 3}, got.Output)
		require.EqualValues(t, 0, got.TimesNS[0])
		require.InDelta(t, 100e6, got.TimesNS[1], 1e3)
		require.InDelta(t, 1819.41e6, got.TimesNS[2], 1e3)
		if c.format == "mooncake" {
			require.Equal(t, []uint32{1, 2, 3}, got.BlocksOf(nil, 0))
			require.Empty(t, got.BlocksOf(nil, 1))
			require.Equal(t, []uint32{1, 4}, got.BlocksOf(nil, 2))
		}
	}
	half, err := Parse(&profile.TraceFile{Format: "jsonl", Scale: 0.5}, strings.NewReader(
		`{"seconds": 10}`+"\n"+`{"seconds": 12}`))
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1e9}, half.TimesNS)
}

func TestBadTraces(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"azure", "TIMESTAMP,ContextTokens\n1,2\n",
			"trace t line 1: the heading lacks the column generatedtokens or output_tokens"},
		{"burstgpt", "Timestamp,Model,Response tokens\n", "trace t line 1: the heading lacks the column request tokens"},
		{"burstgpt", "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,10\n",
			"trace t line 2: the line lacks the column response tokens: expected 4 columns, not 3"},
		{"azure", "1,2,x\n", `line 1: column generatedtokens: expected a whole number of tokens, not "x"`},
		{"azure", "1,2,3\nyesterday,2,3\n", "line 2: expected seconds or a time"},
		{"azure", "1,2\n", "line 1: the line lacks the column generatedtokens: expected 3 columns, not 2"},
		{"azure", "1,2,-3\n", "expected from 0 to"},
		{"azure", "1,2,3\n1e12,2,3\n", "more than a year from the first row"},
		{"azure", "", "has no rows"},
		{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "has no rows"},
		{"mooncake", "{}\n", "lacks timestamp"},
		{"mooncake", "[1]\n", "expected an object with timestamp"},
		{"jsonl", `{"input": 1}`, "lacks seconds"},
		{"jsonl", "<!DOCTYPE html>\n", "found HTML or XML, expected a trace of format jsonl; check where the file was"},
		{"azure", "<html>\n", "found HTML or XML, expected a trace of format azure"},
		{"csv", "", "no reader for format"},
		{"jsonl", strings.Repeat("x", longestLine+1), "token too long"},
	} {
		_, err := parsed(c.format, c.text)
		require.ErrorContains(t, err, c.want, c.text[:min(len(c.text), 40)])
	}
	_, err := Read(&profile.TraceFile{Path: t.TempDir() + "/absent", Format: "azure"})
	require.ErrorContains(t, err, "cannot read the trace")
}

// TestLinesWithoutLengths: arrivals need only times, but requests without lengths would be one token long.
func TestLinesWithoutLengths(t *testing.T) {
	for _, c := range []struct {
		format, text, input, output string // errors
	}{
		{"jsonl", `{"seconds": 1, "input": 5, "output": 0}` + "\n" + `{"seconds": 2, "Input": 3, "output": 2}`, "", ""},
		{"jsonl", `{"seconds": 1, "input": 5, "output": 4}` + "\n\n" + `{"seconds": 2, "output": 2}`,
			"trace t line 3: the object lacks input", "trace t line 3: the object lacks input"},
		{"jsonl", `{"seconds": 1, "input": 5}`, "", "trace t line 1: the object lacks output; add it, or set data.output"},
		{"jsonl", `{"seconds": 1e0, "input": 5}`, "", "trace t line 1: the object lacks output; add it, or set data.output"},
		{"mooncake", `{"timestamp": 1, "output_length": 5}`, "trace t line 1: the object lacks input_length",
			"trace t line 1: the object lacks input_length"},
		{"azure", "1,2,3\n", "", ""},
	} {
		got, err := parsed(c.format, c.text)
		require.NoError(t, err)
		for needsOutput, want := range map[bool]string{false: c.input, true: c.output} {
			if err := got.CheckLengths(&profile.TraceFile{Path: "t"}, needsOutput); want == "" {
				require.NoError(t, err, c.text)
			} else {
				require.EqualError(t, err, want)
			}
		}
	}
}

// lines writes a long, unsorted trace, without storing it.
type lines struct{ at, n int }

func (l *lines) Read(p []byte) (int, error) {
	if l.at >= l.n {
		return 0, io.EOF
	}
	size := 0
	for l.at < l.n && size+40 < len(p) {
		size += copy(p[size:], fmt.Sprintf("%d.5,%d,7\n", (l.at*7919)%l.n, l.at%1000))
		l.at++
	}
	return size, nil
}

// A trace of N rows needs a bounded number of bytes for each.
func TestMemoryIsBounded(t *testing.T) {
	const n = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got, err := Parse(&profile.TraceFile{Format: "azure"}, &lines{n: n})
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(t, n, got.Len())
	require.IsIncreasing(t, got.TimesNS[:1000])
	require.Less(t, float64(after.HeapAlloc)-float64(before.HeapAlloc), 24.0*n)
	runtime.KeepAlive(got)
}

// The quick reader returns the same as the slow one, or nothing.
func FuzzQuick(f *testing.F) {
	for _, text := range []string{`{"timestamp": 1.25, "input_length": 30, "output_length": 3, "hash_ids": [1, 2, 9, 4294967295]}`,
		`{"seconds":1,"timestamp":2,"input":1,"x":"a","output":7}`, `{"timestamp":007}`, `{"timestamp":1e3}`, `{"Seconds":1}`,
		`{"timestamp":2,"hash_ids":[]} `, `{"timestamp":2,"hash_ids":[1,]}`, `{"timestamp":2}}`, `{"timestamp":0.5.5}`,
		`{"timestamp":2,"hash_ids":[4294967296]}`, `{"timestamp":2,"timestamp":3,"hash_ids":[1],"hash_ids":[2]}`, `{"timestamp":2,}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"mooncake", "jsonl"} {
			p := parser{format: formats[name]}
			if !p.quick([]byte(text)) {
				continue
			}
			want, err := p.slow([]byte(text))
			require.NoError(t, err)
			require.Equal(t, want.blocks, append(want.blocks[:0:0], p.row.blocks...))
			want.blocks, p.row.blocks = nil, nil
			require.Equal(t, want, p.row)
		}
	})
}

// Times equal the values of packages strconv and time.
func FuzzTimes(f *testing.F) {
	for _, text := range []string{"101.8194100", "5", "0.1", "123456789012.345", "1.", ".5", "2023-11-16 18:15:46.6805900",
		"2023-11-16 18:15:46", "2023-02-30 00:00:00", "2023-11-16 24:00:00", "2023-11-16 18:15:60", "2023-11-16 18-15:46",
		"2023-11-16T18:15:46Z", "2023-11-16 18:15:46.", "2023-11-16 18:15:46.123456789", "2023-11-16 18:15:46.1234567891",
		"2023-11-16 18:15:46+02:00", "-5", "1e3", "NaN"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p parser
		for range 2 { // the second time with the day already known
			got, err := p.timeOf([]byte(text))
			want, wantErr := timeOf(text)
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
		}
	})
}

func TestBlocks(t *testing.T) {
	for _, ids := range [][]uint32{{}, {0}, {7, 8, 9}, {9, 8, 7}, {1, 2, 50, 51, 3}, {math.MaxUint32, 0, math.MaxUint32},
		{5, 5, 6, 6}} {
		held := &Trace{blocks: appendBlocks(nil, ids)}
		held.starts = []uint32{0, uint32(len(held.blocks))}
		require.Equal(t, append([]uint32{1}, ids...), held.BlocksOf([]uint32{1}, 0))
	}
	require.Len(t, appendBlocks(nil, []uint32{100, 101, 102, 103, 104}), 3, "a run takes the bytes of its two numbers")
}

// usual are lines in the usual form of each format.
var usual = []struct{ format, heading, line string }{
	{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "2023-11-16 18:15:%02d.6805900,%d,%d\n"},
	{"burstgpt", "Timestamp,Model,Request tokens,Response tokens\n", "%d.125,ChatGPT,%d,%d\n"},
	{"mooncake", "", `{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": [46, 47, 48, 1203]}` + "\n"},
	{"jsonl", "", `{"seconds": %d.5, "input": %d, "output": %d}` + "\n"},
}

// usualLines returns n lines in the order of time.
func usualLines(heading, line string, n int) string {
	var text strings.Builder
	text.WriteString(heading)
	for i := range n {
		fmt.Fprintf(&text, line, i*60/n, i%1000, i%500)
	}
	return text.String()
}

func TestNoAllocationForALine(t *testing.T) {
	for _, c := range usual {
		text := usualLines(c.heading, c.line, 10_000)
		got := testing.AllocsPerRun(1, func() {
			_, err := parsed(c.format, text)
			require.NoError(t, err)
		})
		require.Less(t, got, 500.0, c.format)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range usual {
		b.Run(c.format, func(b *testing.B) {
			text := usualLines(c.heading, c.line, b.N)
			b.SetBytes(int64(len(text) / b.N))
			b.ReportAllocs()
			b.ResetTimer()
			_, err := parsed(c.format, text)
			require.NoError(b, err)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,1,2\n")
	f.Add("mooncake", `{"timestamp": 1, "input_length": 30, "output_length": 3, "hash_ids": [1, 4]}`)
	f.Add("jsonl", `{"seconds": 1}`)
	f.Add("burstgpt", "5,1,2\n")
	f.Fuzz(func(t *testing.T, format, text string) {
		got, err := parsed(format, text)
		if err != nil {
			return
		}
		require.EqualValues(t, 0, got.TimesNS[0])
		for i := range got.Len() {
			_ = got.BlocksOf(nil, i)
			require.True(t, i == 0 || got.TimesNS[i] >= got.TimesNS[i-1])
		}
	})
}

// TestSpoiledTraces reads lines of every format with changed bytes, by seed. Accepted traces are sorted.
func TestSpoiledTraces(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 1))
	const bytesOf = "0123456789-+.eE,:\"{}[] \t\n\\x\x00\xff"
	accepted := 0
	for format, line := range map[string]string{
		"azure":    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,1,2\n2023-11-16 18:15:47.01,3,4\n",
		"mooncake": "{\"timestamp\": 1, \"input_length\": 30, \"output_length\": 3, \"hash_ids\": [1, 4]}\n",
		"jsonl":    "{\"seconds\": 1, \"input\": 3}\n{\"seconds\": 2}\n",
		"burstgpt": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,1,2,3,log\n",
	} {
		for range 800 {
			text := []byte(line)
			for range 1 + r.IntN(3) {
				text[r.IntN(len(text))] = bytesOf[r.IntN(len(bytesOf))]
			}
			got, err := parsed(format, string(text))
			if err != nil {
				require.Contains(t, err.Error(), "trace t", "%s: %q", format, text)
				continue
			}
			accepted++
			for i := range got.Len() {
				_ = got.BlocksOf(nil, i)
				require.True(t, i == 0 && got.TimesNS[0] == 0 || got.TimesNS[i] >= got.TimesNS[i-1], "%s: %q", format, text)
			}
		}
	}
	require.Greater(t, accepted, 100)
}
