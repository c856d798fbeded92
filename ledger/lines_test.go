package ledger

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Each field of a line alone, written and read again: a field that is absent stays absent.
func TestEachFieldOfARequestLine(t *testing.T) {
	const least = `"seq":1,"index":0,"scheduled":0,"issued":0,"input_tokens":0,"output_tokens":0,"endpoint":0,"retries":0`
	for key, c := range map[string]struct {
		set   func(e *Entry)
		wants string // besides least, or in its place
	}{
		"nothing":       {func(*Entry) {}, ``},
		"index":         {func(e *Entry) { e.Index = 7 }, `"index":7`},
		"dequeued":      {func(e *Entry) { e.DequeuedNS = base + 1 }, `"dequeued":1`},
		"sent":          {func(e *Entry) { e.SentNS = base + 2 }, `"sent":2`},
		"first byte":    {func(e *Entry) { e.FirstByteNS = base + 3 }, `"first_byte":3`},
		"first token":   {func(e *Entry) { e.FirstTokenNS = base + 4 }, `"first_token":4`},
		"last token":    {func(e *Entry) { e.LastTokenNS = base + 5 }, `"last_token":5`},
		"readable":      {func(e *Entry) { e.ReadableNS = base + 6 }, `"readable":6`},
		"done":          {func(e *Entry) { e.DoneNS = base + 7 }, `"done":7`},
		"input tokens":  {func(e *Entry) { e.InputTokens = 8 }, `"input_tokens":8`},
		"output tokens": {func(e *Entry) { e.OutputTokens = 9 }, `"output_tokens":9`},
		"one event":     {func(e *Entry) { e.Events = 1 }, `"events":1,"merged":0`},
		"merged events": {func(e *Entry) { e.Events, e.Merged = 3, 2 }, `"events":3,"merged":2`},
		"endpoint":      {func(e *Entry) { e.Endpoint = 10 }, `"endpoint":10`},
		"retries":       {func(e *Entry) { e.Retries = 11 }, `"retries":11`},
		"finish":        {func(e *Entry) { e.Finish = 1 }, `"finish":"a\"b"`},
		"reason":        {func(e *Entry) { e.Reason = 1 }, `"reason":"reset"`},
		"source":        {func(e *Entry) { e.Source = 1 }, `"source":"ids"`},
	} {
		t.Run(key, func(t *testing.T) {
			test := &Test{Entries: []Entry{{Seq: 1, IssuedNS: base}}, Schedule: []int64{0, 0}, T0NS: base,
				Names: Names{[]Reason{"", "reset"}, []TokenSource{"", "ids"}, []string{"", `a"b`}}}
			c.set(&test.Entries[0])
			fields := map[string]string{"source": `""`, "reason": `""`}
			for field := range strings.SplitSeq(least+","+c.wants, ",") {
				if name, value, ok := strings.Cut(field, ":"); ok {
					fields[strings.Trim(name, `"`)] = value
				}
			}
			var wants []string
			for name, value := range fields {
				wants = append(wants, fmt.Sprintf("%q:%s", name, value))
			}
			path := filepath.Join(t.TempDir(), "requests.jsonl")
			require.NoError(t, WriteRequests(atomicfile.Private, path, test))
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.JSONEq(t, "{"+strings.Join(wants, ",")+"}", string(text))

			again, err := ReadRequests(path)
			require.NoError(t, err)
			next := filepath.Join(t.TempDir(), "again.jsonl")
			require.NoError(t, WriteRequests(atomicfile.Private, next, again))
			second, err := os.ReadFile(next)
			require.NoError(t, err)
			require.Equal(t, string(text), string(second))
		})
	}
}

