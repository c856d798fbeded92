package compare

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sweep"
)

// sweepOf writes a sweep whose points have equal requests, and returns its folder and state.
func sweepOf(t testing.TB, slower float64, requests int, loads ...float64) (string, *sweep.State) {
	t.Helper()
	folder := t.TempDir()
	state := &sweep.State{Schema: sweep.Schema, Kind: "sweep", Model: "generic", Scenario: "Server",
		Settings: []string{"--dataset=d.json", "--samples=64", "--max-tokens=10", "--endpoint=http://e"},
		Load:     sweep.Concurrency, Values: loads, Limits: sweep.Limits{TTFT: time.Second}, Result: &sweep.Result{}}
	for i, load := range loads {
		test := testOf(rand.New(rand.NewPCG(7, uint64(i))), requests, slower)
		first := ledger.FirstIssueNS(test.Entries)
		from, length := int64(time.Second), test.Entries[requests-200].IssuedNS-first
		p := sweep.Point{Load: load, Folder: filepath.Join("points", string(rune('a'+i))), WindowFromNS: &from,
			Figures: sweep.Measure(test, sweep.Window{FromNS: first + from, ToNS: first + length}, state.Limits, 1)}
		require.NoError(t, os.MkdirAll(filepath.Join(folder, p.Folder), 0o755))
		require.NoError(t, ledger.WriteRequests(atomicfile.Shared, filepath.Join(folder, p.Folder, record.RequestsName),
			test))
		state.Points = append(state.Points, p)
	}
	return folder, state
}

// readSweepOf reads a sweep with the state.
func readSweepOf(t *testing.T, folder string, state *sweep.State) *Source {
	t.Helper()
	require.NoError(t, atomicfile.WriteJSON(filepath.Join(folder, sweep.FileName), state))
	return read(t, folder)
}

// Points of equal load are pairs with the figures of their sweeps and with intervals; the others are listed.
func TestSweeps(t *testing.T) {
	folderA, stateA := sweepOf(t, 1, 5000, 4, 8, 16)
	folderB, stateB := sweepOf(t, 1.5, 5000, 4, 8, 32)
	a, b := readSweepOf(t, folderA, stateA), readSweepOf(t, folderB, stateB)
	require.Equal(t, SweepKind, a.Kind)
	require.Empty(t, a.Notes)
	for i, r := range a.Results {
		f := r.point.flow()
		tokens, seconds := 0.0, 0.0
		for k := range f.amounts {
			tokens, seconds = tokens+f.amounts[k], seconds+f.seconds[k]
		}
		require.InEpsilon(t, stateA.Points[i].OutputTokensPerS, tokens/seconds, 1e-6)
		require.Len(t, r.requests.Entries, stateA.Points[i].Queries)
	}
	r := Compare([]*Source{a, b}, Settings{Gate: true})
	fits(t, r)
	require.Len(t, r.Pairs, 2)
	for i, p := range r.Pairs {
		require.Empty(t, p.NotRanked)
		require.Equal(t, stateA.Points[i].OutputTokensPerS, *p.Rows[0].Base)
		require.NotNil(t, p.Rows[0].Interval, p.Rows[0].Why)
		require.Equal(t, "TTFT p50", p.Rows[1].Name)
		require.Equal(t, 1e3*stateA.Points[i].TTFT.P50, *p.Rows[1].Base)
		require.Equal(t, 1e3*stateB.Points[i].TTFT.P50, *p.Rows[1].Other)
		require.Equal(t, Worse, p.Rows[1].Verdict)
	}
	text := textOf(t, r)
	require.Contains(t, text, "generic Server sweep, 8 in flight, B against A")
	require.Contains(t, text, "only in A: generic Server sweep, 16 in flight (VALID)")
	require.Contains(t, text, "only in B: generic Server sweep, 32 in flight (VALID)")
	require.Contains(t, text, "TTFT p50 is worse by")
	var page bytes.Buffer
	require.NoError(t, r.HTML(&page))
	require.Contains(t, page.String(), "generic Server sweep, 8 in flight, B against A")
}

// A rate that both servers met is as asked; latencies at it are judged.
func TestSweepsOfRates(t *testing.T) {
	folder, state := sweepOf(t, 1, 1200, 100)
	state.Load = sweep.Rate
	s := readSweepOf(t, folder, state)
	r := Compare([]*Source{s, readSweepOf(t, folder, state)}, Settings{})
	require.Equal(t, "sweep, 100/s", r.Pairs[0].Base.Mode)
	require.Equal(t, AsAsked, r.Pairs[0].Rows[0].Verdict)
	require.Equal(t, Same, r.Pairs[0].Rows[1].Verdict)
}

