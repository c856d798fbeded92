package sweep

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/study"
)

// Which states are read, at the edge of each bound and beside it.
func TestStatesThatAreRejected(t *testing.T) {
	share := 0.5
	for _, c := range []struct {
		p  Point
		ok bool
	}{
		{Point{Load: math.SmallestNonzeroFloat64}, true}, {Point{Load: MaxRate}, true}, {Point{}, false},
		{Point{Load: -1}, false}, {Point{Load: math.Nextafter(MaxRate, math.Inf(1))}, false},
		{Point{Load: math.NaN()}, false},
		{Point{Load: 1, Figures: Figures{PerAccelerator: -0.1}}, false},
		{Point{Load: 1, Figures: Figures{PerUser: -0.1}}, false},
		{Point{Load: 1, Figures: Figures{PerUser: 0.1, PerAccelerator: 0.1}}, true},
		{Point{Load: 1, Figures: Figures{Met: &share}}, false},
		{Point{Load: 1, Figures: Figures{GoodputPerS: &share}}, false},
		{Point{Load: 1, Figures: Figures{Met: &share, GoodputPerS: &share}}, true},
	} {
		err := (&State{Points: []Point{{Load: 1}, c.p}}).check()
		require.Equal(t, c.ok, err == nil, "%+v: %v", c.p, err)
	}
	many := make([]Point, MaxPoints+1)
	for i := range many {
		many[i].Load = 1
	}
	require.NoError(t, (&State{Points: many[1:], Values: make([]float64, MaxPoints)}).check())
	require.ErrorContains(t, (&State{Points: many}).check(), "more than")
	require.ErrorContains(t, (&State{Values: make([]float64, MaxPoints+1)}).check(), "more than")
}

// A sweep continues with the same terms only.
func TestTermsOfASweep(t *testing.T) {
	require.True(t, state().same(state()))
	for name, change := range map[string]func(s *State){
		"--model=x": func(s *State) { s.Model = "x" }, "--scenario=x": func(s *State) { s.Scenario = "x" },
		"--a=b": func(s *State) { s.Settings = []string{"--a=b"} }, "--load=rate": func(s *State) { s.Load = Rate },
		"--point-warmup=9s":      func(s *State) { s.Length.WarmupS = 9 },
		"--point-duration=9s":    func(s *State) { s.Length.Duration = 9 },
		"--point-queries=9":      func(s *State) { s.Length.Queries = 9 },
		"--point-longest=9s":     func(s *State) { s.Length.Longest = 9 },
		"--accelerators=9":       func(s *State) { s.Accelerators = 9 },
		"--ttft-limit=9s":        func(s *State) { s.Limits.TTFT = 9 * time.Second },
		"--tpot-limit=9s":        func(s *State) { s.Limits.TPOT = 9 * time.Second },
		"limit of the answer=9s": func(s *State) { s.Limits.Answer = 9 * time.Second },
	} {
		other := state()
		require.NotContains(t, other.terms(), name)
		change(other)
		require.False(t, state().same(other), name)
		require.Contains(t, other.terms(), name)
	}
	require.NotContains(t, strings.Join(state().terms(), " "), "limit", "limits that are not set")
	before := state(point(1, 1, 1, 1))
	before.Started, before.IdleAnswerS = time.Unix(5, 0), 7
	now := state()
	now.continues(before)
	require.Equal(t, []any{before.Started, 7.0, 1}, []any{now.Started, now.IdleAnswerS, len(now.Points)})
}

// A load is found by its value, within rounding.
func TestPointOfALoad(t *testing.T) {
	st := state(point(2, 1, 1, 1), point(8, 1, 1, 1), point(4, 1, 1, 1))
	require.Equal(t, []float64{2, 4, 8}, loads(st))
	for load, want := range map[float64]bool{2: true, 2 * (1 + 1e-10): true, 2 * (1 - 1e-10): true, 2 * (1 + 1e-8): false,
		2 * (1 - 1e-8): false, 8: true, 3: false} {
		require.Equal(t, want, st.at(load) != nil, load)
	}
	require.Equal(t, 4.0, st.at(4).Load)
}

