package live

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run"
)

// number is a value of a chart. NaN is null in JSON: a gap.
type number float64

// MarshalJSON writes at most five digits.
func (n number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	if v != 0 {
		scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
		v = math.Round(v*scale) / scale
	}
	return json.Marshal(v)
}

// UnmarshalJSON reads a number or null.
func (n *number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// tick is one second of a test.
type tick struct {
	AtS      float64             `json:"at_s"` // its middle, since the test started
	Values   map[string][]number `json:"values"`
	Failures [][4]string         `json:"failures,omitempty"` // in the form of report.Live
}

// state is the known state of a test at one moment.
type state struct{ atS, issued, inFlight float64 }

// between interpolates two states.
func between(a, b state, atS float64) state {
	share := 1.0
	if b.atS > a.atS {
		share = min(max((atS-a.atS)/(b.atS-a.atS), 0), 1)
	}
	return state{atS, a.issued + share*(b.issued-a.issued), a.inFlight + share*(b.inFlight-a.inFlight)}
}

// seconds divides the time of consecutive tests into seconds. It is not safe for concurrent use.
type seconds struct {
	started time.Time // of the first test
	next    bool      // the next Progress is the first of a test
	offset  float64   // s from started to the start of the test
	before  float64   // requests of the tests before it
	base    int       // seconds before the start of a test that other processes have counted
	window
	states   []state // of each Progress since edge
	edge     state   // at the end of the last finished second
	failures [][4]string
	servers  servers
}

// begin appends a test to the axis. The time between tests has no seconds.
func (s *seconds) begin(p *run.Progress) {
	s.next = false
	if s.started.IsZero() {
		s.started = time.Now().Add(-p.Elapsed)
		return
	}
	s.offset = max(time.Since(s.started).Seconds()-p.Elapsed.Seconds(), float64(s.done))
	s.before = s.edge.issued
	if n := len(s.states); n > 0 {
		s.before = s.states[n-1].issued
	}
	s.window, s.states = window{done: int(s.offset)}, nil
	s.edge = state{float64(s.done), s.before, 0}
}

// add adds a Progress, and returns the seconds that ended with it.
func (s *seconds) add(p *run.Progress) (finished []tick) {
	if s.next || s.started.IsZero() {
		s.begin(p)
	}
	if p.Ended != nil {
		start := s.started.UnixNano()
		cancelled := slices.Index(p.Names.Reasons, ledger.FailCancelled)
		for e, due := range p.Ended {
			if e.Reason != 0 && int(e.Reason) == cancelled {
				continue // the test ended, which is no failure of a server
			}
			s.at(time.Duration(e.DoneNS-start)).add(e, due)
		}
	}
	s.note(p)
	for until := p.EndedUntil.Sub(s.started).Seconds(); float64(s.done+1) <= until; {
		finished = append(finished, s.finish(s.nextEdge()))
	}
	return finished
}

// note records the state at the moment of a Progress.
func (s *seconds) note(p *run.Progress) {
	for _, f := range p.Failures {
		s.failures = append(s.failures, failureRow(f, s.started))
	}
	s.servers.add(p.Servers)
	s.states = append(s.states, state{s.offset + p.Elapsed.Seconds(), s.before + float64(p.Issued), float64(p.InFlight)})
}

// nextEdge returns the state at the end of the second that ends next.
func (s *seconds) nextEdge() state {
	at, before := float64(s.done+1), s.edge
	for len(s.states) > 1 && s.states[0].atS < at {
		before, s.states = s.states[0], s.states[1:]
	}
	return between(before, s.states[0], at)
}

// finish makes a tick of the first open second, which ends with the state edge.
func (s *seconds) finish(edge state) tick {
	first := s.close()
	t := tick{AtS: float64(s.done) - 0.5, Failures: s.failures, Values: map[string][]number{
		"ttft": first.ttft.percentiles(1e3, .5, .9, .99), "tpot": first.tpot.percentiles(1e3, .5, .9, .99),
		"e2e":      first.e2e.percentiles(1, .5, .9, .99),
		"rates":    {number(edge.issued - s.edge.issued), number(first.answered), number(first.failed)},
		"tokens":   {number(first.tokens)},
		"inflight": {number(edge.inFlight)},
		"lag":      append(first.dispatch.percentiles(1e3, .99), first.report.percentiles(1e3, .99)...),
	}}
	s.servers.fill(t.Values, s.started.Add(time.Duration(s.done)*time.Second))
	s.edge, s.failures = edge, nil
	return t
}
