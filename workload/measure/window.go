package measure

import (
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// Completed is the window of LoadGen's Server scenario in the longest stage: from the first due time to the end of the
// answer to the request that was due last. LoadGen's rates count all answers, whether they ended within or not.
type Completed struct {
	Stage           int     `json:"stage"`
	StartNS         int64   `json:"start_ns"`
	EndNS           int64   `json:"end_ns"`
	DurationS       float64 `json:"duration_s"`
	RequestRate     float64 `json:"request_rate"` // (successes - 1) / duration
	OutputTokenRate float64 `json:"output_token_rate"`
}

// dues are what the window of LoadGen needs of a stage.
type dues struct {
	first, last, lastEnd int64
	lastSeq              int // of the requests due last, the last one of the plan
	answers, tokens      int64
}

func (d *dues) add(r *eventlog.Request) {
	d.first = min(d.first, r.DueNS)
	if r.DueNS > d.last || r.DueNS == d.last && r.Seq >= d.lastSeq {
		d.last, d.lastSeq, d.lastEnd = r.DueNS, r.Seq, r.EndNS
	}
	if r.OK() {
		d.answers++
		d.tokens += int64(r.OutputTokens)
	}
}

// completed returns the window of LoadGen; nil: the last request has no end, or there are no two answers.
func (w *windows) completed() *Completed {
	stage, e := w.longest()
	if e == nil || e.due.answers < 2 || e.due.lastEnd <= e.due.first {
		return nil
	}
	seconds := sec(e.due.lastEnd - e.due.first)
	return &Completed{Stage: stage, StartNS: e.due.first, EndNS: e.due.lastEnd, DurationS: seconds,
		RequestRate: float64(e.due.answers-1) / seconds, OutputTokenRate: float64(e.due.tokens) / seconds}
}

// OfStage returns the words that name the stage of a window, with a space before them. They are empty for a run of one
// stage.
func (m *Measured) OfStage(stage int) string {
	if len(m.Stages) < 2 {
		return ""
	}
	return fmt.Sprintf(" of stage %d", stage)
}

// Steady is the part of the run in which as many requests were in flight as usual. It ends with the last sending at
// the latest: what follows is the end of the answers, which no new request replaces.
type Steady struct {
	Stage     int     `json:"stage"` // the longest one
	StartNS   int64   `json:"start_ns"`
	EndNS     int64   `json:"end_ns"`
	DurationS float64 `json:"duration_s"`
	InFlight  float64 `json:"in_flight"` // mean within
	// Each token counts at its arrival, so that answers across the window's edges count in part.
	OutputTokenRate float64                  `json:"output_token_rate"`
	RequestRate     float64                  `json:"request_rate"` // ends within
	Latency         map[string]*Distribution `json:"latency_s"`    // of requests sent within
}

// The window: bins of the stage in which the mean number in flight is at least steadyShare of the median bin's.
const (
	steadyBins  = 200
	steadyShare = 0.9
)

// steady finds the window and its figures; nil: there are too few requests, or no bin is steady.
func (w *windows) steady(read reader, d *Definition) (*Steady, error) {
	stage, e := w.longest()
	if e == nil || e.requests < 10 || e.lastSent-e.start < int64(steadyBins*time.Millisecond) {
		return nil, nil
	}
	sorted := slices.Sorted(slices.Values(e.bins))
	usual := int64(steadyShare * float64(sorted[len(sorted)/2]))
	first := slices.IndexFunc(e.bins, func(ns int64) bool { return ns >= usual })
	last := len(e.bins) - 1
	for last > first && e.bins[last] < usual {
		last--
	}
	if first < 0 || last <= first {
		return nil, nil
	}
	s := &Steady{Stage: stage, StartNS: e.start + int64(first)*e.width,
		EndNS: min(e.start+int64(last+1)*e.width, e.lastSent), Latency: map[string]*Distribution{}}
	sum := int64(0)
	for _, ns := range e.bins[first : last+1] {
		sum += ns
	}
	s.DurationS = sec(s.EndNS - s.StartNS)
	s.InFlight = float64(sum) / float64(int64(last+1-first)*e.width)
	return s, w.fill(s, read, d)
}

func (w *windows) longest() (stage int, of *extent) {
	for n, e := range w.stages {
		if !w.isWarmup(n) && (of == nil || e.end-e.start > of.end-of.start || e.end-e.start == of.end-of.start && n < stage) {
			stage, of = n, e
		}
	}
	return stage, of
}

// divide makes the bins of the stage, from its first sending to its last.
func (e *extent) divide() {
	e.width, e.bins = (e.lastSent-e.start)/steadyBins+1, make([]int64, steadyBins)
}

// fly adds a request's time in flight to the bins.
func (e *extent) fly(from, to int64) {
	for at := from; at < to; {
		bin := (at - e.start) / e.width
		if bin >= int64(len(e.bins)) {
			return
		}
		next := min(to, e.start+(bin+1)*e.width)
		e.bins[bin] += next - at
		at = next
	}
}

// fill computes the figures within the window.
func (w *windows) fill(s *Steady, read reader, d *Definition) error {
	last := w.stages[s.Stage].lastSent
	within := func(at int64) bool { return at >= s.StartNS && (at < s.EndNS || at == s.EndNS && at == last) }
	main := slices.DeleteFunc(slices.Clone(d.Metrics), func(m Metric) bool {
		return m.Name != nameTTFT && m.Name != nameTPOT && m.Name != nameE2E
	})
	tokens, ends := 0, 0
	visits := []visit{func(_ *eventlog.Header, r *eventlog.Request) error {
		if r.Stage != s.Stage {
			return nil
		}
		share := sharesOf(r)
		for i := range r.Events {
			if within(r.Events[i].AtNS) {
				tokens += share.tokens(r, i)
			}
		}
		if len(r.Events) == 0 && r.OK() && within(r.EndNS) {
			tokens += r.OutputTokens
		}
		if r.OK() && within(r.EndNS) {
			ends++
		}
		return nil
	}}
	var pots []*pot
	for _, share := range shares(main) {
		p := newPot(share, nil, w.most/len(main), false, w.stages[s.Stage].requests)
		pots = append(pots, p)
		visits = append(visits, func(_ *eventlog.Header, r *eventlog.Request) error {
			if r.Stage == s.Stage && within(sent(r)) {
				p.add(r)
			}
			return nil
		})
	}
	_, err := read(visits...)
	f := Figures{Latency: s.Latency}
	for _, p := range pots {
		p.finish(&f, d.rule)
	}
	s.OutputTokenRate, s.RequestRate = float64(tokens)/s.DurationS, float64(ends)/s.DurationS
	return err
}
