package live

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run"
)

// Second has the requests of one process that ended in one second. Latencies are counted in buckets, so that those of
// several processes add up.
type Second struct {
	Number   int           `json:"number"` // seconds of the test before it
	TTFT     *ledger.Batch `json:"ttft,omitempty"`
	TPOT     *ledger.Batch `json:"tpot,omitempty"`
	E2E      *ledger.Batch `json:"e2e,omitempty"`
	Dispatch *ledger.Batch `json:"dispatch,omitempty"` // from issued until sent
	Report   *ledger.Batch `json:"report,omitempty"`   // from readable until reported
	Answered int64         `json:"answered,omitempty"`
	Failed   int64         `json:"failed,omitempty"`
	Output   int64         `json:"output_tokens,omitempty"` // of the answers
	// Failures are attempts that failed in it, at most mostFailed, and Servers are readings of the servers' metrics pages.
	// Their times count from the start of the test, as if that were the zero of the Unix clock: the clocks of the
	// processes differ.
	Failures []run.Failure       `json:"failures,omitempty"`
	Servers  []run.ServerSignals `json:"servers,omitempty"`
}

// mostFailed bounds the failures of a process in a second that are shown one by one.
const mostFailed = 20

// Empty reports whether nothing happened in the second.
func (s *Second) Empty() bool {
	return s.Answered+s.Failed == 0 && len(s.Failures) == 0 && len(s.Servers) == 0
}

// Counter counts the requests of one process for the page of another.
type Counter struct {
	start int64 // ns of the wall clock

	mu sync.Mutex
	window
}

// NewCounter returns a counter of a test that starts at a time in ns of the wall clock.
func NewCounter(start int64) *Counter { return &Counter{start: start} }

// Add counts a request whose latencies count from due.
func (c *Counter) Add(e *ledger.Entry, due int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at(time.Duration(e.DoneNS-c.start)).add(e, due)
}

// Fail keeps a failed attempt for the page's list.
func (c *Counter) Fail(f run.Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(time.Duration(f.At.UnixNano() - c.start))
	if f.At = c.since(f.At); len(s.failures) < mostFailed {
		s.failures = append(s.failures, f)
	}
}

// Read keeps a reading of a metrics page. Values that are no numbers are left out.
func (c *Counter) Read(r run.ServerSignals) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(time.Duration(r.At.UnixNano() - c.start))
	r.At, r.Values = c.since(r.At), maps.Clone(r.Values)
	maps.DeleteFunc(r.Values, func(_ string, v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) })
	s.servers = append(s.servers, r)
}

// since returns a time of Second.
func (c *Counter) since(at time.Time) time.Time { return time.Unix(0, at.UnixNano()-c.start) }

// Next returns the next second, if it ended before a time. Without requests it has only its number.
func (c *Counter) Next(until time.Time) (s Second, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done >= int((until.UnixNano()-c.start)/int64(time.Second)) {
		return s, false
	}
	return c.close().counted(c.done - 1), true
}

// Last returns the next second that has requests or comes before one that has.
func (c *Counter) Last() (s Second, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == 0 {
		return s, false
	}
	return c.close().counted(c.done - 1), true
}

func (s *second) counted(number int) Second {
	return Second{number, s.ttft.counted(), s.tpot.counted(), s.e2e.counted(), s.dispatch.counted(), s.report.counted(),
		int64(s.answered), int64(s.failed), int64(s.tokens), s.failures, s.servers}
}

// counted returns the values in buckets; nil of none.
func (d *durations) counted() *ledger.Batch {
	if d.many == nil && len(d.few) == 0 {
		return nil
	}
	return d.batch()
}

// merge adds what another process counted.
func (s *second) merge(c *Second) {
	for _, pair := range []struct {
		to   *durations
		from *ledger.Batch
	}{{&s.ttft, c.TTFT}, {&s.tpot, c.TPOT}, {&s.e2e, c.E2E}, {&s.dispatch, c.Dispatch}, {&s.report, c.Report}} {
		if pair.from != nil {
			pair.to.batch().Merge(pair.from)
		}
	}
	s.answered += float64(c.Answered)
	s.failed += float64(c.Failed)
	s.tokens += float64(c.Output)
}

// Counted adds what happened in a test that other processes run together: its state, a second that one of them counted
// (nil: none), and how many seconds all of them have counted. Ended and EndedUntil of the state are not used.
func (f *feed) Counted(p run.Progress, c *Second, until int) {
	f.change(func() {
		finished := f.seconds.addCounted(&p, c, until)
		f.extend(p.Tails)
		for _, t := range finished {
			f.append(t)
		}
		f.setNow(append(f.outer[:len(f.outer):len(f.outer)], rows(&p)...))
	})
}

func (s *seconds) addCounted(p *run.Progress, c *Second, until int) (finished []tick) {
	if s.next || s.started.IsZero() {
		s.begin(p)
		s.base, s.offset = s.done, float64(s.done)
	}
	if c != nil {
		s.number(s.base + c.Number).merge(c)
		zero := s.started.Add(time.Duration(s.base) * time.Second).UnixNano()
		for _, failure := range c.Failures[:min(len(c.Failures), mostFailed)] {
			failure.At = time.Unix(0, zero+failure.At.UnixNano())
			p.Failures = append(p.Failures, failure)
		}
		for _, r := range c.Servers {
			r.At = time.Unix(0, zero+r.At.UnixNano())
			p.Servers = append(p.Servers, r)
		}
	}
	s.note(p)
	for s.done < s.base+until {
		finished = append(finished, s.finish(s.nextEdge()))
	}
	return finished
}
