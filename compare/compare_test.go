package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/sweep"
	"github.com/mlperf-go/mlperf-go/tune"
)

const hostile = `</script><img src=x onerror=alert(1)>"'&` + "\x1b[2J"

// testOf returns the requests of a Server test at 100 queries per second with autocorrelated service times.
func testOf(random *rand.Rand, n int, slower float64) *ledger.Test {
	t := &ledger.Test{Origin: ledger.FromSchedule, T0NS: 1e18, Names: ledger.Names{Reasons: []ledger.Reason{""},
		Sources: []ledger.TokenSource{"", ledger.TokensFromIDs}}}
	service, due := latencies(random, n, 0.6), int64(0)
	for i := range n {
		due += int64(1e7 * random.ExpFloat64())
		ttft := int64(slower * 1e9 * service[i])
		at := int64(1e18) + due
		tokens := int32(20 + random.IntN(60))
		done := at + ttft + int64(slower*float64(tokens)*1e6*(4+random.Float64()))
		t.Schedule = append(t.Schedule, due)
		t.Entries = append(t.Entries, ledger.Entry{Seq: int32(i), Index: int32(random.IntN(1000)), IssuedNS: at,
			SentNS:       at + 1,
			FirstTokenNS: at + ttft, LastTokenNS: done, DoneNS: done, OutputTokens: tokens, InputTokens: 40, Source: 1})
	}
	return t
}

// resultOf returns a valid Server result with a request log.
func resultOf(random *rand.Rand, n int, slower float64) *Result {
	value := 1000.0
	return &Result{State: Valid, Reasons: []string{}, Benchmark: "llama3.1-8b", Scenario: "Server", Mode: "performance",
		Value: &value, Unit: "tokens/s", requests: testOf(random, n, slower)}
}

func sourceOf(results ...*Result) *Source {
	return &Source{Kind: RunKind, Notes: []string{}, Results: results}
}

// The same server passes the gate in about 95 % of the cases, over all rows together; the seeds are fixed.
func TestGateRarelyFailsForTheSameServer(t *testing.T) {
	const pairs = 10
	failed := 0
	for seed := range uint64(pairs) {
		random := rand.New(rand.NewPCG(seed, 10))
		a, b := sourceOf(resultOf(random, 1000, 1)), sourceOf(resultOf(random, 1000, 1))
		r := Compare([]*Source{a, b}, Settings{Gate: true})
		require.Len(t, r.Pairs[0].Rows, 7)
		if !r.Gate.Passed {
			failed++
		}
	}
	t.Logf("%d of %d", failed, pairs)
	require.LessOrEqual(t, failed, 2)
}

func TestGateFindsARegression(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 11))
	a, b := resultOf(random, 4000, 1), resultOf(random, 4000, 1.2)
	r := Compare([]*Source{sourceOf(a), sourceOf(b)}, Settings{Gate: true})
	require.False(t, r.Gate.Passed)
	require.Contains(t, r.Gate.Failures[0], "TTFT p50 is worse by")
	require.Equal(t, Worse, r.Pairs[0].Rows[1].Verdict)
	back := Compare([]*Source{sourceOf(b), sourceOf(a)}, Settings{Gate: true})
	require.True(t, back.Gate.Passed, back.Gate.Failures)
	require.Equal(t, Better, back.Pairs[0].Rows[1].Verdict)
	tolerated := Compare([]*Source{sourceOf(a), sourceOf(b)}, Settings{Gate: true, Threshold: 0.3})
	require.True(t, tolerated.Gate.Passed, tolerated.Gate.Failures)
	require.Equal(t, Worse, tolerated.Pairs[0].Rows[1].Verdict, "the threshold is the gate's alone")
}

