package tune

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/earlystop"
	"github.com/mlperf-go/mlperf-go/internal/schedule"
)

// A virtual server answers queries in virtual time. In each shape, latencies grow for another reason.
type shape struct {
	name       string
	ttft, tpot float64 // limits in s; 0: no limit
	slots      int     // sequences that run at the same time
	base, per  float64 // s for a token: base + per*running
	noise      float64 // deviation of the speed, as a share; it changes every 5 s
	meanTokens float64
	spread     float64 // deviation of the logarithm of the answers' lengths
}

var shapes = []shape{
	{name: "sharp knee", ttft: 0.5, tpot: 0.1, slots: 256, base: 0.02, noise: 0.01, meanTokens: 128, spread: 0.5},
	{name: "soft knee", ttft: 2, tpot: 0.1, slots: 4096, base: 0.02, per: 0.0001, noise: 0.01, meanTokens: 128,
		spread: 0.6},
	{name: "noisy", ttft: 2, tpot: 0.1, slots: 4096, base: 0.02, per: 0.0001, noise: 0.04, meanTokens: 128, spread: 0.6},
}

// virtual is one server. Its random sequence continues from probe to probe.
type virtual struct {
	shape
	rng  *rand.Rand
	now  float64 // virtual time spent, in s
	next int     // sample that the next closed loop begins with
}

type sequence struct {
	seq        int
	ends       float64 // on the clock of tokens
	due, first float64
	tokens     float64
}

type running []*sequence

func (r running) Len() int           { return len(r) }
func (r running) Less(i, j int) bool { return r[i].ends < r[j].ends }
func (r running) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *running) Push(x any)        { *r = append(*r, x.(*sequence)) }
func (r *running) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// engine is the state of the server during one probe.
type engine struct {
	*virtual
	at, tokens float64 // s, tokens
	speed      float64
	speedUntil float64
	active     running
	queue      []*sequence
}

func (e *engine) perToken() float64 { return (e.base + e.per*float64(len(e.active))) / e.speed }

// until runs the engine to a time, or to the next end if that is earlier, and returns the reached time.
func (e *engine) until(t float64) *sequence {
	for {
		if e.at >= e.speedUntil {
			e.speed = 1
			if e.noise > 0 {
				e.speed = math.Exp(e.noise * e.rng.NormFloat64())
			}
			e.speedUntil = e.at + 5
		}
		stop := min(t, e.speedUntil)
		if len(e.active) > 0 {
			if end := e.at + max(0, e.active[0].ends-e.tokens)*e.perToken(); end <= stop {
				e.at, e.tokens = end, e.active[0].ends
				s := heap.Pop(&e.active).(*sequence)
				e.admit()
				return s
			}
		}
		if !math.IsInf(stop, 1) {
			e.tokens += (stop - e.at) / e.perToken()
			e.at = stop
		}
		if e.at >= t {
			return nil
		}
	}
}

func (e *engine) admit() {
	for len(e.active) < e.slots && len(e.queue) > 0 {
		s := e.queue[0]
		e.queue = e.queue[1:]
		s.first = e.at + 0.05
		s.ends = e.tokens + s.tokens
		heap.Push(&e.active, s)
	}
}

func (e *engine) arrive(s *sequence) {
	e.queue = append(e.queue, s)
	e.admit()
}

func (v *virtual) engine() *engine { return &engine{virtual: v, speed: 1, speedUntil: 0} }

const officialSeed = 16159082839903944936

// otherLengths is the deviation of the logarithm of answers' lengths between a probe and the run at the same place,
// because a probe sends another sample of about the same expected length.
const otherLengths = 0.02

// length returns the tokens of the answer to a query of the run, whose samples come in LoadGen's order.
func (v *virtual) length(query int, other float64) float64 {
	fixed := rand.New(rand.NewPCG(uint64(query), 3)).NormFloat64()*v.spread - v.spread*v.spread/2
	return max(2, math.Round(math.Exp(fixed+other*v.rng.NormFloat64())*v.meanTokens))
}

// outcome is the end of one query.
type outcome struct {
	seq        int
	at         float64 // when it ended
	ttft, tpot float64
	reply      reply
}

// outcome returns the end of a query of the run.
func (e *engine) outcome(s *sequence, query int) outcome {
	return outcome{s.seq, e.at, s.first - s.due, (e.at - s.first) / (s.tokens - 1),
		reply{query, s.due, s.first, e.at, int(s.tokens)}}
}

