package sweep

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

const s = int64(time.Second)

// entry is an answer of ten tokens, in seconds of the wall clock.
func entry(issued, first, last int64) ledger.Entry {
	return ledger.Entry{IssuedNS: issued * s, SentNS: issued * s, FirstTokenNS: first * s, LastTokenNS: last * s,
		ReadableNS: last * s, DoneNS: last * s, OutputTokens: 10, InputTokens: 5}
}

// The window is from 10 s to 20 s. By hand: two of four queries are due in it (11 and 14), and two end in it (the first
// and the second). The first sent its tokens over 9 s, 3 of them in the window; the second sent all in it, and the
// third half.
func TestMeasureByHand(t *testing.T) {
	data := &ledger.Test{Origin: ledger.FromIssue, Entries: []ledger.Entry{
		entry(3, 4, 13),   // 9 s of tokens, 3 of them in the window
		entry(11, 12, 16), // TTFT 1 s, TPOT 4/9 s
		entry(14, 17, 23), // TTFT 3 s, TPOT 6/9 s; 3 of 6 s in the window
		entry(20, 21, 22), // due at its end: outside
	}}
	f := Measure(data, Window{10 * s, 20 * s}, Limits{TTFT: 2 * time.Second, TPOT: 500 * time.Millisecond}, 2)
	require.Equal(t, 2, f.Queries)
	require.InDelta(t, 0.2, f.RequestsPerS, 1e-9)
	require.InDelta(t, (10.0*3/9+10+10*3/6)/10, f.OutputTokensPerS, 1e-9)
	require.InDelta(t, f.OutputTokensPerS/2, f.PerAccelerator, 1e-9)
	require.InDelta(t, (3+5+6)/10.0, f.InFlight, 1e-9)
	require.InDelta(t, 3, f.TTFT.Max, 1e-9)
	require.InDelta(t, 6.0/9, f.TPOT.P50, 1e-9) // element trunc(2·0.5) of 4/9 and 6/9
	require.InDelta(t, 9.0/6, f.PerUser, 1e-9)
	require.InDelta(t, 0.5, *f.Met, 1e-9) // the first query of the window only
	require.InDelta(t, 0.1, *f.GoodputPerS, 1e-9)

	f = Measure(data, Window{10 * s, 20 * s}, Limits{}, 0)
	require.Nil(t, f.Met)
	require.Nil(t, f.GoodputPerS)
	require.InDelta(t, f.OutputTokensPerS, f.PerAccelerator, 1e-9)

	require.Zero(t, Measure(data, Window{20 * s, 20 * s}, Limits{}, 0))
}

// A failed query meets no limit, and its tokens do not count.
func TestMeasureFailures(t *testing.T) {
	failed := entry(11, 12, 13)
	failed.Reason = 1
	data := &ledger.Test{Origin: ledger.FromIssue,
		Entries: []ledger.Entry{failed, entry(11, 12, 13)}}
	f := Measure(data, Window{10 * s, 20 * s}, Limits{TTFT: time.Minute}, 0)
	require.InDelta(t, 0.5, *f.Met, 1e-9)
	require.InDelta(t, 1, f.OutputTokensPerS, 1e-9)
	require.InDelta(t, 0.1, f.RequestsPerS, 1e-9)
}

// point is a measured point with the given tokens/s per user and in total, and a median answer time.
func point(load, user, all, answer float64, spoiled ...record.Code) Point {
	p := Point{Load: load, Folder: "points/x", Started: time.Unix(0, 0).UTC(), Spoiled: []record.Cause{},
		Figures: Figures{WindowS: 10, Queries: 100, RequestsPerS: all / 10, OutputTokensPerS: all, PerAccelerator: all,
			PerUser: user, E2E: &ledger.Stats{P50: answer}, TTFT: &ledger.Stats{P50: answer / 10, P99: answer / 5}}}
	for _, code := range spoiled {
		p.Spoiled = append(p.Spoiled, record.Cause{Code: code, Text: "spoiled by " + strings.Repeat("this ", 30)})
	}
	return p
}