// A run compared with itself: every interval has width 0, because the same requests of both are drawn.
func TestRunAgainstItself(t *testing.T) {
	a := resultOf(rand.New(rand.NewPCG(2, 12)), 3000, 1)
	r := Compare([]*Source{sourceOf(a), sourceOf(a)}, Settings{Gate: true, Percentiles: []float64{50, 99, 99.9}})
	require.True(t, r.Gate.Passed)
	for _, row := range r.Pairs[0].Rows {
		require.NotEqual(t, Worse, row.Verdict)
		if row.Interval != nil {
			require.Zero(t, row.Interval.High-row.Interval.Low)
		}
	}
	require.Equal(t, "TTFT p99.9", r.Pairs[0].Rows[3].Name)
	require.Contains(t, r.Pairs[0].Rows[3].Why, "of neighbouring requests, and 10 are needed")
}

// In Offline the rate is that of equal pieces of the run's time.
func TestOfflineRate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 13))
	offline := func(slower float64) *Result {
		r := resultOf(random, 1, 1)
		r.Scenario, r.requests = "Offline", &ledger.Test{T0NS: 1e18, Origin: ledger.FromStart}
		at := float64(1e18)
		for i := range 4000 {
			at += slower * 1e7 * random.ExpFloat64()
			r.requests.Schedule = append(r.requests.Schedule, 0)
			r.requests.Entries = append(r.requests.Entries, ledger.Entry{Seq: int32(i), IssuedNS: 1e18, DoneNS: int64(at),
				OutputTokens: int32(50 + random.IntN(20))})
		}
		value := 60 * 4000 / (at - 1e18) * 1e9
		r.Value = &value
		return r
	}
	row := func(a, b *Result) *Row {
		r := Compare([]*Source{sourceOf(a), sourceOf(b)}, Settings{})
		require.Len(t, r.Pairs[0].Rows, 1)
		return r.Pairs[0].Rows[0]
	}
	same, slower := row(offline(1), offline(1)), row(offline(1), offline(1.25))
	require.Equal(t, Same, same.Verdict, "%+v", same.Interval)
	require.Equal(t, Worse, slower.Verdict)
	require.True(t, includes(slower.Interval, -0.2), "%+v", slower.Interval)
}

func TestOtherRulesAreNotRanked(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 14))
	for want, change := range map[string]func(*Result){
		"different round: v6.0 and v6.1":                   func(r *Result) { r.Round = "v6.1" },
		"different scenario: Server and Interactive":       func(r *Result) { r.Scenario = "Interactive" },
		"different benchmark: llama3.1-8b and gpt-oss":     func(r *Result) { r.Benchmark = "gpt-oss" },
		"different latency limits: TTFT 2s and TTFT 500ms": func(r *Result) { r.Limits = "TTFT 500ms" },
		"only B is a rehearsal":                            func(r *Result) { r.Rehearsal = "yes" },
		"different data set: one and two":                  func(r *Result) { r.Dataset = "two" },
		"different division: closed and open":              func(r *Result) { r.Division = "open" },
		"different sampling: {} and {max}":                 func(r *Result) { r.Sampling = "{max}" },
		"different test: performance and accuracy":         func(r *Result) { r.Mode = "accuracy" },
		"different number of rows: 64 and 512":             func(r *Result) { r.Rows = "512" },
		"B is INVALID (failed_samples)": func(r *Result) {
			r.State, r.Reasons = Invalid, []string{"failed_samples"}
		},
	} {
		with := func() *Result {
			r := resultOf(random, 50, 1)
			r.Round, r.Limits, r.Rehearsal, r.Dataset, r.Division, r.Sampling = "v6.0", "TTFT 2s", "no", "one", "closed", "{}"
			r.Rows = "64"
			return r
		}
		other := with()
		change(other)
		r := Compare([]*Source{sourceOf(with()), sourceOf(other)}, Settings{Gate: true})
		require.Equal(t, []string{want}, r.Pairs[0].NotRanked)
		require.False(t, r.Gate.Passed)
		for _, row := range r.Pairs[0].Rows {
			require.Equal(t, NotJudged, row.Verdict)
			require.Nil(t, row.Change)
		}
	}
}

