package search

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// server answers a measurement: the share of requests that miss the limit at a load.
type server func(load float64) float64

// knee is a server whose misses cross the allowed share of 1 % at a rate.
func knee(at float64) server {
	const slope = 40
	return func(load float64) float64 {
		odds := math.Log(0.01/0.99) + slope*math.Log(load/at)
		return 1 / (1 + math.Exp(-max(-30, min(30, odds))))
	}
}

// start returns a new search of a percentile of 99.
func start(kind Kind, from float64) *State {
	t := Defaults()
	t.From, t.To = from, kind.most()
	return &State{Load: kind, Terms: t, Limits: []measure.Limit{{Metric: "ttft", Percent: 99, Below: time.Second}}}
}

// play makes the measurements of a search in virtual time. spoil may change one.
func play(t *testing.T, s *State, of server, r *rand.Rand, spoil func(n int, p *Probe)) *Result {
	for n := range 100 {
		step, done := s.Next()
		if done != nil {
			s.Result = done
			return done
		}
		p := Probe{Load: step.Load, Confirm: step.Confirm, TookS: step.Length.Seconds(), Missed: []int64{0},
			Verdict: record.Valid, RequestsPerS: step.Load}
		p.Requests = int64(step.Load * step.Length.Seconds())
		share := of(step.Load)
		for range p.Requests {
			if r.Float64() < share {
				p.Missed[0]++
			}
		}
		p.Met = float64(p.Missed[0]) <= 0.01*float64(p.Requests)
		if spoil != nil {
			spoil(n, &p)
		}
		s.Probes = append(s.Probes, p)
	}
	t.Fatalf("the search does not end: %+v", s.Probes)
	return nil
}

// TestFindsTheKnee searches 300 servers in virtual time. A confirmed load is never far above the knee, and the found
// ones are within 2 % of it in 95 % of the searches.
func TestFindsTheKnee(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const searches = 300
	near, measurements := 0, 0
	for range searches {
		at := math.Exp(r.Float64()*6 + 1) // 2.7 to 1,100 requests/s
		s := start(Rate, math.Exp(r.Float64()*6+1))
		done := play(t, s, knee(at), r, nil)
		require.True(t, done.Confirmed, "%+v", done)
		require.Less(t, done.Load, 1.04*at)
		require.LessOrEqual(t, done.Load, done.Missed)
		require.NotContains(t, s.Sentence(), "%!")
		if math.Abs(done.Load/at-1) <= 0.02 {
			near++
		}
		measurements += len(s.Probes)
	}
	t.Logf("%d of %d within 2 %%, %.1f measurements each", near, searches, float64(measurements)/searches)
	require.GreaterOrEqual(t, near, searches*90/100)
	require.Less(t, measurements, 20*searches)
}

// TestConcurrency finds the exact number of users.
func TestConcurrency(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := start(Concurrency, 4)
	done := play(t, s, func(load float64) float64 { return map[bool]float64{true: 0, false: 0.5}[load <= 37] }, r, nil)
	require.True(t, done.Confirmed)
	require.Equal(t, 37.0, done.Load)
	require.Equal(t, 38.0, done.Missed)
	require.Equal(t, "37 in flight, confirmed by a valid run; 38 in flight misses the limits", s.Sentence())
}

