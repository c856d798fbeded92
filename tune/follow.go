package tune

import (
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/run/probe"
)

// value returns the latency that LoadGen compares with a limit (docs/reference/loadgen.md#validity).
func value(l *probe.Load, e probe.End, of Limit) time.Duration {
	switch of.Metric {
	case TTFT:
		return l.TTFT(e)
	case TPOT:
		return l.TPOT(e)
	default:
		return l.Latency(e)
	}
}

// replyOf returns an ended query as the windows need it.
func replyOf(l *probe.Load, e probe.End, sample int) reply {
	due := time.Duration(l.Start(e))
	first, end := due+l.TTFT(e), time.Duration(e.AtNS)
	return reply{sample, due.Seconds(), first.Seconds(), end.Seconds(), e.Tokens}
}

// seconds returns a number of seconds as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// follow passes the queries that ended to the meter every few milliseconds, until done is closed or the meter decides.
// It then calls stop, and returns the decision. It calls show twice a second and at the end.
func follow(l *probe.Load, m *Meter, step Step, done <-chan struct{},
	seen func(e probe.End, values []time.Duration), show func()) Decision {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	decides := step.Kind == Rate
	decision, over, shown := Neither, false, time.Now()
	var batch []probe.End
	values := make([]time.Duration, len(m.goal.Limits))
	for !over {
		select {
		case <-done:
			over = true
		case <-tick.C:
		}
		batch = l.Take(batch)
		for _, e := range batch {
			for i, limit := range m.goal.Limits {
				values[i] = value(l, e, limit)
			}
			m.Ended(e.Seq, values)
			seen(e, values)
			if decides && !step.Whole && decision == Neither {
				if decision = m.Decide(); decision != Neither {
					l.Stop()
				}
			}
		}
		if over || time.Since(shown) >= showEvery {
			shown = time.Now()
			show()
		}
	}
	if decides {
		return m.Final(decision)
	}
	return decision
}

const (
	lookEvery = 20 * time.Millisecond
	showEvery = 500 * time.Millisecond
)

// quantile returns element trunc(n*p) of values, which it sorts, as LoadGen does; 0 for none.
func quantile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(float64(len(values))*p), len(values)-1)]
}