// Tests of two kinds are both named, and a row without an interval is called unknown.
func TestTextOfAPair(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 15))
	a, b := resultOf(random, 100, 1), resultOf(random, 100, 1)
	b.Scenario, a.Rehearsal, b.Rehearsal = "Offline", "yes", "yes"
	text := textOf(t, Compare([]*Source{sourceOf(a), sourceOf(b)}, Settings{}))
	require.Contains(t, text, "\nllama3.1-8b Offline performance (B) against llama3.1-8b Server performance (A)\n")
	require.Contains(t, text, "note: both are rehearsals")
	require.NotContains(t, text, "unknown", "nothing is ranked")
	b.Scenario = a.Scenario
	text = textOf(t, Compare([]*Source{sourceOf(a), sourceOf(b)}, Settings{}))
	require.Regexp(t, `TTFT p99 \(ms\) .* % +unknown\n`, text)
	require.Contains(t, text, "the run is too short for an\n    interval: its slowest 1 % came in")
}

func TestPartners(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 15))
	of := func(scenario, system string) *Result {
		r := resultOf(random, 50, 1)
		r.Scenario, r.System = scenario, system
		return r
	}
	r := Compare([]*Source{
		sourceOf(of("Server", "one"), of("Server", "two"), of("Offline", "one")),
		sourceOf(of("Server", "two"), of("Interactive", "two")), sourceOf(of("Offline", "other"), of("Server", "three")),
	}, Settings{Gate: true})
	require.Len(t, r.Pairs, 2)
	require.Equal(t, "two", r.Pairs[0].Base.System)
	require.Equal(t, "C", r.Pairs[1].OtherLabel)
	require.Equal(t, "Offline", r.Pairs[1].Base.Scenario, "the only one of its scenario, of whatever system")
	require.Len(t, r.Alone, 6)
	require.False(t, r.Gate.Passed)
}

func TestSettingsThatDiffer(t *testing.T) {
	a := &Result{settings: []setting{{configGroup, "target-qps", "10"}, {configGroup, "same", "1"},
		{configGroup, "gone", "x"}, {loadgenGroup, "effective_target_qps", "10"}, {machineGroup, "cpu", "old"}}}
	b := &Result{settings: []setting{{configGroup, "target-qps", "12"}, {configGroup, "same", "1"},
		{configGroup, "new", "y"}, {loadgenGroup, "effective_target_qps", "12"}}}
	require.Equal(t, []Difference{{configGroup, "target-qps", "10", "12"}, {configGroup, "gone", "x", ""},
		{configGroup, "new", "", "y"}}, differences(a, b))
	require.False(t, sameLoad(a, b))
}

// folderOf writes the folder of a valid Server run.
func folderOf(t testing.TB, random *rand.Rand, slower float64) string {
	t.Helper()
	folder := t.TempDir()
	test := testOf(random, 1200, slower)
	require.NoError(t, ledger.WriteRequests(atomicfile.Shared, filepath.Join(folder, record.RequestsName), test))
	m := test.Metrics()
	require.NoError(t, atomicfile.WriteJSON(filepath.Join(folder, record.FileName), &record.Record{Schema: record.Schema,
		Model: "llama3.1-8b", Scenario: "Server", Mode: "performance", Verdict: record.Valid, Rehearsal: true,
		Round:    "v6.1",
		LatencyS: record.NewLatencies(&m, nil), Dataset: record.DatasetFacts{SHA256: strings.Repeat("ab", 32)},
		Tails: []record.Tail{{What: "time to first token", Limit: 2 * time.Second}},
		LoadGen: record.LoadGenResult{Result: map[string]any{
			"result_completed_tokens_per_second": m.Throughput.OutputTokens}}}))
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.ConfigName),
		[]byte("target-qps: 100 # flag\nendpoint:\n  - http://"+hostile[:9]+"\noutput-dir: "+folder+"\n"), 0o600))
	return folder
}

func read(t testing.TB, folder string) *Source {
	t.Helper()
	s, err := Read(context.Background(), folder, Options{})
	require.NoError(t, err)
	return s
}

// fits validates a report against its schema.
func fits(t *testing.T, r *Report) {
	t.Helper()
	form, err := schematest.Compile("compare.schema.json", schema.Compare)
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, form.Validate(v))
}

func textOf(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.Text(&b))
	return b.String()
}