func TestFrontByHand(t *testing.T) {
	points := []Point{
		point(1, 100, 100, 1),
		point(2, 90, 180, 1),
		point(4, 80, 170, 1),                           // worse than the one before in both
		point(8, 60, 400, 1, record.CodeFailedSamples), // the best, but spoiled
		point(16, 50, 300, 1),
		point(32, 50, 290, 1), // equal for a user, and lower in total
		point(64, 0, 900, 1),  // without a time per token
	}
	markFront(points)
	var front []float64
	for _, p := range points {
		if p.Front {
			front = append(front, p.Load)
		}
	}
	require.Equal(t, []float64{1, 2, 16}, front)
}

func TestGoodputByHand(t *testing.T) {
	with := func(p Point, share, rate float64) Point {
		p.Met, p.GoodputPerS = &share, &rate
		return p
	}
	points := []Point{
		with(point(1, 1, 10, 1), 1, 1), with(point(2, 1, 20, 1), 0.99, 1.98), with(point(4, 1, 30, 1), 0.9, 2.7),
		with(point(8, 1, 40, 1, record.CodeClientLag), 1, 8), with(point(16, 1, 30, 9), 0.1, 0.3),
	}
	require.Equal(t, 4.0, bestGoodput(points).Load)
	require.Equal(t, 2.0, highestWithin(points).Load)
	require.Nil(t, bestGoodput([]Point{point(1, 1, 1, 1)}))
	require.Nil(t, highestWithin(points[2:3]))
	st := state(points...)
	st.Limits = Limits{TTFT: time.Second}
	st.finish("it is over")
	require.Equal(t, &Goodput{4, 2.7, 0.9}, st.Result.Best)
	require.Equal(t, &Goodput{2, 1.98, 0.99}, st.Result.Within)
	require.Equal(t, 4, st.Result.Counted)
	require.Equal(t, 1, st.Result.Spoiled)
	require.Contains(t, st.Sentence(), "The highest goodput is 2.7 queries/s at 4 in flight, where 90 % of the queries")
}

// A query meets a limit up to the limit itself, and misses a limit on a latency that it does not have.
func TestQueriesThatMeetTheLimits(t *testing.T) {
	nan := math.NaN()
	limits := Limits{TTFT: 2 * time.Second, TPOT: 100 * time.Millisecond}
	for _, c := range []struct {
		limits Limits
		times  ledger.Times
		want   bool
	}{
		{limits, ledger.Times{TTFT: 2, TPOT: .1, E2E: 99}, true},
		{limits, ledger.Times{TTFT: 2.001, TPOT: .1}, false},
		{limits, ledger.Times{TTFT: 2, TPOT: .101}, false},
		{limits, ledger.Times{TTFT: nan, TPOT: .1}, false},
		{limits, ledger.Times{TTFT: 2, TPOT: nan}, false},
		{Limits{Answer: time.Second}, ledger.Times{TTFT: 9, TPOT: 9, E2E: 1}, true},
		{Limits{Answer: time.Second}, ledger.Times{E2E: 1.001}, false},
		{Limits{}, ledger.Times{TTFT: nan}, true},
	} {
		require.Equal(t, c.want, c.limits.met(c.times), "%+v", c)
	}
}

// state is a sweep with points.
func state(points ...Point) *State {
	st := &State{Schema: Schema, Kind: "sweep", Model: "generic", Scenario: "Server", Settings: []string{},
		Load: Concurrency, Values: []float64{}, Length: Length{1, 2, 3, 4}, Rehearsal: []string{}, IdleAnswerS: 1,
		Points: []Point{}}
	for i := range points {
		st.add(&points[i])
	}
	return st
}

// An automatic sweep of a server that answers at most 40 tokens/s: two queries in flight double the tokens, and further
// queries only wait.
func TestAuto(t *testing.T) {
	st := state()
	st.Auto = true
	var loads []float64
	for {
		load, more, why := st.next()
		if !more {
			require.Equal(t, "the server is saturated at 8 in flight", why)
			break
		}
		loads = append(loads, load)
		p := point(load, 1, min(10*load, 40), max(1, load/4))
		st.add(&p)
	}
	require.Equal(t, []float64{1, 2, 4, 8, 6}, loads)
}

