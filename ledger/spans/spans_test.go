package spans

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// event is one event of the Trace Event Format.
type event struct {
	Ph, Name, Cat string
	PID, TID      int
	TS, Dur       float64
	ID            *int64
	Args          map[string]any
}

type file struct {
	TraceEvents []event
	OtherData   Written
}

func read(t require.TestingT, path string) (f file) {
	raw, err := os.Open(path)
	require.NoError(t, err)
	defer raw.Close()
	r := io.Reader(raw)
	if strings.HasSuffix(path, ".gz") {
		r, err = gzip.NewReader(raw)
		require.NoError(t, err)
	}
	require.NoError(t, json.NewDecoder(r).Decode(&f))
	return f
}

const start = int64(1_700_000_000_000_000_000)

var names = ledger.Names{Reasons: []ledger.Reason{"", "connect"}}

// entries returns a stream, an answer without tokens, a sample that failed before it was sent, and one that never
// ended.
func entries() []ledger.Entry {
	return []ledger.Entry{
		{Seq: 0, Index: 7, InputTokens: 5, OutputTokens: 3, IssuedNS: start, DequeuedNS: start + 1_000, SentNS: start + 2_500,
			FirstTokenNS: start + 10_000, LastTokenNS: start + 30_000, DoneNS: start + 31_000},
		{Seq: 1, Index: 8, Endpoint: 1, IssuedNS: start + 500, DequeuedNS: start + 1_000, SentNS: start + 3_000,
			LastTokenNS: start + 20_000, DoneNS: start + 20_001},
		{Seq: 2, Index: 9, Reason: 1, IssuedNS: start + 600, DequeuedNS: start + 1_000, DoneNS: start + 40_000},
		{Seq: 3, Index: 1, IssuedNS: start + 700},
	}
}

func TestSpansOfRequests(t *testing.T) {
	for _, name := range []string{"spans.json", "spans.json.gz"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Write(atomicfile.Access(0), path, &ledger.Test{Entries: entries(), Names: names},
			Options{Endpoints: []string{"http://a", `http://"b"`}})
		require.NoError(t, err)
		require.Equal(t, Written{Requests: 4}, w)
		f := read(t, path)
		require.Equal(t, w, f.OtherData)
		of := func(ph, name string) (list []event) {
			for _, e := range f.TraceEvents {
				if e.Ph == ph && e.Name == name {
					list = append(list, e)
				}
			}
			return list
		}
		require.Equal(t, `http://"b"`, of("M", "process_name")[3].Args["name"])
		require.Len(t, of("b", "issue"), 3)
		require.Len(t, of("e", "send"), 2)
		first := of("X", "first token")
		require.Len(t, first, 1)
		require.InDeltaSlice(t, []float64{2.5, 7.5}, []float64{first[0].TS, first[0].Dur}, 0.0003)
		require.Equal(t, map[string]any{"seq": 0.0}, first[0].Args)
		require.Equal(t, 20.0, of("X", "stream")[0].Dur)
		complete := of("X", "complete")
		require.Len(t, complete, 2)
		require.Equal(t, 0.001, complete[1].Dur)
		require.Equal(t, pidEndpoint+1, complete[1].PID)
		request := of("X", "request")
		require.Len(t, request, 2)
		require.Equal(t, map[string]any{"seq": 0.0, "index": 7.0, "input_tokens": 5.0, "output_tokens": 3.0},
			request[0].Args)
		flush := of("X", "flush")[0]
		require.InDeltaSlice(t, []float64{0.7, 39.3}, []float64{flush.TS, flush.Dur}, 0.0003)
	}
}

// At any size limit the file stays within it, reports the omitted requests, and is complete JSON.
func TestBoundedSize(t *testing.T) {
	var list []ledger.Entry
	for i := range 200 {
		e := entries()[0]
		e.Seq = int32(i)
		list = append(list, e)
	}
	path := filepath.Join(t.TempDir(), "spans.json")
	for _, most := range []int64{1, reserve, 20_000, 40_000, 1 << 20} {
		w, err := Write(atomicfile.Access(0), path, &ledger.Test{Entries: list, Names: names}, Options{MaxBytes: most})
		require.NoError(t, err)
		require.Equal(t, len(list), w.Requests+w.Left)
		require.Equal(t, most == 1<<20, w.Left == 0)
		require.Equal(t, w, read(t, path).OtherData)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), max(most, reserve))
	}
}