func TestRunFolders(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 16))
	a, b := read(t, folderOf(t, random, 1)), read(t, folderOf(t, random, 1.5))
	require.Empty(t, a.Notes)
	r := Compare([]*Source{a, b}, Settings{Gate: true})
	fits(t, r)
	text := textOf(t, r)
	require.Contains(t, text, "gate: FAILED")
	require.Contains(t, text, "note: both are rehearsals")
	require.NotContains(t, text, "output-dir")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "gate:") && !strings.Contains(line, t.TempDir()[:5]) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), textWidth, line)
		}
	}
	require.Equal(t, "time to first token 2s", a.Results[0].Limits)
	var page bytes.Buffer
	require.NoError(t, r.HTML(&page))
	require.Contains(t, page.String(), "default-src &#39;none&#39;")
	require.Contains(t, page.String(), `<td class="INVALID">worse</td>`)
	require.NotContains(t, page.String(), "<script")
}

// Text from servers and users stays text on the page and in the terminal.
func TestForeignText(t *testing.T) {
	a, b := resultOf(rand.New(rand.NewPCG(7, 17)), 50, 1), resultOf(rand.New(rand.NewPCG(8, 17)), 50, 1)
	b.Benchmark, b.Accelerator, b.Accuracy, b.Reasons, b.State = hostile, hostile, hostile, []string{hostile}, Invalid
	b.settings, a.settings = []setting{{configGroup, hostile, hostile}}, []setting{{configGroup, "x", "y"}}
	s := sourceOf(b)
	s.Folder, s.Notes = hostile, []string{hostile}
	r := Compare([]*Source{sourceOf(a), s}, Settings{Gate: true})
	fits(t, r)
	var page bytes.Buffer
	require.NoError(t, r.HTML(&page))
	require.NotContains(t, page.String(), "<img")
	require.NotContains(t, page.String(), "</script>")
	require.NotEmpty(t, textOf(t, r))
}

// Missing and damaged parts are marked, and the rest is shown.
func TestDamagedFolders(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 18))
	good := read(t, folderOf(t, random, 1))
	for name, c := range map[string]struct {
		damage func(t *testing.T, folder string)
		state  State
		note   string
	}{
		"no record": {func(t *testing.T, f string) { require.NoError(t, os.Remove(filepath.Join(f, record.FileName))) },
			Crashed, "logs cannot be read"},
		"truncated record": {func(t *testing.T, f string) { truncate(t, filepath.Join(f, record.FileName), 100) }, Crashed,
			"logs cannot be read"},
		"other version": {func(t *testing.T, f string) {
			require.NoError(t, os.WriteFile(filepath.Join(f, record.FileName), []byte(`{"schema":"mlperf-go/run/99"}`),
				0o600))
		}, Crashed, "logs cannot be read"},
		"no requests": {func(t *testing.T, f string) {
			require.NoError(t, os.Remove(filepath.Join(f,
				record.RequestsName)))
		},
			Valid, "the request log cannot be used"},
		"truncated requests": {func(t *testing.T, f string) { truncate(t, filepath.Join(f, record.RequestsName), 5000) },
			Valid, "the request log cannot be used"},
		"foreign requests": {func(t *testing.T, f string) {
			require.NoError(t, os.WriteFile(filepath.Join(f, record.RequestsName), []byte("PK\x03\x04"), 0o600))
		}, Valid, "the request log cannot be used"},
		"no config": {func(t *testing.T, f string) { require.NoError(t, os.Remove(filepath.Join(f, record.ConfigName))) },
			Valid, "without settings"},
		"foreign config": {func(t *testing.T, f string) {
			require.NoError(t, os.WriteFile(filepath.Join(f, record.ConfigName), []byte("- a\n- b\n"), 0o600))
		}, Valid, "is not a YAML mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := folderOf(t, random, 1)
			c.damage(t, folder)
			s := read(t, folder)
			require.Equal(t, c.state, s.Results[0].State)
			require.Contains(t, strings.Join(s.Notes, "\n"), c.note)
			r := Compare([]*Source{good, s}, Settings{Gate: true})
			fits(t, r)
			require.Equal(t, c.state != Valid, len(r.Pairs[0].NotRanked) > 0)
			require.NotEmpty(t, textOf(t, r))
		})
	}
	_, err := Read(context.Background(), t.TempDir(), Options{})
	require.ErrorContains(t, err, "is not the folder of a run")
	_, err = Read(context.Background(), filepath.Join(t.TempDir(), "none"), Options{})
	require.ErrorContains(t, err, "there is no folder")
}