// Answers that come at once have no tokens per second and user, and one of a single token meets every limit per token.
func TestAnswersOfOneToken(t *testing.T) {
	limits := Limits{TPOT: time.Millisecond}
	once := entry(11, 12, 12)
	f := Measure(&ledger.Test{Origin: ledger.FromIssue, Entries: []ledger.Entry{once}}, Window{10 * s, 20 * s}, limits, 3)
	require.NotNil(t, f.TPOT)
	require.Zero(t, f.PerUser)
	require.Equal(t, 1.0, *f.Met)
	require.InDelta(t, f.OutputTokensPerS/3, f.PerAccelerator, 1e-9)
	single := entry(11, 12, 13)
	single.OutputTokens = 1
	require.Zero(t, limited(&single, 11*s).TPOT)
	require.Equal(t, 1.0, limited(&single, 11*s).TTFT)
	several := entry(11, 12, 21)
	require.Equal(t, 1.0, limited(&several, 11*s).TPOT)
	none := entry(11, 12, 13)
	none.OutputTokens = 0
	require.True(t, math.IsNaN(limited(&none, 11*s).TPOT))
	require.Nil(t, Measure(&ledger.Test{Origin: ledger.FromIssue}, Window{10 * s, 20 * s}, limits, 0).Met, "no query")
	for issued, queries := range map[int64]int{9: 0, 10: 1, 19: 1, 20: 0} { // due at the edges of the window
		e := entry(issued, 21, 22)
		data := &ledger.Test{Origin: ledger.FromIssue, Entries: []ledger.Entry{e}}
		require.Equal(t, queries, Measure(data, Window{10 * s, 20 * s}, limits, 0).Queries, "due at %d s", issued)
	}
	for done, rate := range map[int64]float64{9: 0, 10: 0.1, 19: 0.1, 20: 0} { // ended at its edges
		data := &ledger.Test{Origin: ledger.FromIssue, Entries: []ledger.Entry{entry(1, 2, done)}}
		require.InDelta(t, rate, Measure(data, Window{10 * s, 20 * s}, limits, 0).RequestsPerS, 1e-9, "ended at %d s", done)
	}
}

// How long a point takes, by its kind: a closed loop needs its queries, up to the longest time.
func TestAboutAPoint(t *testing.T) {
	n := Length{WarmupS: 5, Duration: 30, Queries: 300, Longest: 300}
	about := func(kind Kind, load float64, idle time.Duration) time.Duration {
		return n.plan(kind, load, idle).about(load, idle)
	}
	require.Equal(t, 35*time.Second, about(Concurrency, 4, 0))
	require.Equal(t, 5*time.Second+75*time.Second+2*time.Second, about(Concurrency, 4, time.Second))
	require.Equal(t, 5*time.Second+300*time.Second+2*time.Second, about(Concurrency, 1, time.Second),
		"at most the longest")
	require.Equal(t, 5*time.Second+30*time.Second+2*time.Second, about(Concurrency, 100, time.Second))
	require.Equal(t, 65*time.Second, about(Rate, 5, 0))
	require.Equal(t, 67*time.Second, about(Rate, 5, time.Second))
	o := &Options{Length: n, Loads: Loads{Kind: Rate, Values: []float64{5, 50}}}
	require.Equal(t, 65*time.Second, o.AboutPoint(5))
	require.Equal(t, 100*time.Second, o.About())
	require.Zero(t, (&Options{Length: n}).About())
	require.Equal(t, 4, n.plan(Concurrency, 4, 0).flight)
	require.Zero(t, n.plan(Rate, 4, 0).flight)
}

