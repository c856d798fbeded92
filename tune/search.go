package tune

import (
	"fmt"
	"math"
	"time"
)

// Kind is the kind of a step.
type Kind string

// The steps of a search, in the order of their first occurrence.
const (
	Idle      Kind = "idle"      // one query at a time: the lowest latencies, whatever the rate
	Saturate  Kind = "saturate"  // a closed loop: the server's capacity
	Reference Kind = "reference" // always the same load, to detect drift of the server
	Rate      Kind = "rate"      // LoadGen's schedule at a rate
	Confirm   Kind = "confirm"   // a LoadGen run of the full length
	Finished  Kind = "finished"
)

// Step is what to measure next.
type Step struct {
	Kind        Kind
	Rate        float64       // queries per second of Reference, Rate and Confirm
	Concurrency int           // of Idle and Saturate
	Queries     int           // maximum
	Answer      time.Duration // of Reference and Rate: how long an answer takes under load
	InFlight    int           // of Confirm in Offline: requests in flight
	Whole       bool          // of Rate: whether the probe goes on when it has decided
}

// String returns the kind and the load of a step.
func (s Step) String() string {
	if s.Concurrency > 0 {
		return fmt.Sprintf("%s: %d in flight", s.Kind, s.Concurrency)
	}
	return fmt.Sprintf("%s: %.4g queries per second", s.Kind, s.Rate)
}

// Measured is what a step has measured.
type Measured struct {
	Kind        Kind          `json:"kind"`
	Rate        float64       `json:"rate,omitempty"`
	Concurrency int           `json:"concurrency,omitempty"`
	Decision    Decision      `json:"decision,omitempty"`
	Counts      []Count       `json:"counts,omitempty"`        // by limit
	Answers     float64       `json:"answers_per_s,omitempty"` // of a closed loop, and of Confirm in Offline
	Medians     []float64     `json:"medians_s,omitempty"`     // by limit
	Tails       []float64     `json:"tails_s,omitempty"`       // by limit: the percentile that is limited
	Answer      time.Duration `json:"answer_ns,omitempty"`     // median time of a whole answer
	Took        time.Duration `json:"took_ns"`
	Valid       bool          `json:"valid,omitempty"` // of Confirm
	Paces       []Pace        `json:"paces,omitempty"` // by window, if the time per token is limited
	Extra       float64       `json:"extra_tokens,omitempty"`
	First       float64       `json:"first_token_s,omitempty"` // median time to the first token, likewise
	Lengths     Lengths       `json:"lengths,omitempty"`       // of the answers, likewise
}

// learn adds what the replies of a step show of the server's pace.
func (m *Measured) learn(g *Goal, replies []reply) {
	if m.Kind != Confirm && g.window() > 0 {
		m.Paces, m.Extra = pacesOf(replies, m.Concurrency, g.window())
		m.Lengths, m.First = lengthsOf(replies), firstToken(replies)
	}
}

// Settings of the search.
const (
	idleQueries      = 8
	firstConcurrency = 16
	concurrencyStep  = 4
	mostConcurrency  = 16384
	saturatedGain    = 1.15 // factor of answers per second with four times the concurrency
	aboveCapacity    = 1.1  // a run ends before its queue is endless, and the measurement of the capacity is short
	leastShare       = 1e-3 // share of the capacity: the lowest rate that the search tries
	belowCapacity    = 0.3
	referenceShare   = 0.5 // share of the capacity
	referenceQueries = 64
	shortRun         = 1000 // queries: a shorter run is probed as a whole, because it may have hardly any late query
	memoryShare      = 0.01 // share of a full-length run, for which a server is affected by a burst at least
	probesBetween    = 3    // between two reference probes
	noticeableDrift  = 0.05 // share of the pace, above which the interval is wider
	mostDrift        = 0.3
	percent          = 100
	probeShare       = 0.25  // share of a full-length run that one undecided probe may take
	likelyShare      = 0.85  // share of the answers per second of a closed loop that just meets all limits
	probeBursts      = 3.0   // weight of a probe: independent bursts of late queries in a barely valid one
	runBursts        = 30.0  // weight of a run, likewise
	closeEnough      = 0.99  // share of the median that a confirmed rate must reach
	leastConfirmed   = 0.98  // share of the median: lower rates are not tried, whatever their chance
	mostConfirmed    = 0.983 // share of the median: nearer to it, the noise of a run decides whether it is valid
	stepDown         = 0.99  // least factor below an INVALID run
	mostProbes       = 7
	mostConfirms     = 4
	validChance      = 0.88 // of a confirmation
	studyShare       = 0.74 // share of a full-length run for which the only probe of a search by a model lasts
	clearly          = 0.5  // share of the bearable late queries that other limits may have beside a model
	disagree         = 1e-3 // probability beyond which the late queries of a probe contradict a model
)