func truncate(t *testing.T, path string, to int64) {
	t.Helper()
	require.NoError(t, os.Truncate(path, to))
}

func TestTunes(t *testing.T) {
	runFolder := folderOf(t, rand.New(rand.NewPCG(7, 7)), 1)
	write := func(rate, low, high float64, confirmed bool, run string) *Source {
		folder := t.TempDir()
		require.NoError(t, os.CopyFS(filepath.Join(folder, "confirm"), os.DirFS(runFolder)))
		state := tune.State{Schema: tune.Schema, Kind: "tune", Model: "llama3.1-8b", Scenario: "Server",
			Goal: tune.Goal{Percentile: 0.99, Confidence: 0.95, Limits: []tune.Limit{{Metric: tune.TTFT,
				Limit: time.Second}}},
			Result: &tune.Result{TargetQPS: rate, Low: low, High: high, Confirmed: confirmed, Run: run}}
		state.Goal.Load.MinDuration, state.Goal.Load.MinQueries = time.Minute, 100
		require.NoError(t, atomicfile.WriteJSON(filepath.Join(folder, tune.FileName), &state))
		return read(t, folder)
	}
	of := func(rate, low, high float64, confirmed bool) *Source {
		s := write(rate, low, high, confirmed, "confirm")
		require.Empty(t, s.Notes)
		return s
	}
	// a rate counts only with the run that confirmed it
	require.Contains(t, write(100, 97, 103, true, "../../etc").Notes[0], "not below its folder")
	for _, run := range []string{"", "removed"} {
		s := write(100, 97, 103, true, run)
		require.Equal(t, NotConfirmed, s.Results[0].State, run)
		require.Contains(t, s.Results[0].Reasons[0], "the run that confirmed the rate is not valid")
	}
	r := Compare([]*Source{of(100, 97, 103, true), of(110, 106, 113, true), of(101, 98, 104, true), of(90, 80, 95,
		false)},
		Settings{})
	fits(t, r)
	require.Equal(t, Better, r.Pairs[0].Rows[0].Verdict)
	require.Equal(t, Same, r.Pairs[1].Rows[0].Verdict)
	require.Equal(t, []string{"D is NOT CONFIRMED"}, []string{strings.TrimSuffix(r.Pairs[2].NotRanked[0], " ()")})
}

// The rules for reading a tree are those of the round whose seeds its logs contain.
func TestTrees(t *testing.T) {
	base := filepath.Join(golden.Dir(t, "submission"), "base")
	s := read(t, base)
	require.Equal(t, TreeKind, s.Kind)
	require.Len(t, s.Results, 2)
	one := s.Results[1]
	require.Equal(t, []any{"Server", Valid, "v6.1", "closed", 8, "no"},
		[]any{one.Scenario, one.State, one.Round, one.Division, one.Accelerators, one.Rehearsal})
	require.Equal(t, "time per output token 100ms, time to first token 2s", one.Limits)
	require.Equal(t, "13368", one.Rows)
	require.Contains(t, one.Accuracy, "ROUGE1: 38.8")

	older := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, os.CopyFS(older, os.DirFS(base)))
	new61, err := rounds.Find("v6.1")
	require.NoError(t, err)
	old51, err := rounds.Find("v5.1")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(older, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.Name() != "mlperf_log_detail.txt" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		was, is := new61.Seeds.InOrder(), old51.Seeds.InOrder()
		for i := range was {
			text = bytes.ReplaceAll(text, fmt.Append(nil, was[i]), fmt.Append(nil, is[i]))
		}
		return os.WriteFile(path, text, 0o600)
	}))
	before := read(t, older)
	require.Equal(t, "v5.1", before.Results[0].Round)
	r := Compare([]*Source{before, s}, Settings{Gate: true})
	fits(t, r)
	require.Contains(t, r.Pairs[0].NotRanked, "different round: v5.1 and v6.1")
	require.Equal(t, "per accelerator", Compare([]*Source{s, s}, Settings{}).Pairs[0].Rows[1].Name)

	// A scenario's folder that leads out of the tree is not read.
	outside := filepath.Join(t.TempDir(), "outside")
	place := filepath.Join(older, "closed/ExampleOrg/results/sim-8x/llama3.1-8b/Server/performance")
	require.NoError(t, os.Rename(place, outside))
	require.NoError(t, os.Symlink(outside, place))
	require.Contains(t, strings.Join(read(t, older).Notes, "\n"), "a link out of the tree")
}