// drawEntries returns entries whose timestamps are up to most ns apart, in any order.
func drawEntries(t *rapid.T, most int64) (list []ledger.Entry) {
	stamp := rapid.Int64Range(0, most)
	for i := range rapid.IntRange(0, 40).Draw(t, "n") {
		e := ledger.Entry{Seq: int32(i), Endpoint: int16(stamp.Draw(t, "endpoint") % 3),
			IssuedNS: start + stamp.Draw(t, "at")}
		for _, at := range []*int64{&e.DequeuedNS, &e.SentNS, &e.FirstTokenNS, &e.LastTokenNS, &e.DoneNS} {
			if v := stamp.Draw(t, "stamp"); v > 0 {
				*at = e.IssuedNS + v
			}
		}
		list = append(list, e)
	}
	return list
}

func written(t *rapid.T, list []ledger.Entry) []byte {
	var text bytes.Buffer
	w := &writer{left: MaxBytes, names: names, add: func(line []byte) error {
		_, err := text.Write(line)
		return err
	}}
	w.write(list, nil)
	return text.Bytes()
}

// Perfetto drops a span that begins within another one and ends after it, in ns. Its importers have converted the µs of
// the file in three ways (src/trace_processor/importers/json): both times truncated, only the duration truncated, both
// rounded.
func TestPerfettoDropsNoSpan(t *testing.T) {
	cut := func(us float64) int64 { return int64(us * 1000) }
	rounded := func(us float64) int64 { return int64(math.Round(us * 1000)) }
	rapid.Check(t, func(t *rapid.T) {
		list := drawEntries(t, rapid.SampledFrom([]int64{50, 1e6, 6e12}).Draw(t, "most"))
		var f file
		require.NoError(t, json.Unmarshal(written(t, list), &f))
		f.TraceEvents = slices.DeleteFunc(f.TraceEvents, func(e event) bool { return e.Ph != "X" })
		for _, c := range []struct{ ts, dur func(float64) int64 }{{cut, cut}, {rounded, cut}, {rounded, rounded}} {
			slices.SortStableFunc(f.TraceEvents, func(a, b event) int { return cmp.Compare(c.ts(a.TS), c.ts(b.TS)) })
			open := map[[2]int][][2]int64{}
			for _, e := range f.TraceEvents {
				thread, from := [2]int{e.PID, e.TID}, c.ts(e.TS)
				to := from + c.dur(e.Dur)
				stack := slices.DeleteFunc(open[thread], func(s [2]int64) bool { return s[1] <= from })
				for _, s := range stack {
					require.LessOrEqual(t, to, s[1], "%v would be dropped", e)
				}
				open[thread] = append(stack, [2]int64{from, to})
			}
		}
	})
}

// Spans of one thread that overlap are nested, as the viewers require, for any timestamps.
func TestSpansOfAThreadNest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f file
		require.NoError(t, json.Unmarshal(written(t, drawEntries(t, 50)), &f))
		threads := map[[2]int][]event{}
		for _, e := range f.TraceEvents {
			require.GreaterOrEqual(t, e.TS, 0.0)
			if e.Ph == "X" {
				threads[[2]int{e.PID, e.TID}] = append(threads[[2]int{e.PID, e.TID}], e)
			}
		}
		const slack = 1e-6
		for _, events := range threads {
			for i, a := range events {
				require.False(t, slices.ContainsFunc(events[:i], func(b event) bool {
					apart := a.TS+a.Dur <= b.TS+slack || b.TS+b.Dur <= a.TS+slack
					inside := a.TS >= b.TS-slack && a.TS+a.Dur <= b.TS+b.Dur+slack
					return !apart && !inside && !(b.TS >= a.TS-slack && b.TS+b.Dur <= a.TS+a.Dur+slack)
				}))
			}
		}
	})
}