func TestAutoEnds(t *testing.T) {
	for name, c := range map[string]struct {
		kind   Kind
		server func(load float64) Point
		points int
		why    string
	}{
		"never saturated": {Concurrency, func(v float64) Point { return point(v, 1, v, 1) }, 15,
			"the server was not saturated by 16384 in flight"},
		"never saturated by a rate": {Rate, func(v float64) Point { return point(v, 1, v, 1) }, 18,
			"the server was not saturated by"},
		"no growth but no queue": {Concurrency, func(v float64) Point { return point(v, 1, 5, 1) }, 15, "was not saturated"},
		"the client's own limit": {Concurrency, func(v float64) Point {
			if v >= 4 {
				return point(v, 1, v, 1, record.CodeClientLag)
			}
			return point(v, 1, v, 1)
		}, 3, "the client itself was too late at 4 in flight"},
		"failures": {Concurrency, func(v float64) Point { return point(v, 1, v, 1, record.CodeFailedSamples) }, 2,
			"2 loads in a row were spoiled"},
		"failures that are not in a row": {Concurrency, func(v float64) Point {
			if v == 2 || v == 8 || v == 32 {
				return point(v, 1, v, 1, record.CodeFailedSamples)
			}
			return point(v, 1, v, 1)
		}, 15, "was not saturated"},
	} {
		t.Run(name, func(t *testing.T) {
			st := state()
			st.Auto, st.Load = true, c.kind
			for {
				load, more, why := st.next()
				if !more {
					require.Contains(t, why, c.why)
					break
				}
				p := c.server(load)
				st.add(&p)
				require.LessOrEqual(t, len(st.Points), c.points)
			}
			require.Len(t, st.Points, c.points)
		})
	}
}

// Tokens saturate, or answers where tokens are not counted.
func TestThroughputOfAPoint(t *testing.T) {
	for want, figures := range map[float64]Figures{7: {OutputTokensPerS: 7, RequestsPerS: 2}, 2: {RequestsPerS: 2},
		0: {}} {
		require.Equal(t, want, (&Point{Figures: figures}).throughput())
	}
}

func TestListsAndResume(t *testing.T) {
	st := state(point(2, 1, 1, 1), point(4, 1, 1, 1, record.CodeFailedSamples))
	st.Values = []float64{1, 2, 4}
	load, more, _ := st.next()
	require.True(t, more)
	require.Equal(t, 1.0, load)

	again := state()
	again.Values = st.Values
	require.True(t, again.same(st))
	again.continues(st)
	require.Len(t, again.Points, 1, "a spoiled point is measured again")
	for _, want := range []float64{1, 4} {
		load, more, _ = again.next()
		require.True(t, more)
		require.Equal(t, want, load)
		p := point(load, 1, 1, 1)
		again.add(&p)
	}
	_, more, why := again.next()
	require.False(t, more)
	require.Equal(t, "every load of the list was measured", why)
	again.Limits.TTFT = time.Second
	require.False(t, again.same(st))
}

// The phases of a closed loop: settled after the warm-up and one answer to each query in flight, counted until there
// are enough answers.
func TestPhasesOfAClosedLoop(t *testing.T) {
	n := Length{WarmupS: 1, Duration: 2, Queries: 30, Longest: 10}
	p := n.plan(Concurrency, 4, 100*time.Millisecond)
	at := func(seconds float64, ended int) {
		p.ended = ended
		p.look(100*s, 100*s+int64(seconds*float64(s)))
	}
	at(0.9, 9)
	require.Zero(t, p.counted.FromNS)
	at(1.1, 3)
	require.Zero(t, p.counted.FromNS, "not every query has been replaced yet")
	at(1.5, 5)
	require.Equal(t, 101*s+s/2, p.counted.FromNS)
	at(3.6, 20)
	require.Zero(t, p.counted.ToNS, "15 answers are too few")
	at(4, 35)
	require.Equal(t, 104*s, p.counted.ToNS)
	p.slowest = 500 * time.Millisecond
	at(4.4, 40)
	require.False(t, p.finished)
	at(4.5, 41)
	require.True(t, p.finished)
}