// Read and Compare panic on no folder.
func FuzzRead(f *testing.F) {
	folder := folderOf(f, rand.New(rand.NewPCG(20, 20)), 1)
	text := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(f, err)
		return b
	}
	request := []byte(`{"seq":0,"index":1,"scheduled":0,"issued":1,"done":5}`)
	f.Add(text(record.FileName), text(record.ConfigName), request, []byte{})
	f.Add([]byte(`{"schema":"mlperf-go/run/1","verdict":"VALID","mode":"performance","scenario":"SingleStream"}`),
		[]byte("a: b"), []byte("{}"), []byte{})
	f.Add([]byte("{"), []byte("&a [*a, *a]"), []byte("\n\n"), []byte{})
	_, state := sweepOf(f, 1, 300, 4)
	state.Points[0].Folder, state.Points[0].Queries = ".", 1
	points, err := json.Marshal(state)
	require.NoError(f, err)
	f.Add([]byte{}, []byte{}, request, points)
	f.Add([]byte{}, []byte{}, request, []byte(`{"schema":"mlperf-go/sweep/1","load":"rate","settings":["--"],"points":`+
		`[{"load":1,"folder":".","window_from_ns":-1,"window_s":1e300,"queries":1,"output_tokens_per_s":1e300}]}`))
	good := &Source{Results: []*Result{resultOf(rand.New(rand.NewPCG(21, 21)), 60, 1)}}
	f.Fuzz(func(t *testing.T, rec, config, requests, points []byte) {
		folder := t.TempDir()
		for name, text := range map[string][]byte{record.FileName: rec, record.ConfigName: config, sweep.FileName: points} {
			if name == sweep.FileName && len(points) == 0 {
				continue // it is a run
			}
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
		}
		lines, err := atomicfile.Shared.CreateLines(filepath.Join(folder, record.RequestsName))
		require.NoError(t, err)
		for line := range bytes.Lines(requests) {
			require.NoError(t, lines.AppendRaw(bytes.TrimRight(line, "\n")))
		}
		require.NoError(t, lines.Close())
		s, err := Read(context.Background(), folder, Options{})
		require.NoError(t, err)
		r := Compare([]*Source{good, s}, Settings{Gate: true})
		_, err = json.Marshal(r)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, r.Text(&b))
		require.NoError(t, r.HTML(&b))
	})
}

// The columns of a table are headed by the names of their folders, if these differ and fit.
func TestHeadings(t *testing.T) {
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"results/monday", "x/tuesday/", "A monday", "B tuesday"}, {"one/run", "two/run", "A", "B"},
		{"one/20261124T091500.123Z", "two", "A", "B"}, {"a", "\x1b[2J", "A a", `B \u001b[2J`},
	} {
		a, b := Headings("A", c.a, "B", c.b)
		require.Equal(t, []string{c.wantA, c.wantB}, []string{a, b})
	}
	random := rand.New(rand.NewPCG(4, 15))
	named := func(folder string) *Source {
		s := sourceOf(resultOf(random, 100, 1))
		s.Folder = folder
		return s
	}
	require.Regexp(t, `\n +A monday +B tuesday +change`, textOf(t, Compare([]*Source{named("monday"), named("tuesday")},
		Settings{})))
	long := []*Source{named("0123456789abcdef"), named("1123456789abcdef")}
	require.Regexp(t, `\n +A +B +change`, textOf(t, Compare(long,
		Settings{})), "there is no room")
}