// A point of a rate may have as many queries as fit in memory; a closed loop never has more.
func TestQueriesThatFitInMemory(t *testing.T) {
	n := Length{WarmupS: 0, Duration: 1, Queries: 1, Longest: longestPoint}
	low, high := 1.0, float64(MaxRate)
	for range 60 { // the highest rate whose queries fit
		if mid := (low + high) / 2; n.plan(Rate, mid, 0).most(mid, 0) <= maxQueries {
			low = mid
		} else {
			high = mid
		}
	}
	check := func(kind Kind, loads ...float64) error {
		p, err := plan.New(plan.Settings{"model": "generic", "scenario": "Server", "endpoint": "http://a:1",
			"served-model": "m"})
		require.NoError(t, err)
		o := &Options{Plan: p, Loads: Loads{Kind: kind, Values: loads}, Length: n}
		return o.Check()
	}
	require.NoError(t, check(Rate, 1, low))
	require.NoError(t, check(Concurrency, 1, MaxConcurrency))
	if high < MaxRate {
		require.ErrorContains(t, check(Rate, 1, high*(1+1e-6)), "are kept in memory")
	}
	require.Equal(t, high < MaxRate, n.plan(Rate, MaxRate, 0).most(MaxRate, 0) > maxQueries)
	n = Length{WarmupS: 1, Duration: 2, Queries: 30, Longest: 10}
	// at a time, counted, and what a server that is four times faster answers in 1.5 times the longest window
	require.Equal(t, 2+30+2*4*16, n.plan(Concurrency, 2, 0).most(2, time.Second))
	n.Duration = 20
	require.Equal(t, 2+30+2*4*31*2, n.plan(Concurrency, 2, 0).most(2, time.Second/2))
}

// The phases of a rate: its window begins after the warm-up, whenever that is noticed, and has its length.
func TestPhasesOfARate(t *testing.T) {
	n := Length{WarmupS: 1, Duration: 2, Queries: 1, Longest: 10}
	p := n.plan(Rate, 4, 0)
	at := func(seconds float64) { p.look(100*s, 100*s+int64(seconds*float64(s))) }
	at(0.999)
	require.Zero(t, p.counted.FromNS)
	p.ended = 7
	at(1.2)
	require.Equal(t, []int64{101 * s, 7}, []int64{p.counted.FromNS, int64(p.before)})
	at(2.999)
	require.Zero(t, p.counted.ToNS)
	at(3)
	require.Equal(t, 103*s, p.counted.ToNS)
	p.slowest = time.Hour
	at(3 + 2*cooling - 0.001)
	require.False(t, p.finished, "at most a part of the window")
	at(3 + 2*cooling)
	require.True(t, p.finished)
	closed := Length{WarmupS: 1, Duration: 2, Queries: 30, Longest: 10}.plan(Concurrency, 2, 0)
	look := func(seconds float64, ended int) {
		closed.ended = ended
		closed.look(100*s, 100*s+int64(seconds*float64(s)))
	}
	look(1, 2)
	require.Equal(t, 101*s, closed.counted.FromNS)
	look(2.9, 32)
	require.Zero(t, closed.counted.ToNS, "enough answers, but not enough time")
	look(10.9, 31)
	require.Zero(t, closed.counted.ToNS, "29 answers are too few")
	look(11, 31)
	require.Equal(t, 111*s, closed.counted.ToNS, "the longest time is over")
}

// The window of a rate is known even if no query was due at its end. That of a closed loop is empty then.
func TestWindowsOfLoadsThatEndEarly(t *testing.T) {
	n := Length{WarmupS: 1, Duration: 2, Queries: 1, Longest: 10}
	var sent run.Probe
	require.Equal(t, Window{101 * s, 103 * s}, n.plan(Rate, 4, 0).end(100*s, &sent))
	require.Empty(t, sent.Causes)
	p := n.plan(Concurrency, 4, 0)
	p.counted = Window{101 * s, 104 * s}
	require.Equal(t, Window{101 * s, 104 * s}, p.end(100*s, &sent))
	require.Empty(t, sent.Causes)
	for range 2 {
		p.counted.ToNS = 0
		require.Equal(t, Window{101 * s, 101 * s}, p.end(100*s, &sent))
		require.Len(t, sent.Causes, 1, "another cause explains it")
		require.Equal(t, record.CodeFailedSamples, sent.Causes[0].Code)
	}
}

// A cause that the load itself does not explain is a reason to measure again.
func TestOverloads(t *testing.T) {
	cause := func(codes ...record.Code) (list []record.Cause) {
		for _, c := range codes {
			list = append(list, record.Cause{Code: c})
		}
		return list
	}
	require.False(t, overloads(nil))
	require.False(t, overloads(cause("clock_step")))
	require.True(t, overloads(cause(record.CodeFailedSamples)))
	require.True(t, overloads(cause("clock_step", record.CodeClientLag)))
	require.False(t, idleFails(1, cause("clock_step")))
	require.False(t, idleFails(1, nil))
	require.True(t, idleFails(0, nil))
	require.True(t, idleFails(-1, nil))
	require.True(t, idleFails(1, cause(record.CodeFailedSamples)))
}