// serve processes arrivals, and calls ended at each end. If ended returns false, no further query is issued.
func (v *virtual) serve(arrivals []Arrival, other float64, ended func(o outcome) bool) {
	e := v.engine()
	more := true
	report := func(s *sequence) {
		if !ended(e.outcome(s, arrivals[s.seq].Query)) {
			more = false
		}
	}
	for i := 0; i < len(arrivals) && more; i++ {
		due := float64(arrivals[i].AtNS) / 1e9
		for s := e.until(due); s != nil && more; s = e.until(due) {
			report(s)
		}
		if more {
			e.arrive(&sequence{seq: i, due: due, tokens: v.length(arrivals[i].Query, other)})
		}
	}
	for len(e.active) > 0 {
		if s := e.until(math.Inf(1)); s != nil {
			report(s)
		}
	}
	v.now += e.at
}

// values returns the outcome as the values of the limits of a goal.
func (o outcome) values() []time.Duration {
	return []time.Duration{seconds(o.ttft), seconds(o.tpot)}
}

func (sh shape) goal() *Goal {
	return &Goal{Percentile: 0.99, Confidence: 0.95,
		Limits: []Limit{{TTFT, seconds(sh.ttft)}, {TPOT, seconds(sh.tpot)}},
		Load:   schedule.Load{Seed: officialSeed, MinDuration: 600 * time.Second, MinQueries: 100}}
}

// measure performs a step in virtual time.
func (v *virtual) measure(g *Goal, step Step) Measured {
	from := v.now
	m := Measured{Kind: step.Kind, Rate: step.Rate, Concurrency: step.Concurrency}
	switch step.Kind {
	case Idle, Saturate:
		v.closed(g, step, &m)
	case Confirm:
		v.confirm(g, step, &m)
	default:
		v.probe(g, step, &m)
	}
	m.Took = seconds(v.now - from)
	return m
}

// probe sends the hardest parts of the schedule, until the meter decides.
func (v *virtual) probe(g *Goal, step Step, m *Measured) {
	arrivals := Hardest(schedule.ServerDeltas(officialSeed, step.Rate, g.Queries(step.Rate)), int64(step.Answer),
		step.Queries)
	v.send(g, step, m, arrivals, otherLengths)
}

// confirm sends a run of the full length.
func (v *virtual) confirm(g *Goal, step Step, m *Measured) {
	if g.Offline {
		loop := Step{Concurrency: step.InFlight, Queries: g.Queries(step.Rate)}
		from := v.now
		v.closed(g, loop, m)
		m.Answers = float64(loop.Queries) / (v.now - from)
		m.Valid, m.Counts = v.now-from >= g.Load.MinDuration.Seconds(), nil
		return
	}
	var arrivals []Arrival
	for i, d := range schedule.ServerDeltas(officialSeed, step.Rate, g.Queries(step.Rate)) {
		arrivals = append(arrivals, Arrival{AtNS: d, Query: i, Counted: true})
	}
	v.send(g, step, m, arrivals, 0)
	m.Valid = valid(g, m.Counts)
}

// send serves arrivals, and counts and judges them like bench.
func (v *virtual) send(g *Goal, step Step, m *Measured, arrivals []Arrival, other float64) {
	meter := NewMeter(g, step.Rate, arrivals)
	values := make([][]time.Duration, len(g.Limits))
	decision := Neither
	var replies []reply
	v.serve(arrivals, other, func(o outcome) bool {
		meter.Ended(o.seq, o.values())
		replies = append(replies, o.reply)
		for i := range values {
			values[i] = append(values[i], o.values()[i])
		}
		if step.Kind == Rate && decision == Neither && !step.Whole {
			decision = meter.Decide()
		}
		return decision == Neither
	})
	if step.Kind == Rate {
		m.Decision = meter.Final(decision)
	}
	m.Counts = meter.Counts()
	m.learn(g, replies)
	for _, list := range values {
		m.Medians = append(m.Medians, quantile(list, 0.5).Seconds())
		m.Tails = append(m.Tails, quantile(list, g.Percentile).Seconds())
	}
}

func valid(g *Goal, counts []Count) bool {
	for _, c := range counts {
		if c.Late > earlystop.Bearable(g.Percentile, c.Queries) {
			return false
		}
	}
	return true
}