// A line lacks each needed field in turn; others may be missing.
func TestNeededFieldsOfARequestLine(t *testing.T) {
	fields := map[string]string{"seq": "0", "scheduled": "0", "issued": "0", "done": "5", "reason": `""`}
	for missing := range fields {
		var line []string
		for name, value := range fields {
			if name != missing {
				line = append(line, fmt.Sprintf("%q:%s", name, value))
			}
		}
		_, err := readRequests(strings.NewReader("{" + strings.Join(line, ",") + "}"))
		if missing == "done" || missing == "reason" {
			require.NoError(t, err, missing)
		} else {
			require.ErrorIs(t, err, errTimes, missing)
		}
	}
	const good = `{"seq":0,"scheduled":0,"issued":0}` + "\n"
	_, err := readRequests(strings.NewReader(good + strings.Repeat(" ", 64<<10)))
	require.ErrorContains(t, err, "after line 1: ")
	_, err = readRequests(strings.NewReader(good + strings.Repeat(" ", 60<<10) + `{"seq":1,"scheduled":0,"issued":0}`))
	require.NoError(t, err)
	for seq, ok := range map[int]bool{1: true, 2: true, maxSeqGap + 1: true, maxSeqGap + 2: false, 0: false} {
		_, err := readRequests(strings.NewReader(good + fmt.Sprintf(`{"seq":%d,"scheduled":0,"issued":0}`, seq)))
		require.Equal(t, ok, err == nil, "%d %v", seq, err)
	}
	for line, ok := range map[string]bool{`{}`: true, `{"input_tokens":-1}`: false, `{"output_tokens":-1}`: false, `{`: false} {
		var answers []Answer
		err := eachAnswer(strings.NewReader(line), func(a Answer) { answers = append(answers, a) })
		require.Equal(t, ok, err == nil, line)
	}
	var answers []Answer
	require.NoError(t, eachAnswer(bytes.NewReader([]byte(`{"done":0,"input_tokens":1,"output_tokens":2,"finish":"stop"}
{"reason":"reset"}`)), func(a Answer) { answers = append(answers, a) }))
	require.Equal(t, []Answer{{1, 2, "stop", "", true}, {0, 0, "", "reset", false}}, answers)
}

// Counts that another process sent: each number at its bounds.
func TestCountsOutOfBounds(t *testing.T) {
	text := func(numbers ...uint64) []byte {
		var data []byte
		for _, n := range numbers {
			data = binary.AppendUvarint(data, n)
		}
		return base64.StdEncoding.AppendEncode(nil, data)
	}
	const most = nBuckets - 1
	for _, good := range [][]uint64{{0}, {math.MaxInt64}, {5, 0, 1}, {5, most, mostCounted}, {5, most - 1, 1, 1, 2},
		{5, 3, 0, 4, 0}} {
		var b Batch
		require.NoError(t, b.UnmarshalText(text(good...)), good)
		require.EqualValues(t, good[0], b.max)
		at := 0
		for pair := range slices.Chunk(good[1:], 2) {
			at += int(pair[0])
			require.EqualValues(t, pair[1], b.buckets[at])
		}
	}
	for _, bad := range [][]uint64{{}, {math.MaxInt64 + 1}, {5, 0}, {5, nBuckets, 1}, {5, most, 1, 1, 1},
		{5, 0, mostCounted + 1}, {5, math.MaxUint64, 1}, {5, 1, 1, math.MaxUint64, 1}} {
		var b Batch
		require.Error(t, b.UnmarshalText(text(bad...)), bad)
	}
	var b Batch
	require.ErrorContains(t, b.UnmarshalText([]byte("*")), "base64")
	var other Batch
	b.Record(4)
	other.Record(8)
	b.Merge(&other)
	var h Histogram
	b.MoveTo(&h)
	require.Equal(t, []float64{2, 6, 8}, []float64{float64(h.Count()), h.Mean(), float64(h.Max())})
}

// Each figure is that of its own name.
func TestFiguresByTheirNames(t *testing.T) {
	require.Equal(t, LagUS{P50: 2e6, P99: 5e6, P999: 6e6, Max: 7e6},
		(&Stats{Mean: 1, P50: 2, P90: 3, P95: 4, P99: 5, P999: 6, Max: 7}).LagUS())
	require.Equal(t, LagUS{}, (*Stats)(nil).LagUS())
	var h Histogram
	for i := range int64(10_000) {
		h.Record(i * 1e6)
	}
	s := h.Stats()
	for name, c := range map[string][2]float64{"mean": {4.9995, s.Mean}, "p50": {5, s.P50}, "p90": {9, s.P90},
		"p95": {9.5, s.P95}, "p99": {9.9, s.P99}, "p99.9": {9.99, s.P999}, "max": {9.999, s.Max}} {
		require.InEpsilon(t, c[0], c[1], 0.008, name)
	}
	require.Equal(t, []float64{s.P50, s.P999}, h.Percentiles([]float64{50, 99.9}))
	require.Nil(t, new(Histogram).Stats())
	require.Nil(t, new(Histogram).Percentiles([]float64{50}))
}
