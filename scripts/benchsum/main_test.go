package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// round is the output of one round's tests and benchmarks; its figures depend on the round.
const round = `goos: linux
pkg: example.org/a/b/backends/openai
BenchmarkStream/scanner-2         	  100	       %d.0 ns/op	        %d.0 ns/token	       0 B/op	       0 allocs/op
BenchmarkStream/encoding-json-2   	  100	       900 ns/op	        3000 ns/token	       9 allocs/op
PASS
MEASURED whole-1.2KB-64/client %d us
MEASURED whole-1.2KB-64/path 10 us
MEASURED whole-1.2KB-64/path-nethttp 50 us
MEASURED stream-1-64/client 5 us
MEASURED bridge/go 1.5 us
MEASURED bridge/cpp 1.2 us
MEASURED memory-per-stream 4.5 KiB
`

func rounds(t *testing.T, more string) []string {
	var files []string
	for _, n := range []int{100, 300, 200} {
		path := filepath.Join(t.TempDir(), "round")
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, round+more, n, n/10, n/10), 0o644))
		files = append(files, path)
	}
	return files
}

func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	var out bytes.Buffer
	require.Equal(t, 0, mainCode(append([]string{"-json", path}, rounds(t, "MEASURED whole-1.2KB-64/wrk 20 us\n")...),
		&out))
	for _, row := range []string{
		`median of 3 rounds +measured +of the rounds +floor +goal +met\n`,
		`HTTP client alone / wrk, 1.2 KB, 64 connections +1.00 x +0.67 to 2.00 +0.95 +1.1 +floor\n`,
		`whole path with LoadGen / wrk, 64 connections +2.00 x +2.00 to 2.00 +0.85 +1.05 +goal\n`,
		`whole path with LoadGen / wrk, 256 connections +- +- +0.85 +1.05 +not measured\n`,
		`streamed tokens per CPU second, 1 per segment +200 k/s +200 to 200 +150 +250 +floor\n`,
		`SSE scanner / encoding/json +150 x +100 to 300 +25 +60 +goal\n`,
		`bridge and Go above a C\+\+ worker, per query +0.30 us +0.30 to 0.30 +<= 1 +<= 0.3 +`,
		`memory per stream in flight +4.50 KiB +4.50 to 4.50 +<= 20 +<= 12 +goal\n`,
	} {
		require.Regexp(t, row, out.String())
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var r report
	require.NoError(t, json.Unmarshal(data, &r))
	require.Equal(t, 3, r.Rounds)
	require.Len(t, r.Figures, len(goals))
	require.InDelta(t, 200.0, r.Measurements["backends/openai.Stream/scanner"], 0)
	require.InDelta(t, 1.0, *r.Figures[0].Measured, 1e-9)
	require.Equal(t, "floor", r.Figures[0].Met)
}

func TestWithoutWrk(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, 0, mainCode(rounds(t, ""), &out))
	require.Regexp(t, `HTTP client alone / wrk, 1.2 KB, 64 connections +- +- +0.95 +1.1 +not measured: wrk is not installed\n`, out.String())
}

func TestBadInput(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, 1, mainCode([]string{"/nowhere"}, &out))
	path := filepath.Join(t.TempDir(), "round")
	require.NoError(t, os.WriteFile(path, []byte("MEASURED x y us\n"), 0o644))
	require.Equal(t, 1, mainCode([]string{path}, &out))
	require.Contains(t, out.String(), `the line "MEASURED x y us" has no number`)
	require.Equal(t, 2, mainCode([]string{"-what"}, &out))
}

func TestMarks(t *testing.T) {
	atLeast, atMost := goal{Floor: 1, Goal: 2}, goal{Floor: 10, Goal: 2, AtMost: true}
	for figure, want := range map[float64][2]string{0.5: {"no", "goal"}, 1: {"floor", "goal"}, 2: {"goal", "goal"},
		5: {"goal", "floor"}, 20: {"goal", "no"}} {
		require.Equal(t, want, [2]string{atLeast.met(figure), atMost.met(figure)}, figure)
	}
	for _, g := range goals {
		require.NotEqual(t, "no", g.met(g.Floor), g.What)
		require.Equal(t, "goal", g.met(g.Goal), g.What)
	}
}

func TestMedian(t *testing.T) {
	for want, of := range map[float64][]float64{3: {3}, 2: {1, 3}, 5: {9, 5, 1}, 4: {100, 3, 5, 1}} {
		require.InDelta(t, want, median(of), 0, of)
	}
}
