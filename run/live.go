package run

import (
	"errors"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/earlystop"
	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// reportSlack is how much later than this program LoadGen may have seen a first token. The time per token is measured
// from the latest possible moment, because a test that LoadGen would call valid must not be ended.
const reportSlack = 20 * time.Millisecond

// tail counts one limit.
type tail struct {
	record.Tail
	late    func(e *ledger.Entry, nowNS int64, limit int64) bool
	settled int // number of samples that have ended
}

// live follows the limits of a Server test. It reads entries of the ledger: ended samples once, samples in flight each
// time.
type live struct {
	ledger *ledger.Ledger
	tails  []tail
	from   int // every sample before it has ended and is counted
}

// newLive returns nil where no limit applies: in another scenario or mode.
func (e *evidence) newLive() *live {
	s := &e.settings
	n := len(e.planned)
	if n == 0 {
		return nil
	}
	bearable, needed := earlystop.Bearable(s.ServerTargetLatencyPercentile, n), 0
	if bearable < 0 {
		if bearable, needed = 0, earlystop.Need(s.ServerTargetLatencyPercentile, 0); needed == 0 {
			return nil
		}
	}
	l := &live{ledger: e.ledger}
	for _, limit := range liveLimits(s) {
		if limit.Limit > 0 {
			limit.Queries, limit.Bearable, limit.Needed = n, bearable, needed
			l.tails = append(l.tails, limit)
		}
	}
	if len(l.tails) == 0 {
		return nil
	}
	return l
}

// newPlanned returns when the queries of a Server test will be due, in ns after the first; nil: not known.
func (in *inputs) newPlanned() []int64 {
	p := in.plan
	if p.Scenario.LoadGen != models.Server || p.Mode != models.Performance || p.Config.Has("audit-config") {
		return nil
	}
	return schedule.ServerTimes(in.serverLoad())
}

// serverLoad returns the settings that decide how many queries a Server test has.
func (in *inputs) serverLoad() schedule.Load {
	s := &in.settings
	l := schedule.Load{
		Seed: s.ScheduleRNGSeed, QPS: s.ServerTargetQPS, MinDuration: time.Duration(s.MinDurationMS) * time.Millisecond,
		MinQueries: int(s.MinQueryCount),
	}
	if s.SampleConcatenatePermutation {
		l.Set = in.performanceCount()
	}
	return l
}

// liveLimits are the limits that LoadGen tests in Server (docs/reference/loadgen.md#validity).
func liveLimits(s *loadgen.TestSettings) []tail {
	if s.UseTokenLatencies {
		return []tail{
			{Tail: record.Tail{What: "time to first token", Limit: time.Duration(s.ServerTTFTLatency)}, late: lateFirstToken},
			{Tail: record.Tail{What: "time per output token", Limit: time.Duration(s.ServerTPOTLatency)}, late: lateTokens},
		}
	}
	return []tail{{Tail: record.Tail{What: "latency", Limit: time.Duration(s.ServerTargetLatencyNS)}, late: lateAnswer}}
}

// lateFirstToken errs on the early side: LoadGen measures from the schedule to its own stamp, and both make the time
// longer.
func lateFirstToken(e *ledger.Entry, nowNS, limit int64) bool {
	switch {
	case e.FirstTokenNS != 0:
		return e.FirstTokenNS-e.IssuedNS > limit
	case e.DoneNS != 0:
		return false // it is counted as failed
	}
	return nowNS-e.IssuedNS > limit
}

func lateTokens(e *ledger.Entry, _, limit int64) bool {
	if e.FirstTokenNS == 0 || e.OutputTokens < 2 || !e.Succeeded() {
		return false
	}
	return e.DoneNS-e.FirstTokenNS-int64(reportSlack) > limit*int64(e.OutputTokens-1)
}

func lateAnswer(e *ledger.Entry, nowNS, limit int64) bool {
	end := e.DoneNS
	if end == 0 {
		end = nowNS
	}
	return end-e.IssuedNS > limit
}

// look counts again and returns the state of each limit.
func (l *live) look(nowNS int64) []record.Tail {
	if l == nil {
		return nil
	}
	for i := range l.tails {
		l.tails[i].Over = l.tails[i].settled
	}
	settled := true // whether every sample so far has ended
	for seq := l.from; ; seq++ {
		e, ok := l.ledger.Entry(seq)
		if !ok {
			break
		}
		if settled = settled && e.DoneNS != 0; settled {
			l.from = seq + 1
		}
		for i := range l.tails {
			if t := &l.tails[i]; t.late(&e, nowNS, int64(t.Limit)) {
				t.Over++
				if settled {
					t.settled++
				}
			}
		}
	}
	list := make([]record.Tail, len(l.tails))
	for i, t := range l.tails {
		list[i] = t.Tail
	}
	return list
}

// assert notes a lost limit, and ends the test with --fail-fast.
func (w *watcher) assert(tails []record.Tail) {
	i := slices.IndexFunc(tails, record.Tail.Lost)
	if i < 0 || w.lost != nil {
		return
	}
	w.lost = &record.LimitLost{Tail: tails[i], All: tails}
	if w.plan.Config.Bool("fail-fast") {
		w.end(w.lost)
	}
}

// tails returns the state of the limits at the end. If they ended the test, it is the state at that moment: late
// samples that were cancelled afterwards would not count as late at the end.
func (e *evidence) tails() []record.Tail {
	if e.lost != nil && errors.Is(e.ended, e.lost) {
		return e.lost.All
	}
	return e.live.look(time.Now().UnixNano())
}
