package sweep

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/probe"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// bench measures loads with the client of a run.
type bench struct {
	client   *run.ProbeClient
	order    *probe.Order
	observer run.Observer
}

// Settings of a measurement.
const (
	deviations  = 6       // of the number of arrivals above its mean: a rate has so many queries at most
	maxQueries  = 1 << 22 // of one point: their entries fill half a GiB
	idleAnswers = 4       // measured before the first point
	settleTimes = 2       // times of an idle answer before the window begins
	cooling     = 0.5     // of the window's length: the load goes on at most so long after it
	lookEvery   = 20 * time.Millisecond
	showEvery   = 500 * time.Millisecond
)

// idle returns the median time of a whole answer with one query in flight.
func (b *bench) idle(ctx context.Context) (time.Duration, *run.Probe, error) {
	l, err := probe.New(nil, b.order.Next(idleAnswers), 1, b.client.Shards())
	if err != nil {
		return 0, nil, err
	}
	defer l.Close()
	p, err := b.client.Send(ctx, l)
	if err != nil {
		return 0, nil, err
	}
	took := time.Duration(0)
	if p.Metrics.E2E != nil {
		took = time.Duration(p.Metrics.E2E.P50 * float64(time.Second))
	}
	return took, p, nil
}

// phases are the parts of one measurement: the load begins, settles, is counted, and goes on until the counted answers
// have arrived.
type phases struct {
	kind     Kind
	flight   int
	warmup   time.Duration
	window   time.Duration // of a rate, and the shortest of a concurrency
	queries  int           // ended in the window, at least
	longest  time.Duration
	counted  Window // in ns of the wall clock; 0: not yet
	ended    int    // so far
	before   int    // of them, before the window
	slowest  time.Duration
	finished bool // whether no more queries are issued
}

// plan returns the phases of a load. The window of a rate is known in advance; that of a concurrency ends when enough
// answers have arrived.
func (n Length) plan(kind Kind, load float64, idle time.Duration) *phases {
	p := &phases{kind: kind, queries: n.Queries, window: seconds(n.Duration), longest: seconds(n.Longest),
		warmup: max(seconds(n.WarmupS), settleTimes*idle)}
	if kind == Concurrency {
		p.flight = int(load)
		return p
	}
	p.window = min(max(p.window, seconds(float64(n.Queries)/load)), max(p.longest, p.window))
	return p
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// issue returns for how long a rate is scheduled.
func (p *phases) issue() time.Duration {
	return p.warmup + p.window + time.Duration(cooling*float64(p.window))
}

// about returns about how long the measurement takes.
func (p *phases) about(load float64, idle time.Duration) time.Duration {
	window := p.window
	if p.kind == Concurrency && idle > 0 { // assumes that every answer takes as long as an idle server's
		window = max(window, min(time.Duration(float64(p.queries)/load*float64(idle)), p.longest))
	}
	return p.warmup + window + 2*idle
}

// most returns how many queries the measurement may have.
func (p *phases) most(load float64, idle time.Duration) int {
	if p.kind == Rate {
		mean := load * p.issue().Seconds()
		return int(mean + deviations*math.Sqrt(mean) + deviations)
	}
	const faster = 4 // than the idle server answered
	longest := p.warmup + max(p.window, p.longest)*3/2
	return int(min(maxQueries, load+float64(p.queries)+load*faster*longest.Seconds()/max(idle.Seconds(), 1e-4)))
}

// look chooses the next phase at a time of the wall clock.
func (p *phases) look(startNS, nowNS int64) {
	since := time.Duration(nowNS - startNS)
	switch {
	case p.counted.FromNS == 0:
		if since < p.warmup || p.ended < p.flight {
			return
		}
		p.counted.FromNS, p.before = nowNS, p.ended
		if p.kind == Rate {
			p.counted.FromNS = startNS + int64(p.warmup)
		}
	case p.counted.ToNS == 0:
		end := p.counted.FromNS + int64(p.window)
		if p.kind == Rate {
			if nowNS >= end {
				p.counted.ToNS = end
			}
			return
		}
		enough := p.ended-p.before >= p.queries || nowNS >= p.counted.FromNS+int64(p.longest)
		if nowNS >= end && enough {
			p.counted.ToNS = nowNS
		}
	default:
		length := float64(p.counted.ToNS - p.counted.FromNS)
		p.finished = nowNS-p.counted.ToNS >= int64(min(float64(p.slowest), cooling*length))
	}
}

// measure performs one load, and returns the probe with its window.
func (b *bench) measure(ctx context.Context, kind Kind, load float64, n Length, idle time.Duration,
	seed uint64) (*run.Probe, Window, error) {
	p := n.plan(kind, load, idle)
	var due []int64
	count := p.most(load, idle)
	if kind == Rate {
		due = schedule.ServerDeltas(seed, load, count)
		end := int64(p.issue())
		if cut := slices.IndexFunc(due, func(at int64) bool { return at > end }); cut > 0 {
			due = due[:cut]
		}
		count = len(due)
	}
	l, err := probe.New(due, b.order.Next(count), p.flight, b.client.Shards())
	if err != nil {
		return nil, Window{}, err
	}
	defer l.Close()
	over, followed := make(chan struct{}), make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(followed)
		b.follow(l, p, load, over)
	}()
	sent, err := b.client.Send(ctx, l)
	close(over)
	<-followed
	if err != nil {
		return nil, Window{}, err
	}
	return sent, p.end(l.StartNS(), sent), nil
}

// end returns the window of a load that has ended. A window that did not end is empty and spoils the load.
func (p *phases) end(startNS int64, sent *run.Probe) Window {
	if p.kind == Rate { // known in advance, and perhaps without a query at its end
		p.counted.FromNS = startNS + int64(p.warmup)
		p.counted.ToNS = p.counted.FromNS + int64(p.window)
	}
	if p.counted.ToNS == 0 {
		p.counted.ToNS = p.counted.FromNS // nothing counts
		if len(sent.Causes) == 0 {
			sent.Causes = append(sent.Causes, record.Cause{Code: record.CodeFailedSamples,
				Text: "the load ended before its window did"})
		}
	}
	return p.counted
}

// follow looks at a load until it is over, and stops it after the last phase.
func (b *bench) follow(l *probe.Load, p *phases, load float64, over <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var batch []probe.End
	shown := time.Now()
	for {
		select {
		case <-over:
			b.observer.Progress(b.progress(p, l, load))
			return
		case <-tick.C:
		}
		batch = l.Take(batch)
		for _, e := range batch {
			p.slowest = max(p.slowest, l.Latency(e))
		}
		p.ended += len(batch)
		now := l.WallNS(l.Now())
		if p.look(l.StartNS(), now); p.finished {
			l.Stop()
		}
		if time.Since(shown) >= showEvery {
			shown = time.Now()
			b.observer.Progress(b.progress(p, l, load))
		}
	}
}

// progress returns the progress of the current point for a user.
func (b *bench) progress(p *phases, l *probe.Load, load float64) run.Progress {
	var g run.Progress
	b.client.Look(&g)
	since := time.Duration(l.WallNS(l.Now()) - l.StartNS())
	g.Total, g.Left = int64(load*p.issue().Seconds()), max(0, p.warmup+p.window-since)
	if p.kind == Concurrency {
		g.Total = int64(max(p.before+p.queries, p.ended))
	}
	g.Done, g.InFlight = int64(p.ended), int64(l.Issued()-p.ended)
	if s := since.Seconds(); s > 0 {
		g.RatePerS = float64(p.ended) / s
	}
	return g
}