// closed keeps a number of queries in flight.
func (v *virtual) closed(g *Goal, step Step, m *Measured) {
	e := v.engine()
	meter := NewMeter(g, 100, everyCounted(4*step.Queries))
	issued, ended, settled := 0, 0, 0.0
	var took []float64
	var replies []reply
	var ttfts, tpots []time.Duration
	for ended < step.Queries {
		for issued < step.Queries+step.Concurrency && issued-ended < step.Concurrency {
			e.arrive(&sequence{seq: issued, due: e.at, tokens: v.length(v.next+issued, otherLengths)})
			issued++
		}
		s := e.until(math.Inf(1))
		o := e.outcome(s, v.next+s.seq)
		replies = append(replies, o.reply)
		meter.Ended(s.seq, o.values()[:len(g.Limits)])
		ttfts, tpots = append(ttfts, seconds(o.ttft)), append(tpots, seconds(o.tpot))
		took = append(took, e.at-s.due)
		if ended++; ended == step.Queries/3 {
			settled = e.at
		}
	}
	slices.Sort(took)
	m.Answer = seconds(took[len(took)/2])
	m.Answers = float64(ended-step.Queries/3) / (e.at - settled)
	m.Counts = meter.Counts()
	m.Medians = []float64{quantile(ttfts, 0.5).Seconds(), quantile(tpots, 0.5).Seconds()}
	m.learn(g, replies)
	v.now += e.at
	v.next += issued
}

// everySample is the order of samples of the virtual server: each query of a run sends its own.
func everySample(queries int) []int {
	order := make([]int, queries)
	for i := range order {
		order[i] = i
	}
	return order
}

// tuneVirtually runs a search to its end, and also returns its measurements and the virtual time in s.
func tuneVirtually(sh shape, seed uint64) (*Outcome, []Measured, float64) {
	return searchVirtually(sh, sh.goal(), seed)
}

func searchVirtually(sh shape, g *Goal, seed uint64) (*Outcome, []Measured, float64) {
	v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(seed, 7))}
	s := NewSearch(g, everySample)
	for step := s.Next(); step.Kind != Finished; step = s.Next() {
		s.Observe(v.measure(g, step))
	}
	return s.Outcome(), s.measured, v.now
}

// highestValid returns the highest rate at which at least half of 20 full-length runs are valid.
func highestValid(sh shape, runs int) float64 {
	g := sh.goal()
	good := func(rate float64) bool {
		n := 0
		for seed := range uint64(runs) {
			v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(seed, 11))}
			if v.measure(g, Step{Kind: Confirm, Rate: rate}).Valid {
				n++
			}
		}
		return 2*n >= runs
	}
	low, high := 1.0, 100.0
	for high/low > 1.002 {
		if mid := math.Sqrt(low * high); good(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// tally contains the results of the tunes of one shape.
type tally struct {
	tunes, confirmed, within, confirms, failed int
	farthest                                   float64 // from the highest valid rate, as a share
	seconds                                    float64
}

// firstSeed is the first seed of the tunes in the published figures. The search was adjusted on lower seeds.
const firstSeed = 10_000

func tuneShape(sh shape, tunes int) tally {
	truth, c := highestValid(sh, 20), tally{tunes: tunes}
	for seed := range uint64(tunes) {
		o, steps, took := tuneVirtually(sh, firstSeed+seed)
		for _, m := range steps {
			if m.Kind == Confirm {
				c.confirms++
				if !m.Valid {
					c.failed++
				}
			}
		}
		c.seconds += took
		if !o.Confirmed {
			continue
		}
		c.confirmed++
		off := math.Abs(o.Rate/truth - 1)
		c.farthest = max(c.farthest, off)
		if off <= 0.03 {
			c.within++
		}
	}
	return c
}

// bisection is the duration of a search without probes: full-length runs, with the answers after the last query, until
// the rate is known to 1 % of the capacity.
func bisection(g *Goal, capacity float64) float64 {
	const runs, answers = 7, 10 // 2^7 > 100
	return runs * (g.Duration(capacity).Seconds() + answers)
}

// plainSweep is the duration of a sweep by full-length runs: from half of the capacity on, at rates 3 % apart, which is
// the intended accuracy of a tune.
func plainSweep(g *Goal, capacity float64) float64 {
	const runs, answers = 24, 10 // 1.03^24 > 2
	return runs * (g.Duration(capacity).Seconds() + answers)
}

// TestVirtualTunes searches in virtual time with the code that decides in a real tune. TUNE_BENCH=N searches with N
// seeds: 50 for the figures of docs/explanation/tuning.md, and a few in make bench.
func TestVirtualTunes(t *testing.T) {
	tunes := 4
	if n, err := strconv.Atoi(os.Getenv("TUNE_BENCH")); err == nil {
		tunes = n
	}
	for _, sh := range shapes {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			c := tuneShape(sh, tunes)
			mean := c.seconds / float64(c.tunes)
			share := mean / bisection(sh.goal(), 60)
			fmt.Printf("tune %s: %d tunes, %d confirmed, %d within 3 %%, farthest %.1f %%; %d of %d confirmations failed; "+
				"%.0f %% of the time of bisection\n", sh.name, c.tunes, c.confirmed, c.within, 100*c.farthest, c.failed,
				c.confirms, 100*share)
			fmt.Printf("MEASURED tune/%[1]s/bisection %.3[2]f x\nMEASURED tune/%[1]s/sweep %.3[3]f x\n",
				strings.ReplaceAll(sh.name, " ", "-"), share, mean/plainSweep(sh.goal(), 60))
			require.Equal(t, c.tunes, c.confirmed)
			require.Less(t, c.farthest, 0.15)
			require.GreaterOrEqual(t, 4*c.within, 2*c.tunes, "at least half are within 3 %")
			require.LessOrEqual(t, 2*c.failed, c.confirms)
			require.Less(t, share, 0.6)
		})
	}
}

