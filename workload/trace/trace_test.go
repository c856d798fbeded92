package trace

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func parse(format, text string) (*Trace, error) {
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
		got, err := parse(c.format, c.text)
		require.NoError(t, err, c.format)
		require.Equal(t, []int32{10, 20, 30}, got.Input, "rows are sorted by time")
		require.Equal(t, []int32{1, 2, 3}, got.Output)
		require.EqualValues(t, 0, got.TimesNS[0])
		require.InDelta(t, 100e6, got.TimesNS[1], 1e3)
		require.InDelta(t, 1819.41e6, got.TimesNS[2], 1e3)
		if c.format == "mooncake" {
			require.Equal(t, [][]uint32{{1, 2, 3}, {}, {1, 4}}, [][]uint32{got.BlocksOf(0), got.BlocksOf(1), got.BlocksOf(2)})
		}
	}
	half, err := Parse(&profile.TraceFile{Format: "jsonl", Scale: 0.5}, strings.NewReader(
		`{"seconds": 10}`+"\n"+`{"seconds": 12}`))
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1e9}, half.TimesNS)
}

func TestBadTraces(t *testing.T) {
	for _, c := range []struct{ format, text, want string }{
		{"azure", "TIMESTAMP,ContextTokens\n1,2\n", "line 2: the heading lacks the column generatedtokens"},
		{"azure", "1,2,x\n", `line 1: column generatedtokens: expected a whole number of tokens, not "x"`},
		{"azure", "1,2,3\nyesterday,2,3\n", "line 2: expected seconds or a time"},
		{"azure", "1,2\n", "expected 3 columns, not 2"},
		{"azure", "1,2,-3\n", "expected from 0 to"},
		{"azure", "1,2,3\n1e12,2,3\n", "more than a year from the first row"},
		{"azure", "", "has no rows"},
		{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "has no rows"},
		{"mooncake", "{}\n", "lacks timestamp"},
		{"mooncake", "[1]\n", "expected an object with timestamp"},
		{"jsonl", `{"input": 1}`, "lacks seconds"},
		{"csv", "", "no reader for format"},
		{"jsonl", strings.Repeat("x", longestLine+1), "token too long"},
	} {
		_, err := parse(c.format, c.text)
		require.ErrorContains(t, err, c.want, c.text[:min(len(c.text), 40)])
	}
	_, err := Read(&profile.TraceFile{Path: t.TempDir() + "/absent", Format: "azure"})
	require.ErrorContains(t, err, "cannot read the trace")
}

// lines makes a long trace, out of order, without holding it.
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

// A trace of N rows takes a bounded number of bytes for each.
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

func FuzzParse(f *testing.F) {
	f.Add("azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,1,2\n")
	f.Add("mooncake", `{"timestamp": 1, "input_length": 30, "output_length": 3, "hash_ids": [1, 4]}`)
	f.Add("jsonl", `{"seconds": 1}`)
	f.Add("burstgpt", "5,1,2\n")
	f.Fuzz(func(t *testing.T, format, text string) {
		got, err := parse(format, text)
		if err != nil {
			return
		}
		require.EqualValues(t, 0, got.TimesNS[0])
		for i := range got.Len() {
			_ = got.BlocksOf(i)
			require.True(t, i == 0 || got.TimesNS[i] >= got.TimesNS[i-1])
		}
	})
}
