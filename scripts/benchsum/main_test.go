package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const round = `goos: linux
pkg: example.org/a/b/backends/openai
BenchmarkEvent/walk-2         	  100	       %d.0 ns/op	       0 B/op	       0 allocs/op
BenchmarkEvent/encoding-json-2	  100	       %d.0 ns/op	       9 allocs/op
PASS
pkg: example.org/a/b/backends/sse
BenchmarkFramer-2             	  100	       320 ns/op	        20 ns/event
    bench_test.go:38: CPU per query, medians of 5: C++ worker 1µs
`

func TestMediansAndRatiosOfSeveralRounds(t *testing.T) {
	var files []string
	for i, ns := range []int{100, 300, 200} {
		path := filepath.Join(t.TempDir(), "round")
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, round, ns, ns*10+i*ns), 0o644))
		files = append(files, path)
	}
	var out bytes.Buffer
	require.Equal(t, 0, mainCode(files, &out))
	text := strings.TrimSpace(out.String())
	require.Regexp(t, `backends/openai\.Event/walk +200\.0 +- +0\n`, text)
	require.Regexp(t, `backends/sse\.Framer per event +20\.0 `, text)
	require.Regexp(t, `event decoder / encoding/json +0\.091 +0\.083 +0\.100\n`, text)
	require.Contains(t, text, "CPU per query, medians of 5: C++ worker 1µs\n")
	var r report
	require.NoError(t, json.Unmarshal([]byte(text[strings.LastIndex(text, "\n")+1:]), &r))
	require.Equal(t, 3, r.Rounds)
	require.Len(t, r.Ratios, 2)
	require.InDelta(t, 200.0, r.Benchmarks[0].Medians["ns/op"], 0)
}

func TestARatioWithoutItsReferenceIsLeftOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "round")
	require.NoError(t, os.WriteFile(path, []byte("pkg: example.org/a/b/backends/openai\nBenchmarkEvent/walk-2 \t 100\t 5.0 ns/op\n"), 0o644))
	var out bytes.Buffer
	require.Equal(t, 0, mainCode([]string{path}, &out))
	require.Contains(t, out.String(), `"ratios":null`)
}
