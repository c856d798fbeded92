// HOT PATH: look runs once a wait, endRound and beginRound once a round. No allocation, no clock.

package http1

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// pace decides how the loop waits. With many streams in flight, each token wakes the loop, which
// costs more than to handle the token. During a pause several tokens come together
// (docs/reference/measurements.md#pausing-after-a-wake-up). It delays events by up to its length, so pauses
// are made only while wake-ups come faster than that and each pause collects more than one event.
type pace struct {
	length time.Duration // 0: never pause
	on     bool
	quick  bool // the waits follow each other within quickGap
	looks  int  // waits that have ended
	events int
	from   int64 // ns, when the first of them ended
}

// looksTogether is the number of waits that one decision is based on.
const looksTogether = 16

// fewEvents is the number of events per wait from which a loop has enough to do without pauses.
const fewEvents = 8

// quickGap is the mean time between wake-ups, in ns, below which the loop keeps its thread's place while it waits.
const quickGap = int64(time.Millisecond)

// look notes the end of a wait with n events.
func (p *pace) look(now int64, n int) {
	p.looks++
	p.events += n
	if p.looks < looksTogether {
		return
	}
	if p.on {
		p.on = 2*p.events >= 3*p.looks
	} else {
		p.on = now-p.from < looksTogether*int64(p.length) && p.events < fewEvents*p.looks
	}
	p.quick = now-p.from < looksTogether*quickGap
	p.looks, p.events, p.from = 0, 0, now
}

// stats are the figures of a loop; see backends.LoopStats.
type stats struct {
	rounds    ledger.LagCounts
	longest   int64
	began     int64 // ns, of the present round; 0: none has begun
	turns     int64
	sleeps    int64
	pauses    int64
	events    int64
	unasked   int64
	realtime  bool
	processor int // -1: any
}

func (s *stats) endRound(now int64) {
	if s.began == 0 {
		return
	}
	s.turns++
	s.rounds.Add(now - s.began)
	s.longest = max(s.longest, now-s.began)
}

// beginRound begins a round of n events.
func (s *stats) beginRound(now int64, n int) {
	s.began = now
	s.events += int64(n)
}

// summary returns the figures of one Serve, whose thread used a processor for cpu seconds and waited for one for delay
// seconds.
func (l *loop) summary(cpu, delay float64) backends.LoopStats {
	s := &l.stats
	sum := backends.LoopStats{
		Realtime: s.realtime, CPU: s.processor, CoalesceUS: float64(l.pace.length) / float64(time.Microsecond),
		Pauses: s.pauses, Turns: s.turns, Sleeps: s.sleeps, Events: s.events, StallMaxUS: float64(s.longest) / 1e3,
		Stalls: s.rounds.Buckets(), CPUSeconds: cpu, RunDelayS: delay, ConnectionsMax: l.pool.openMax,
		QueueMax: l.intake.queueMax, Unasked: s.unasked,
	}
	if l.intake.limit < math.MaxInt {
		sum.LimitMax = l.intake.limit
	}
	return sum
}