// Search decides what to measure next. It is a pure function of the goal and of what was measured.
type Search struct {
	goal     *Goal
	measured []Measured
	curves   []*Curve
	capacity float64       // answers per second of the saturated server
	met      float64       // answers per second of a closed loop that just meets all limits
	answer   time.Duration // time of a whole answer there
	grid     *Grid
	order    func(queries int) []int // the samples of a full-length run
	turning  *turning                // by a model of the server; nil: it has none
	done     *Outcome
}

// Outcome is how a search ended.
type Outcome struct {
	Confirmed bool
	Rate      float64 // the confirmed one, or the best guess
	InFlight  int     // in Offline: requests in flight
	Low, High float64 // interval of the highest valid rate, in Offline of the answers per second; High 0: unknown
	Why       string  // if not confirmed
}

// NewSearch returns a search that has measured nothing. order returns the samples of a full-length run.
func NewSearch(g *Goal, order func(queries int) []int) *Search { return &Search{goal: g, order: order} }

// Observe records what a step has measured.
func (s *Search) Observe(m Measured) {
	s.measured = append(s.measured, m)
	if s.curves != nil {
		s.fit()
	}
	if m.Kind == Rate {
		s.simulate()
	}
}

// simulate finds where the runs of a model of the server turn INVALID. The late queries of the last probe must agree.
func (s *Search) simulate() {
	s.turning = nil
	if m := newModel(s.goal, s.measured); m != nil && s.onlyTokensLate() {
		s.turning = m.turning(s.quantile(0.5), s.order)
	}
	if t := s.turning; t != nil && !(t.rate > s.quantile(disagree) && t.rate < s.quantile(1-disagree)) {
		s.turning = nil
	}
}

// onlyTokensLate reports whether the last probe predicts that a run clearly meets all limits but that of the time per
// token. A model predicts only that.
func (s *Search) onlyTokensLate() bool {
	m := s.last(Rate)
	queries := s.goal.Queries(m.Rate)
	for i, l := range s.goal.Limits {
		if l.Metric != TPOT && m.Counts[i].Full > clearly*Bearable(s.goal.Percentile, queries)*float64(queries) {
			return false
		}
	}
	return true
}

func (s *Search) last(k Kind) *Measured {
	for i := len(s.measured) - 1; i >= 0; i-- {
		if s.measured[i].Kind == k {
			return &s.measured[i]
		}
	}
	return nil
}

func (s *Search) count(k Kind) (n int) {
	for i := range s.measured {
		if s.measured[i].Kind == k {
			n++
		}
	}
	return n
}

// took returns the time of all steps of a kind.
func (s *Search) took(k Kind) (sum time.Duration) {
	for i := range s.measured {
		if s.measured[i].Kind == k {
			sum += s.measured[i].Took
		}
	}
	return sum
}

