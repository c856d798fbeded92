package run

import (
	"iter"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Progress is the state of a running test at one moment.
type Progress struct {
	Elapsed   time.Duration
	Total     int64 // expected number of samples that the test will issue; 0: unknown
	Issued    int64
	Done      int64 // samples that completed or failed
	Failed    int64
	Cancelled int64 // samples that were cancelled because the test ended early; they are neither done nor failed
	InFlight  int64
	RatePerS  float64       // completions per second, over the last few seconds
	TTFTp99   time.Duration // p99 of the time to first token; 0: no first token yet
	TPOTp99   time.Duration // p99 of the time per output token of ended samples; 0: no sample has two tokens
	Left      time.Duration // time until the last query is due, or an estimate from the rate; 0: unknown
	Tails     []record.Tail // latency tails of a Server test with limits

	// Ended are the samples that ended since the last call, each with the wall clock time in ns from which its latencies
	// count. They are valid until the call returns.
	Ended      iter.Seq2[*ledger.Entry, int64]
	EndedUntil time.Time       // every sample that ended before this time has been in Ended
	Names      ledger.Names    // names of the codes in Ended
	Failures   []Failure       // failed attempts since the last call, at most 20
	Servers    []ServerSignals // readings of the servers' metrics since the last call, with --metrics
}

// ServerSignals are the figures of one metrics page at one reading.
type ServerSignals struct {
	Number int // number of the metrics page
	Page   string
	At     time.Time
	Values map[string]float64 // values by the key of a signal (docs/reference/metrics.md#signals)
}

// takeSignals returns the readings since the last call.
func (e *evidence) takeSignals() (list []ServerSignals) {
	for _, s := range e.metrics.Take() {
		list = append(list, ServerSignals(s))
	}
	return list
}

// Failure is a failed attempt at a sample.
type Failure struct {
	At       time.Time
	Endpoint string
	Reason   ledger.Reason
	Retried  bool   // whether another attempt followed
	Detail   string // description of the failure on one line
}

// How often the progress is reported, and how often the memory is compared with its limits. The program leaves 160 MiB
// of memory free, and takes longer than this period to fill them.
const (
	progressEvery = 500 * time.Millisecond
	roomEvery     = 20 * time.Millisecond
)

// watcher follows a running test for its observer, and ends one that cannot succeed.
type watcher struct {
	*evidence
	failures *failures
	end      func(error)
}

// start reports the progress to the observer until stop is called.
func (w *watcher) start() (stop func()) {
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer crash.Catch()
		defer done.Done()
		tick, room := time.NewTicker(progressEvery), time.NewTicker(roomEvery)
		defer tick.Stop()
		defer room.Stop()
		recent := ledger.NewRate(w.started)
		for {
			select {
			case <-over:
				w.ends.rest = time.Time{}
				w.observer.Progress(w.progress(recent))
				return
			case <-tick.C:
				now := w.progress(recent)
				w.assert(now.Tails)
				w.observer.Progress(now)
			case <-room.C:
				if err := hostinfo.RoomLeft(); err != nil {
					w.end(err)
				}
			}
		}
	}()
	return func() {
		close(over)
		done.Wait()
	}
}

func (w *watcher) progress(recent *ledger.Rate) Progress {
	now := time.Now()
	c := w.ledger.Counts()
	p := Progress{
		Elapsed: now.Sub(w.started), Total: w.total(), Issued: c.Issued, Done: c.Completed + c.Failed - c.Cancelled,
		Failed: c.Failed - c.Cancelled, Cancelled: c.Cancelled, InFlight: c.InFlight(),
		TTFTp99: time.Duration(w.ledger.TTFT().Quantile(.99)), Tails: w.live.look(now.UnixNano()),
	}
	p.RatePerS = recent.PerSecond(now, p.Done)
	p.Left = w.left(&p, now)
	p.Ended, p.Names, p.EndedUntil = w.ends.look(w.ledger, now), w.ledger.Names(), w.ends.till
	p.TPOTp99 = time.Duration(w.ends.tpot.Quantile(.99))
	p.Failures, p.Servers = w.failures.take(), w.takeSignals()
	return p
}

// left returns the time until the last query is due. Without a schedule it follows from the rate; 0: unknown.
func (e *evidence) left(p *Progress, now time.Time) time.Duration {
	if first, ok := e.ledger.Entry(0); ok && len(e.planned) > 0 {
		last := time.Duration(e.planned[len(e.planned)-1])
		return max(time.Unix(0, first.IssuedNS).Add(last).Sub(now), 0)
	}
	if p.Total > p.Done && p.RatePerS > 0 {
		return time.Duration(float64(p.Total-p.Done) / p.RatePerS * float64(time.Second))
	}
	return 0
}

// total returns how many samples LoadGen will issue, exactly if there is a schedule.
func (e *evidence) total() int64 {
	if n := len(e.planned); n > 0 {
		return int64(n)
	}
	return e.expected()
}

// expected returns about how many samples LoadGen will issue. LoadGen does not report the number.
func (in *inputs) expected() int64 {
	rows := int64(len(in.dataset.Samples))
	if in.plan.Mode == models.Accuracy {
		return rows
	}
	s := &in.settings
	n := int64(s.MinQueryCount)
	switch in.plan.Scenario.LoadGen {
	case models.Server:
		n = max(n, int64(s.ServerTargetQPS*float64(s.MinDurationMS)/1000))
	case models.Offline:
		n = max(n, int64(1.1*s.OfflineExpectedQPS*float64(s.MinDurationMS)/1000))
	}
	if s.SampleConcatenatePermutation && rows > 0 {
		n = (n + rows - 1) / rows * rows
	}
	return n
}
