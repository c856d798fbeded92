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

// Progress is a moment of a running test.
type Progress struct {
	Elapsed  time.Duration
	Total    int64 // samples that the test will issue as far as is known; 0: unknown
	Issued   int64
	Done     int64 // completed or failed
	Failed   int64
	InFlight int64
	RatePerS float64       // completions over the last seconds
	TTFTp99  time.Duration // 0: no first token yet
	TPOTp99  time.Duration // of ended samples; 0: none has two tokens
	Left     time.Duration // until the last query is due, or by the rate; 0: unknown
	Tails    []record.Tail // of a Server test with limits

	Ended      iter.Seq[*ledger.Entry] // samples that ended since the last call; valid until the call returns
	EndedUntil time.Time               // every sample that ended before has been in Ended
	Names      ledger.Names            // of the codes of Ended
	Failures   []Failure               // failed attempts since the last call, at most 20
	Servers    []ServerSignals         // readings of the servers' metrics since the last call, with --metrics
}

// Failure is a failed attempt at a sample.
type Failure struct {
	At       time.Time
	Endpoint string
	Reason   ledger.Reason
	Retried  bool   // another attempt followed
	Detail   string // one line
}

// How often the progress is reported, and how often the memory is compared with its limits: 160 MiB, which may be left,
// take longer than that to fill.
const (
	progressEvery = 500 * time.Millisecond
	roomEvery     = 20 * time.Millisecond
)

// watch reports the progress to the observer until stop is called.
func (t *test) watch() (stop func()) {
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer crash.Catch()
		defer done.Done()
		tick, room := time.NewTicker(progressEvery), time.NewTicker(roomEvery)
		defer tick.Stop()
		defer room.Stop()
		w := &window{n: 1} // the first rate counts from the start
		w.at[0] = t.started
		for {
			select {
			case <-end:
				t.ends.rest = time.Time{}
				t.observer.Progress(t.progress(w))
				return
			case <-tick.C:
				now := t.progress(w)
				t.assert(now.Tails)
				t.observer.Progress(now)
			case <-room.C:
				if err := hostinfo.RoomLeft(); err != nil {
					t.sut.Stop(err)
				}
			}
		}
	}()
	return func() {
		close(end)
		done.Wait()
	}
}

// window keeps the last few counts, so that the rate follows the test.
type window struct {
	at   [8]time.Time
	done [8]int64
	n    int
}

func (w *window) rate(now time.Time, done int64) float64 {
	last := (w.n + len(w.at) - min(w.n, len(w.at)-1)) % len(w.at)
	slot := w.n % len(w.at)
	w.at[slot], w.done[slot] = now, done
	w.n++
	if s := now.Sub(w.at[last]).Seconds(); w.n > 1 && s > 0 {
		return float64(done-w.done[last]) / s
	}
	return 0
}

func (t *test) progress(w *window) Progress {
	now := time.Now()
	c := t.ledger.Counts()
	p := Progress{
		Elapsed: now.Sub(t.started), Total: t.total(), Issued: c.Issued, Done: c.Completed + c.Failed, Failed: c.Failed,
		InFlight: c.InFlight(), TTFTp99: time.Duration(t.ledger.TTFT().Quantile(.99)), Tails: t.live.look(now.UnixNano()),
	}
	p.RatePerS = w.rate(now, p.Done)
	p.Left = t.left(&p, now)
	p.Ended, p.Names, p.EndedUntil = t.ends.look(t.ledger, now), t.ledger.Names(), t.ends.till
	p.TPOTp99 = time.Duration(t.ends.tpot.Quantile(.99))
	p.Failures, p.Servers = t.failures.take(), t.metrics.take()
	return p
}

// left returns the time until the last query is due. Without a schedule it follows from the rate; 0: unknown.
func (t *test) left(p *Progress, now time.Time) time.Duration {
	if first, ok := t.ledger.Entry(0); ok && t.extent.Queries > 0 {
		return max(time.Unix(0, first.IssuedNS).Add(t.extent.Last).Sub(now), 0)
	}
	if p.Total > p.Done && p.RatePerS > 0 {
		return time.Duration(float64(p.Total-p.Done) / p.RatePerS * float64(time.Second))
	}
	return 0
}

// total returns how many samples LoadGen will issue, exactly if there is a schedule.
func (t *test) total() int64 {
	if n := t.extent.Queries; n > 0 {
		return int64(n)
	}
	return t.expected()
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