// Next returns the next step.
func (s *Search) Next() Step {
	idle := s.last(Idle)
	if idle == nil {
		return Step{Kind: Idle, Concurrency: 1, Queries: idleQueries}
	}
	if s.goal.Offline {
		return s.nextOffline()
	}
	if i := s.hopeless(idle); i >= 0 {
		return s.finish(&Outcome{Why: fmt.Sprintf("no rate meets the limit: the %s is %v with one query at a time, and "+
			"the limit is %v", s.goal.Limits[i].Metric, shown(idle.Medians[i]), s.goal.Limits[i].Limit)})
	}
	if step, more := s.saturate(); more {
		return step
	}
	if step, due := s.reference(false); due {
		return step
	}
	if d := s.drift(); math.Abs(d) > mostDrift {
		return s.unconfirmed(fmt.Sprintf("the server drifts: at the same load its pace has changed by %+.0f %% since the "+
			"start; cool it, or keep other work off it", percent*d))
	}
	return s.narrow()
}

// shown returns a time in seconds as a duration with at most four digits, in the unit of the limits beside it.
func shown(seconds float64) time.Duration {
	d := time.Duration(seconds * float64(time.Second))
	for unit := time.Microsecond; ; unit *= 10 {
		if d < 10_000*unit {
			return d.Round(unit)
		}
	}
}

// hopeless returns the limit that even an idle server misses; -1: it misses none.
func (s *Search) hopeless(idle *Measured) int {
	for i, c := range idle.Counts {
		if s.goal.missed(c) {
			return i
		}
	}
	return -1
}

// saturate raises the concurrency until the server no longer answers more per second, or misses a limit half the time.
func (s *Search) saturate() (Step, bool) {
	if s.curves != nil {
		return Step{}, false
	}
	before, level := 0.0, firstConcurrency
	met := s.last(Idle)
	for i := range s.measured {
		m := &s.measured[i]
		if m.Kind != Saturate {
			continue
		}
		full := m.Answers < before*saturatedGain
		for _, c := range m.Counts {
			full = full || s.goal.missed(c)
		}
		before, level = max(before, m.Answers), m.Concurrency*concurrencyStep
		if full {
			s.capacity, s.met = before, s.atLimit(met, m)
			s.draw(before * belowCapacity)
			return Step{}, false
		}
		met, s.answer = m, m.Answer
	}
	if level > mostConcurrency {
		return s.unsaturated(level/concurrencyStep, before), true
	}
	return Step{Kind: Saturate, Concurrency: level, Queries: level * 3}, true
}

// unsaturated ends a search on a server that answers more per second with each increase of requests in flight.
func (s *Search) unsaturated(level int, answers float64) Step {
	return s.finish(&Outcome{Rate: answers, Low: answers, Why: fmt.Sprintf("the server was not "+
		"saturated by %d requests in flight, with which it answered %.4g per second", level, answers)})
}

// atLimit returns the answers per second at which the median of a closed loop reaches the first limit. Between a loop
// that met all limits and a saturated one, it interpolates linearly: the median and the time of a query grow with the
// requests in flight.
func (s *Search) atLimit(met, full *Measured) float64 {
	way := 1.0
	for i, l := range s.goal.Limits {
		low, high := met.Medians[i], full.Medians[i]
		if limit := l.Limit.Seconds(); high > limit && high > low {
			way = min(way, max(0, (limit-low)/(high-low)))
		}
	}
	between := func(low, high float64) float64 { return low + way*(high-low) }
	lasts := func(m *Measured) float64 { return float64(m.Concurrency) / m.Answers } // time of a query, by Little's law
	return between(float64(met.Concurrency), float64(full.Concurrency)) / between(lasts(met), lasts(full))
}

// draw creates the grid, starting at a rate.
func (s *Search) draw(low float64) {
	s.grid = NewGrid(low, s.capacity*aboveCapacity, func(rate float64) float64 {
		return Bearable(s.goal.Percentile, s.goal.Queries(rate))
	})
	s.fit()
}

