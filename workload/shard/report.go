package shard

import (
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/report/live"
)

// progressEvery is how often a shard reports what it has done.
const progressEvery = time.Second

// settled is how long ago a request has ended at least that is certainly counted.
const settled = 200 * time.Millisecond

// Counter returns what counts the requests for the coordinator; nil: it has not asked for that.
func (g *Gate) Counter() *live.Counter { return g.counter.Load() }

// report sends the progress until Close, and once more then.
func (g *Gate) report() {
	defer crash.Catch()
	defer close(g.reported)
	if g.progress == nil {
		return
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	counted := 0
	for last := false; !last; {
		select {
		case <-g.closed:
			last = true
		case <-tick.C:
		}
		g.mu.Lock()
		l := g.link
		g.mu.Unlock()
		if l == nil {
			continue
		}
		p := g.progress()
		g.each(last, func(s *live.Second) {
			counted = s.Number + 1
			if !s.Empty() {
				one := p
				one.Counted, one.Second = counted, s
				_ = l.send(&message{Progress: &one}) // a broken connection is noticed by its reader
			}
		})
		p.Counted, p.Last = counted, last
		_ = l.send(&message{Progress: &p})
	}
}

// each calls f with the seconds that ended; with all before the end.
func (g *Gate) each(last bool, f func(*live.Second)) {
	c := g.Counter()
	if c == nil {
		return
	}
	next := c.Last
	if !last {
		until := time.Now().Add(-settled)
		next = func() (live.Second, bool) { return c.Next(until) }
	}
	for s, ok := next(); ok; s, ok = next() {
		f(&s)
	}
}