// If the idle server misses a limit, no rate meets it, and the search ends.
func TestHopelessLimit(t *testing.T) {
	sh := shapes[0]
	sh.ttft = 0.01
	o, steps, _ := tuneVirtually(sh, 1)
	require.False(t, o.Confirmed)
	require.Contains(t, o.Why, "no rate meets the limit: the time to first token is 50ms with one query at a time")
	require.Len(t, steps, 1)
}

// A server that answers all requests at once is never saturated.
func TestNeverSaturated(t *testing.T) {
	sh := shape{name: "endless", ttft: 10, tpot: 1, slots: math.MaxInt, base: 0.02, meanTokens: 10}
	o, _, _ := tuneVirtually(sh, 1)
	require.False(t, o.Confirmed)
	require.Contains(t, o.Why, "the server was not saturated by")
}

// The search is a function of its measurements: after the same ones it does the same step.
func TestSearchContinuesFromItsMeasurements(t *testing.T) {
	for _, sh := range []shape{shapes[0], shapes[2]} {
		_, steps, _ := tuneVirtually(sh, 3)
		again := NewSearch(sh.goal(), everySample)
		for _, m := range steps {
			text, err := json.Marshal(m)
			require.NoError(t, err)
			read := Measured{}
			require.NoError(t, json.Unmarshal(text, &read))
			if m.Kind == Rate {
				require.NoError(t, read.check(2))
			}
			step := again.Next()
			require.Equal(t, m.Kind, step.Kind)
			require.Equal(t, m.Rate, step.Rate)
			again.Observe(read)
		}
		require.Equal(t, Finished, again.Next().Kind)
	}
}

// A run of the full length counts for more independent bursts than a probe of its hardest part, so the same late
// queries result in a narrower interval.
func TestARunIsWorthMoreThanAProbe(t *testing.T) {
	width := func(kinds ...Kind) float64 {
		s := NewSearch(shape{ttft: 2, tpot: 0.1}.goal(), everySample)
		s.capacity, s.met = 100, 100
		for _, k := range kinds {
			full := 0.01 * float64(s.goal.Queries(50)) // as many late queries as a valid run may have
			s.measured = append(s.measured, Measured{Kind: k, Rate: 50, Counts: []Count{{Full: full}, {Full: full}}})
		}
		s.draw(10)
		return s.quantile(0.9) - s.quantile(0.1)
	}
	require.Less(t, width(Confirm, Confirm), 0.9*width(Rate, Rate))
	require.Less(t, width(Rate, Rate), 0.9*width(Rate), "one count alone may be stray")
	require.Less(t, width(Rate), width(Reference), "a reference probe tells of drift only")
}

// Between two closed loops, the median and the time of a query grow linearly with the requests in flight: half-way, 200
// requests in flight take 3.5 s each.
func TestThroughputAtTheLimit(t *testing.T) {
	s := NewSearch(&Goal{Limits: []Limit{{TTFT, time.Minute}, {TPOT, 2 * time.Second}}}, everySample)
	met := &Measured{Concurrency: 100, Answers: 50, Medians: []float64{1, 1}}
	full := &Measured{Concurrency: 300, Answers: 60, Medians: []float64{1, 3}}
	require.InDelta(t, 200/3.5, s.atLimit(met, full), 1e-9)
	full.Medians[1] = 1.5
	require.InDelta(t, 60, s.atLimit(met, full), 1e-9, "no limit is reached")
}

func TestDriftEndsTheSearch(t *testing.T) {
	sh := shapes[0]
	v := &virtual{shape: sh, rng: rand.New(rand.NewPCG(1, 7))}
	g := sh.goal()
	s := NewSearch(g, everySample)
	for step := s.Next(); step.Kind != Finished; step = s.Next() {
		s.Observe(v.measure(g, step))
		if step.Kind == Reference {
			v.base *= 1.5
		}
	}
	require.False(t, s.Outcome().Confirmed)
	require.Contains(t, s.Outcome().Why, "the server drifts: at the same load its pace has changed by +")
}