// fit computes the curves from all measurements.
func (s *Search) fit() {
	s.curves = nil
	prior := Prior{Low: likelyShare * s.met, Likely: s.met, High: s.capacity, Limits: len(s.goal.Limits)}
	for i := range s.goal.Limits {
		c := NewCurve(s.grid, prior)
		for _, m := range s.measured {
			if m.Kind == Rate || m.Kind == Confirm {
				bursts := probeBursts
				if m.Kind == Confirm {
					bursts = runBursts
				}
				c.Add(m.Rate, s.goal.Queries(m.Rate), m.Counts[i].Full, bursts)
			}
		}
		s.curves = append(s.curves, c)
	}
	if low := s.grid.rates[0]; s.quantile(0.5) <= s.grid.rates[rateSteps/50] && low > s.capacity*leastShare {
		s.draw(low * belowCapacity)
	}
}

// memory returns how long a burst affects the server at a rate: as long as an answer takes, and longer near its
// capacity, where queues drain slowly.
func (s *Search) memory(rate float64) time.Duration {
	return max(s.answer, time.Duration(memoryShare*float64(s.goal.Duration(rate))))
}

// drift returns by how much the server's pace has changed since the first reference probe, as a share. The pace is the
// time per output token, or that of a whole answer if tokens are not limited.
func (s *Search) drift() float64 {
	first, last := 0.0, 0.0
	for _, m := range s.measured {
		if m.Kind != Reference {
			continue
		}
		last = m.Answer.Seconds()
		for i, l := range s.goal.Limits {
			if l.Metric == TPOT && i < len(m.Medians) {
				last = m.Medians[i]
			}
		}
		if first == 0 {
			first = last
		}
	}
	if first <= 0 {
		return 0
	}
	return last/first - 1
}

// reference returns the reference probe if it is due: at the start, after a few probes, and before a confirmation.
func (s *Search) reference(confirming bool) (Step, bool) {
	since := 0
	for i := len(s.measured) - 1; i >= 0 && s.measured[i].Kind != Reference; i-- {
		if s.measured[i].Kind == Rate {
			since++
		}
	}
	if s.last(Reference) != nil && since < probesBetween && (!confirming || since == 0) {
		return Step{}, false
	}
	rate := round(s.capacity * referenceShare)
	return Step{Kind: Reference, Rate: rate, Queries: referenceQueries, Answer: s.answer}, true
}

// narrow returns probes at the median of the highest valid rate until the rate to confirm is close to it.
func (s *Search) narrow() Step {
	if c := s.last(Confirm); c != nil && c.Valid {
		low, high, _ := s.Interval()
		return s.finish(&Outcome{Confirmed: true, Rate: c.Rate, Low: min(low, c.Rate), High: max(high, c.Rate)})
	}
	if s.count(Confirm) == mostConfirms {
		return s.unconfirmed(fmt.Sprintf("%d confirmations failed", mostConfirms))
	}
	bound := s.bound()
	median := min(s.quantile(0.5), bound)
	if s.studies() {
		return s.study(median)
	}
	rate := round(min(s.candidate(), bound))
	if s.turning != nil {
		return s.confirm(rate)
	}
	if rate >= closeEnough*median || s.count(Rate) >= mostProbes*(1+s.count(Confirm)) {
		return s.confirm(round(min(max(rate, leastConfirmed*median), mostConfirmed*median)))
	}
	return s.probe(median)
}

// confirm returns a confirmation, after a reference probe if that is due.
func (s *Search) confirm(rate float64) Step {
	if step, due := s.reference(true); due {
		return step
	}
	return Step{Kind: Confirm, Rate: rate}
}

// studies reports whether a model determines the search: its first probe is then the only one.
func (s *Search) studies() bool { return s.count(Rate) == 0 && newModel(s.goal, s.measured) != nil }

// study returns the only probe of a search by a model.
func (s *Search) study(rate float64) Step {
	step := s.probe(rate)
	step.Queries, step.Whole = max(step.Queries, int(studyShare*float64(s.goal.Queries(rate)))), true
	return step
}

// probe returns the longest probe at a rate.
func (s *Search) probe(rate float64) Step {
	full := s.goal.Queries(rate)
	return Step{Kind: Rate, Rate: round(rate), Queries: max(int(probeShare*float64(full)), min(full, shortRun)),
		Answer: s.memory(rate)}
}