// Points of other rules and spoiled points are not ranked.
func TestSweepsThatAreNotRanked(t *testing.T) {
	folder, state := sweepOf(t, 1, 1200, 4)
	a := readSweepOf(t, folder, state)
	for want, change := range map[string]func(s *sweep.State){
		"different data set: d.json and e.json": func(s *sweep.State) {
			s.Settings[0] = "--dataset=x/e.json"
		},
		"different number of rows: 64 and 65": func(s *sweep.State) { s.Settings[1] = "--samples=65" },
		"different sampling: max-tokens 10 and max-tokens 20": func(s *sweep.State) {
			s.Settings[2] = "--max-tokens=20"
		},
		"different latency limits: ": func(s *sweep.State) { s.Limits.TTFT = time.Minute },
		"different test: sweep, 4 in flight and sweep, 5 in flight": func(s *sweep.State) {
			s.Points[0].Load = 5
		},
		"different test: sweep, 4 in flight and sweep, 4/s": func(s *sweep.State) { s.Load = sweep.Rate },
		"only B is a rehearsal":                             func(s *sweep.State) { s.Rehearsal = []string{"it is"} },
		"B is INVALID (" + string(record.CodeFailedSamples) + ")": func(s *sweep.State) {
			s.Points[0].Spoiled = []record.Cause{{Code: record.CodeFailedSamples}}
		},
	} {
		other, changed := sweepOf(t, 1, 1200, 4)
		change(changed)
		r := Compare([]*Source{a, readSweepOf(t, other, changed)}, Settings{})
		require.Len(t, r.Pairs, 1)
		require.Contains(t, r.Pairs[0].NotRanked[0], want)
		require.Nil(t, r.Pairs[0].Rows[0].Change)
	}
}

// Data sets are compared by their hashes, and by the names of their files if an earlier version wrote a sweep.
func TestDataSetsOfSweeps(t *testing.T) {
	one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
	for _, c := range []struct {
		a, b, file string
		want       []string
	}{
		{one, one, "x/e.json", []string{}}, {one, "", "x/d.json", []string{}},
		{one, two, "d.json", []string{"different data set: 111111111111… and 222222222222…"}},
		{one, "", "e.json", []string{"different data set: d.json and e.json"}},
		{"", two, "e.json", []string{"different data set: d.json and e.json"}},
	} {
		folderA, a := sweepOf(t, 1, 1200, 4)
		folderB, b := sweepOf(t, 1, 1200, 4)
		a.Dataset, b.Dataset, b.Settings[0] = c.a, c.b, "--dataset="+c.file
		r := Compare([]*Source{readSweepOf(t, folderA, a), readSweepOf(t, folderB, b)}, Settings{})
		require.Equal(t, c.want, r.Pairs[0].NotRanked, c)
	}
}

// A folder that is given twice, by whatever path, is compared with itself, as a note states.
func TestAFolderWithItself(t *testing.T) {
	folder, state := sweepOf(t, 1, 1200, 4)
	other, _ := sweepOf(t, 1, 1200, 4)
	link := filepath.Join(t.TempDir(), "latest")
	require.NoError(t, os.Symlink(folder, link))
	a, b, c := readSweepOf(t, folder, state), readSweepOf(t, other, state), read(t, link)
	r := Compare([]*Source{a, b, c}, Settings{})
	require.Empty(t, a.Notes)
	require.Empty(t, b.Notes)
	require.Equal(t, []string{"C is the folder of A, so every figure is compared with itself"}, c.Notes)
	require.Contains(t, textOf(t, r), "\n   note: C is the folder of A, so every")
	Compare([]*Source{a, b}, Settings{})
	require.Empty(t, b.Notes)
}

// Without usable requests a point has no intervals, and a note states why.
func TestSweepsWithoutRequests(t *testing.T) {
	for want, change := range map[string]func(p *sweep.Point){
		"an earlier version wrote it": func(p *sweep.Point) { p.WindowFromNS = nil },
		"it is not below the folder":  func(p *sweep.Point) { p.Folder = "../" + p.Folder },
		"the request log cannot":      func(p *sweep.Point) { p.Folder = "elsewhere" },
		"has other figures":           func(p *sweep.Point) { p.Queries++ },
		"has other figures: 0":        func(p *sweep.Point) { *p.WindowFromNS = 1 << 62 },
	} {
		folder, state := sweepOf(t, 1, 1200, 4)
		change(&state.Points[0])
		s := readSweepOf(t, folder, state)
		require.Len(t, s.Notes, 1, want)
		require.Contains(t, s.Notes[0], want)
		r := Compare([]*Source{s, s}, Settings{Gate: true})
		require.Equal(t, "no request logs", r.Pairs[0].Rows[0].Why)
		require.Equal(t, state.Points[0].TTFT.P99*1e3, *r.Pairs[0].Rows[2].Base)
		require.False(t, r.Gate.Passed)
	}
	folder, state := sweepOf(t, 1, 1200, 4)
	state.Result = nil
	require.Contains(t, readSweepOf(t, folder, state).Notes[0], "the sweep has not ended")
}