func TestLengthOfAPoint(t *testing.T) {
	n := Length{WarmupS: 5, Duration: 30, Queries: 300, Longest: 300}
	require.Equal(t, 30*time.Second, n.plan(Rate, 50, 0).window)
	require.Equal(t, 60*time.Second, n.plan(Rate, 5, 0).window, "300 queries")
	require.Equal(t, 300*time.Second, n.plan(Rate, 0.1, 0).window, "the longest")
	require.Equal(t, 20*time.Second, n.plan(Rate, 50, 10*time.Second).warmup, "two answers")
	require.Greater(t, n.plan(Rate, 50, 0).most(50, 0), 50*50)
	require.LessOrEqual(t, n.plan(Concurrency, MaxConcurrency, 0).most(MaxConcurrency, 0), maxQueries)
}

func TestViews(t *testing.T) {
	st := state(point(1, 100, 1000.4, 1), point(128, 12.3456, 123456.7, 100), point(16384, 1, 1, 1, record.CodeClientLag))
	st.Limits, st.Accelerators = Limits{TTFT: time.Second}, 8
	share, rate := 0.98765, 123.456
	st.Points[1].Met, st.Points[1].GoodputPerS = &share, &rate
	st.finish("it is over")
	var table, sheet, svg bytes.Buffer
	require.NoError(t, st.WriteTable(&table))
	for line := range strings.Lines(table.String()) {
		require.LessOrEqual(t, len(line), tableWidth+1, line)
		require.NotRegexp(t, ` \n$`, line)
	}
	require.Contains(t, table.String(), "per acc.")
	require.Contains(t, table.String(), "x 16384 in flight is spoiled: spoiled by this")
	require.NoError(t, st.WriteCSV(&sheet))
	lines := strings.Split(strings.TrimSpace(sheet.String()), "\n")
	require.Len(t, lines, 4)
	require.Regexp(t, `^concurrency,16384,false,false,.*,client_lag$`, lines[3])
	require.NoError(t, st.WritePlot(&svg))
	require.Equal(t, 1, strings.Count(svg.String(), "Pareto front"))
	validate(t, st)
}

func TestEmptyViews(t *testing.T) {
	st := state()
	st.finish("nothing")
	var table, svg bytes.Buffer
	require.NoError(t, st.WriteTable(&table))
	require.Contains(t, table.String(), "No point counts.")
	require.NoError(t, st.WritePlot(&svg))
	validate(t, st)
}

// validate checks a state against schema/sweep.schema.json, and reads it again.
func validate(t *testing.T, st *State) {
	t.Helper()
	form, err := schematest.Compile("sweep.schema.json", schema.Sweep)
	require.NoError(t, err)
	text, err := json.Marshal(st)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, form.Validate(v))
	back, err := stateFile.Parse(text)
	require.NoError(t, err)
	require.Equal(t, st.Points, back.Points)
}

// A folder may contain any sweep.json: it is read or rejected.
func FuzzState(f *testing.F) {
	st := state(point(1, 100, 100, 1), point(2, 1, 1, 1, record.CodeClientLag))
	st.finish("it is over")
	text, err := json.Marshal(st)
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"schema":"mlperf-go/sweep/1","auto":true,"load":"rate","points":[{"load":1,"goodput_per_s":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := stateFile.Parse(text)
		if err != nil {
			return
		}
		now := state()
		now.continues(read)
		now.Auto, now.Load = read.Auto, read.Load
		_, _, _ = now.next()
		now.finish("it is over")
		var out bytes.Buffer
		require.NoError(t, now.WriteTable(&out))
		require.NoError(t, now.WriteCSV(&out))
		require.NoError(t, now.WritePlot(&out))
	})
}