// bound returns the highest rate worth a measurement: 1 % below the lowest rate at which a full-length run was INVALID.
func (s *Search) bound() float64 {
	bound := math.Inf(1)
	for _, m := range s.measured {
		if m.Kind == Confirm && !m.Valid {
			bound = min(bound, m.Rate*stepDown)
		}
	}
	return bound
}

// unconfirmed ends the search with its best guess.
func (s *Search) unconfirmed(why string) Step {
	low, high, _ := s.Interval()
	return s.finish(&Outcome{Rate: s.candidate(), Low: low, High: high, Why: why})
}

func (s *Search) finish(o *Outcome) Step {
	s.done = o
	return Step{Kind: Finished}
}

// Outcome returns how the search ended; nil: it has not.
func (s *Search) Outcome() *Outcome { return s.done }

// Interval returns the credible interval of the highest valid rate; ok is false before the server was saturated.
func (s *Search) Interval() (low, high float64, ok bool) {
	if s.goal.Offline {
		low, high, _ = s.throughput()
		return low, high, len(s.lastLoops()) == settledLoops
	}
	if s.curves == nil {
		return 0, 0, false
	}
	tail := (1 - s.goal.Confidence) / 2
	low, high = s.quantile(tail), s.quantile(1-tail)
	if t := s.turning; t != nil {
		off := math.Exp(deviations(1-tail) * math.Hypot(t.err, lineError))
		low, high = t.rate/off, t.rate*off
	}
	if d := math.Abs(s.drift()); d > noticeableDrift {
		low, high = low/(1+d), high*(1+d)
	}
	return low, high, true
}

// overBudget returns the outcome of a search whose budget is over, with the words for the step that it lacks.
func (s *Search) overBudget(budget time.Duration, step string) *Outcome {
	o := &Outcome{Why: fmt.Sprintf("the budget of %v is over: %s", budget, step)}
	if low, high, ok := s.Interval(); ok {
		o.Rate, o.Low, o.High, o.InFlight = s.guess(), low, high, s.inFlight()
	}
	return o
}

// clientLimit returns the outcome of a search whose next step the client cannot measure. The limit is this machine's,
// and must not be mistaken for the server's.
func (s *Search) clientLimit(step Step, why string) *Outcome {
	o := &Outcome{Why: fmt.Sprintf("the client itself is the limit (%s): %s", step, why)}
	if low, high, ok := s.Interval(); ok {
		o.Rate, o.Low, o.High, o.InFlight = s.guess(), low, high, s.inFlight()
	}
	return o
}

// guess returns the rate that the search would confirm now.
func (s *Search) guess() float64 {
	if s.goal.Offline {
		_, _, mean := s.throughput()
		return round(mean)
	}
	return s.candidate()
}

// quantile returns the rate below which the highest valid rate lies with probability p.
func (s *Search) quantile(p float64) float64 {
	above := make([][rateSteps]float64, len(s.curves))
	for i, c := range s.curves {
		above[i] = c.above()
	}
	grid := &s.grid.rates
	for i := range grid {
		all := 1.0
		for k := range above {
			all *= above[k][i]
		}
		if 1-all >= p {
			return grid[max(i-1, 0)]
		}
	}
	return grid[rateSteps-1]
}

// candidate returns the highest rate at which a full-length run is valid with validChance.
func (s *Search) candidate() float64 {
	if s.turning != nil {
		return round(s.turning.rate * math.Exp(-s.turning.margin()))
	}
	grid := &s.grid.rates
	low, high := 0, rateSteps-1 // the chance falls as the rate rises
	for low < high {
		mid := (low + high + 1) / 2
		chance := 1.0
		for _, c := range s.curves {
			chance *= c.Valid(grid[mid], s.goal.Queries(grid[mid]), s.grid.shares[mid], runBursts)
		}
		if chance >= validChance {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return round(grid[low])
}

// round rounds a rate down to four digits.
func round(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(rate))-3)
	return math.Floor(rate/unit) * unit
}

// deviations returns how many standard deviations above its mean a normal deviate is with probability 1-p.
func deviations(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