// Only a point that something else spoiled is measured again, twice at most.
func TestPointsThatAreRepeated(t *testing.T) {
	for n, want := range map[int]bool{0: true, 1: true, mostRepeats: false, mostRepeats + 1: false} {
		p := point(1, 1, 1, 1, "clock_step")
		require.Equal(t, want, p.repeats(n), n)
	}
	for _, spoiled := range [][]record.Code{nil, {record.CodeFailedSamples}, {record.CodeClientLag},
		{"clock_step", record.CodeFailedSamples}} {
		p := point(1, 1, 1, 1, spoiled...)
		require.False(t, p.repeats(0), spoiled)
	}
}

// A cell of the CSV has the exact figure, and none where there is no measurement.
func TestExactFigures(t *testing.T) {
	third := 1.0 / 3
	require.Equal(t, []string{"0.3333333333333333", "", "0.25", ""}, []string{exactIf(&third), exactIf(nil),
		exactOf(&ledger.Stats{P50: 0.25}, median), exactOf(nil, median)})
	p := point(1, 1, 1, 1)
	p.Met, p.GoodputPerS = &third, &third
	var b strings.Builder
	require.NoError(t, state(p, point(2, 1, 1, 1)).WriteCSV(&b))
	require.Equal(t, 2, strings.Count(b.String(), ",0.3333333333333333"))
}

// A list ends without words about why, and an automatic sweep without a result too.
func TestSentenceOfAnUnfinishedSweep(t *testing.T) {
	st := state(point(1, 100, 100, 1))
	st.Auto = true
	const fastest = "The highest throughput is 100 output tokens/s at 1 in flight."
	require.Equal(t, fastest, st.Sentence())
	st.finish("it is over")
	require.Equal(t, fastest+" The sweep ended because it is over.", st.Sentence())
	var text strings.Builder
	require.NoError(t, state(point(1, 100, 100, 1)).WriteTable(&text))
	require.NotContains(t, text.String(), "\n\n\n")
}

func loads(s *State) (list []float64) {
	for _, p := range s.Points {
		list = append(list, p.Load)
	}
	return list
}

// The front of any points is what a comparison of all pairs finds, whatever their order.
func TestFrontOfRandomPoints(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		points := make([]Point, 1+random.IntN(8))
		for i := range points {
			points[i] = point(float64(i+1), float64(random.IntN(4)), float64(1+random.IntN(4)), 1)
			if random.IntN(5) == 0 {
				points[i].Spoiled = []record.Cause{{Code: record.CodeClientLag}}
			}
			points[i].Front = random.IntN(2) == 0 // of an earlier look
		}
		markFront(points)
		type pair struct{ user, all float64 }
		front, best := map[pair]int{}, map[pair]bool{}
		for _, p := range points {
			if p.Front {
				front[pair{p.PerUser, p.PerAccelerator}]++
			}
			beaten := slices.ContainsFunc(points, func(o Point) bool {
				return o.counts() && o.PerUser >= p.PerUser && o.PerAccelerator >= p.PerAccelerator &&
					(o.PerUser > p.PerUser || o.PerAccelerator > p.PerAccelerator)
			})
			if p.counts() && p.PerUser > 0 && !beaten {
				best[pair{p.PerUser, p.PerAccelerator}] = true
			}
		}
		require.Len(t, front, len(best), "%+v", points)
		for at, n := range front {
			require.True(t, best[at], "%+v", points)
			require.Equal(t, 1, n, "one of equal points")
		}
	}
}

// Rates that the program chooses have three digits, within the bounds of a rate.
func TestRatesOfThreeDigits(t *testing.T) {
	for v, want := range map[float64]float64{1234: 1230, 1235: 1240, 0.012345: 0.0123, 99.96: 100, 1: 1, 5.555: 5.56,
		1e-9: minRate, 1e9: MaxRate, 0.5 / 7: 0.0714} {
		require.Equal(t, want, shortRate(v), v)
	}
	st := state()
	st.Auto, st.Load, st.IdleAnswerS = true, Rate, 0.3
	load, more, _ := st.next()
	require.True(t, more)
	require.Equal(t, 1.67, load, "half a query in flight")
	st.IdleAnswerS = 0
	load, more, _ = st.next()
	require.True(t, more)
	require.Equal(t, 5e4, load, "an idle server that answers at once")
}