// TestEnds is how searches end that confirm nothing, or less than the server's limit.
func TestEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	always := func(float64) float64 { return 0 }
	const slowAt20 = "10 requests/s, confirmed by a valid run; this client was too slow at 20 requests/s, so the " +
		"server's limit may be higher"
	for name, c := range map[string]struct {
		of        server
		change    func(*State)
		spoil     func(n int, p *Probe)
		confirmed bool
		want      string
	}{
		"no load": {of: func(float64) float64 { return 1 }, change: func(s *State) { s.Load = Concurrency },
			want: "no load was confirmed: even 1 in flight misses the limits"},
		"slow client at every load": {of: always, change: func(s *State) { s.Load, s.Terms.From = Concurrency, 2 },
			spoil: func(_ int, p *Probe) { p.Client = true },
			want:  "no load was confirmed: this client was too slow even for 1 in flight"},
		"highest load": {of: always, change: func(s *State) { s.Terms.To = 50 }, confirmed: true,
			want: "50 requests/s, confirmed by a valid run; the server met the limits at the highest load, 50 requests/s"},
		"slow client": {of: always, confirmed: true, spoil: func(_ int, p *Probe) { p.Client = p.Load >= 40 },
			want: "20 requests/s, confirmed by a valid run; this client was too slow at 40 requests/s, so the server's limit " +
				"may be higher"},
		"once slow": {of: knee(30), confirmed: true, spoil: func(n int, p *Probe) { p.Client = n == 1 },
			want: "confirmed by a valid run"},
		"slow client after unclear counts": {of: knee(30), confirmed: true, spoil: func(n int, p *Probe) {
			switch { // 5 of 1,000 is neither met nor missed
			case p.Load == 20 && n == 1:
				p.Requests, p.Missed[0] = 1000, 5
			case p.Load == 20:
				p.Client, p.Met = true, false
			}
		}, want: slowAt20},
		"client too slow for full-length runs": {of: always, confirmed: true, change: func(s *State) { s.Terms.To = 20 },
			spoil: func(_ int, p *Probe) {
				if p.Confirm && p.Load > 10 {
					p.Client, p.Met = true, false
				}
			}, want: slowAt20},
		"broken": {of: always, spoil: func(_ int, p *Probe) {
			p.Broken, p.Reasons = true, []record.Cause{{Code: "clock", Text: "the clock was set"}}
		}, want: "no load was confirmed: 3 measurements in a row were spoiled: the clock was set"},
		"full-length runs miss": {of: knee(30), spoil: func(_ int, p *Probe) { p.Met = p.Met && !p.Confirm },
			want: "no load was confirmed: 4 full-length runs missed the limits that shorter ones met"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(Rate, 10)
			if c.change != nil {
				c.change(s)
			}
			done := play(t, s, c.of, r, c.spoil)
			require.Equal(t, c.confirmed, done.Confirmed)
			require.Contains(t, s.Sentence(), c.want)
		})
	}
}

// TestContradiction measures a load again that missed a limit, if a higher load meets it.
func TestContradiction(t *testing.T) {
	s := start(Rate, 20)
	add := func(load float64, missed int64) {
		s.Probes = append(s.Probes, Probe{Load: load, Requests: 1000, Missed: []int64{missed}, Met: missed <= 10})
	}
	add(20, 500)
	add(40, 0)
	step, done := s.Next()
	require.Nil(t, done)
	require.Equal(t, 20.0, step.Load)
	add(20, 0)
	add(20, 0)
	b := s.bracket()
	require.Equal(t, bracket{high: 20}, b, "500 of 3,000 requests missed it, and it was measured often enough")
}

// TestDecide compares decisions with probabilities of the binomial distribution.
func TestDecide(t *testing.T) {
	p99, all := measure.Limit{Percent: 99}, measure.Limit{Percent: 100}
	for _, c := range []struct {
		of               measure.Limit
		requests, missed int64
		want             Decision
	}{
		{p99, 298, 0, Unclear}, // 0.99^298 = 0.0500
		{p99, 299, 0, Meets},   // 0.99^299 = 0.0495
		{p99, 1000, 4, Meets},  // P(X <= 4) = 0.0287
		{p99, 1000, 5, Unclear},
		{p99, 1000, 15, Unclear}, // P(X >= 15) = 0.0829
		{p99, 1000, 16, Misses},  // P(X >= 16) = 0.0479
		{p99, 0, 0, Unclear},
		{p99, 1, 1, Misses},
		{all, 10, 0, Meets},
		{all, 10, 1, Misses},
	} {
		require.Equal(t, c.want, decide(c.of, c.requests, c.missed, 0.95), "%d of %d", c.missed, c.requests)
	}
	require.Equal(t, 299.0, enough([]measure.Limit{all, p99, {Percent: 90}}, 0.95))
}
