package tune

import (
	"context"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/schedule"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/probe"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// bench measures the steps of a search with the client of a run.
type bench struct {
	client   *run.ProbeClient
	observer run.Observer
	goal     *Goal
	order    *probe.Order // order of the samples in closed loops
	next     int          // place in LoadGen's order where the next probe starts, if servers keep their prefix caches
}

// newBench returns a bench that continues after this many probes of an earlier process.
func newBench(c *run.ProbeClient, o run.Observer, g *Goal, probes int) *bench {
	next := probes * samplesOfProbe
	return &bench{client: c, observer: o, goal: g, order: probe.NewOrder(c.SampleSeed(), c.Samples(), next),
		next: next}
}

// samplesOfProbe is about how many samples one probe uses.
const samplesOfProbe = 997

// sent returns the samples of arrivals. Each is the sample that a run at this rate sends with that query, so that the
// answers are as long as the run's. If a server keeps its prefix cache between two probes, each probe starts at another
// place of the order, so that no prompt is in the cache.
func (b *bench) sent(arrivals []Arrival, queries int) []int {
	shift := 0
	if !b.client.RepeatsPrompts() {
		shift = b.next
		b.next += len(arrivals)
	}
	order := b.client.Order(queries)
	list := make([]int, len(arrivals))
	for i, a := range arrivals {
		list[i] = order[(a.Query+shift)%len(order)]
	}
	return list
}

func (b *bench) await(ctx context.Context) error { return b.client.AwaitEndpoints(ctx) }

// measured is the measurement of a step with the data of its probe.
type measured struct {
	Measured
	data    *ledger.Test
	spoiled string
	lag     bool // whether the client itself spoiled it
}

// measure performs a step. It returns when the server has answered everything, so that the next step finds it idle.
func (b *bench) measure(ctx context.Context, step Step) (*measured, error) {
	begun := time.Now()
	var l *probe.Load
	var arrivals []Arrival
	var samples []int
	rate, err := step.Rate, error(nil)
	if step.Concurrency > 0 {
		n := step.Queries + step.Concurrency // the last queries keep the server busy until enough have ended
		arrivals = everyCounted(n)
		samples = b.order.Next(n)
		l, err = probe.New(nil, samples, step.Concurrency, b.client.Shards())
		rate = 1
	} else {
		queries := b.goal.Queries(step.Rate)
		deltas := schedule.ServerDeltas(b.goal.Load.Seed, step.Rate, queries)
		arrivals = Hardest(deltas, int64(step.Answer), step.Queries)
		due := make([]int64, len(arrivals))
		for i, a := range arrivals {
			due[i] = a.AtNS
		}
		samples = b.sent(arrivals, queries)
		l, err = probe.New(due, samples, 0, b.client.Shards())
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	m := &measured{Measured: Measured{Kind: step.Kind, Rate: step.Rate, Concurrency: step.Concurrency}}
	if err := b.send(ctx, l, step, samples, m, NewMeter(b.goal, rate, arrivals)); err != nil {
		return nil, err
	}
	m.Took = time.Since(begun)
	return m, nil
}

// send sends a load through the client and records the measurement.
func (b *bench) send(ctx context.Context, l *probe.Load, step Step, samples []int, m *measured, meter *Meter) error {
	over, decided := make(chan struct{}), make(chan Decision, 1)
	figures := newFigures(b.goal, step)
	go func() {
		defer crash.Catch()
		decided <- follow(l, meter, step, over, func(e probe.End, values []time.Duration) {
			figures.add(replyOf(l, e, samples[e.Seq]), values)
			if step.Concurrency > 0 && figures.ended >= step.Queries {
				l.Stop()
			}
		}, func() { b.show(l) })
	}()
	p, err := b.client.Send(ctx, l)
	close(over)
	m.Decision = <-decided
	if err != nil {
		return err
	}
	m.data, m.spoiled, m.lag = p.Data, p.Spoiled, isLag(p.Causes)
	m.Counts = meter.Counts()
	figures.fill(&m.Measured)
	m.learn(b.goal, figures.replies)
	if step.Kind != Rate {
		m.Decision = ""
	}
	return nil
}

// isLag reports whether the client itself, and not the server, spoiled a measurement.
func isLag(causes []record.Cause) bool {
	return slices.ContainsFunc(causes, record.Cause.LimitsClient)
}

// show reports the progress of a probe.
func (b *bench) show(l *probe.Load) {
	var g run.Progress
	b.client.Look(&g)
	g.Total = int64(len(l.Due())) // 0 without a schedule
	if s := g.Elapsed.Seconds(); s > 0 {
		g.RatePerS = float64(g.Done) / s
	}
	b.observer.Progress(g)
}

// figures returns the medians of a step, and the answers per second of a closed loop.
type figures struct {
	step         Step
	tail         float64 // the percentile that is limited
	ended        int
	settled, end float64 // s: when a third had ended, and all
	answers      []time.Duration
	replies      []reply           // of a closed loop: those that count
	values       [][]time.Duration // by limit
}

func newFigures(g *Goal, step Step) *figures {
	return &figures{step: step, tail: g.Percentile, values: make([][]time.Duration, len(g.Limits))}
}

func (f *figures) add(r reply, values []time.Duration) {
	f.ended++
	f.answers = append(f.answers, seconds(r.end-r.due))
	if f.step.Concurrency == 0 || f.ended <= f.step.Queries {
		f.replies = append(f.replies, r)
	}
	for i, v := range values {
		f.values[i] = append(f.values[i], v)
	}
	if f.ended == f.step.Queries/3 {
		f.settled = r.end
	}
	if f.ended == f.step.Queries {
		f.end = r.end
	}
}

func (f *figures) fill(m *Measured) {
	m.Answer = quantile(f.answers, 0.5)
	for _, v := range f.values {
		m.Medians = append(m.Medians, quantile(v, 0.5).Seconds())
		m.Tails = append(m.Tails, quantile(v, f.tail).Seconds())
	}
	if f.step.Concurrency > 0 && f.end > f.settled {
		m.Answers = float64(f.step.Queries-f.step.Queries/3) / (f.end - f.settled)
	}
}