// The knee lies between the last load that the server kept up with and the next, and is measured once.
func TestKnee(t *testing.T) {
	for _, c := range []struct {
		kind            Kind
		low, high, want float64
	}{
		{Concurrency, 4, 8, 6}, {Concurrency, 1, 2, 0}, {Concurrency, 2, 4, 3}, {Concurrency, 8, 16, 11}, {Rate, 1, 2, 1.41},
		{Rate, 100, 200, 141}, {Rate, 0.1, 0.8, 0.283},
	} {
		st := state()
		st.Load = c.kind
		got, more, why := st.knee(c.low, c.high)
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.want > 0, more, "%+v", c)
		if !more {
			require.Equal(t, "the server is saturated at "+c.kind.Text(c.high), why)
			continue
		}
		p := point(got, 1, 1, 1)
		st.add(&p)
		_, more, _ = st.knee(c.low, c.high)
		require.False(t, more, "%+v", c)
	}
}

// The server sent the tokens of an answer between its first and its last token. An answer that came as a whole counts
// when it ended.
func TestTokensInTheWindow(t *testing.T) {
	w := Window{10 * s, 20 * s}
	for _, c := range []struct {
		first, last, done int64 // 0: unknown
		want              float64
	}{
		{12, 17, 17, 10}, {5, 15, 15, 5}, {15, 25, 25, 5}, {5, 25, 25, 5}, {1, 9, 9, 0}, {21, 22, 22, 0}, {10, 20, 20, 10},
		{0, 15, 15, 10}, {0, 0, 15, 10}, {0, 0, 25, 0}, {0, 0, 9, 0}, {0, 0, 10, 10}, {0, 0, 20, 0}, {12, 0, 22, 8},
		{15, 15, 15, 10}, {20, 20, 20, 0}, {10, 10, 10, 10}, {16, 15, 15, 10},
	} {
		e := ledger.Entry{FirstTokenNS: c.first * s, LastTokenNS: c.last * s, DoneNS: c.done * s, OutputTokens: 10}
		require.InDelta(t, c.want, w.Tokens(&e), 1e-9, "%+v", c)
		e.Reason = 1
		require.Zero(t, w.Tokens(&e), "%+v failed", c)
	}
}

// The settings that a sweep makes itself do not belong to its terms.
func TestSettingsOfASweep(t *testing.T) {
	p, err := plan.New(plan.Settings{"model": "generic", "scenario": "Server", "endpoint": "http://a:1",
		"served-model": "m", "target-qps": "5", "output-dir": "x", "resume": "true", "force": "true", "max-tokens": "8"})
	require.NoError(t, err)
	settings := strings.Join(study.Settings(p, made), " ")
	require.Contains(t, settings, "--max-tokens=8")
	for _, name := range []string{"target-qps", "output-dir", "resume", "force"} {
		require.NotContains(t, settings, "--"+name)
	}
}

// A result names the points of the front by their indices, and counts the others.
func TestResultOfASweep(t *testing.T) {
	st := state(point(1, 100, 100, 1), point(2, 90, 90, 1), point(4, 80, 180, 1), point(8, 60, 400, 1, "clock_step"))
	st.finish("it is over")
	require.Equal(t, &Result{Stopped: "it is over", Counted: 3, Spoiled: 1, Front: []int{0, 2}}, st.Result)
}

// A load saturates the server if it brings less than a tenth more than the best one before, and its median answer takes
// more than half as long again.
func TestLoadsThatSaturate(t *testing.T) {
	for _, c := range []struct {
		all, answer float64
		saturated   bool
	}{
		{10, 2, true}, {10.99, 1.51, true}, {11, 2, false}, {10.99, 1.5, false}, {10.99, .5, false}, {20, 1, false},
	} {
		st := state(point(1, 1, 10, 1), point(2, 1, c.all, c.answer))
		st.Auto = true
		_, more, why := st.next()
		require.Equal(t, c.saturated, !more, "%+v: %s", c, why)
	}
	silent := state(point(1, 1, 0, 1)) // no answer ended
	silent.Auto = true
	load, more, _ := silent.next()
	require.True(t, more)
	require.Equal(t, 2., load)
}
