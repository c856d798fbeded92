// HOT PATH: look runs once a wait, round and begin once a round. No allocation, no clock.

package http1

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
)

// pace decides whether the loop pauses before it looks again. With many streams in flight every token wakes the loop by
// itself, and a wake-up costs more than the token; a pause lets several come together
// (docs/reference/measurements.md#pausing-after-a-wake-up). It delays what is handled by up to its length, so it is
// used only while wake-ups come faster than that, and each pause brings more than one.
type pace struct {
	length time.Duration // 0: never pause
	on     bool
	looks  int
	events int
	from   int64 // ns, when the first look was
}

// looksTogether are judged together.
const looksTogether = 16

// fewEvents a look: with more the loop has enough to do without waiting for company.
const fewEvents = 8

// look notes a wait that has ended with n events.
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
	p.looks, p.events, p.from = 0, 0, now
}

// deeds are what a loop did; see backends.LoopStats.
type deeds struct {
	rounds    ledger.LagCounts
	longest   int64
	began     int64 // ns, of the present round; 0: none has begun
	turns     int64
	sleeps    int64
	pauses    int64
	events    int64
	open      int // connections
	openMax   int
	queueMax  int
	unasked   int64
	limit     int
	realtime  bool
	processor int // -1: any
}

// round ends the present round.
func (d *deeds) round(now int64) {
	if d.began == 0 {
		return
	}
	d.turns++
	d.rounds.Add(now - d.began)
	d.longest = max(d.longest, now-d.began)
}

// begin starts a round of n events.
func (d *deeds) begin(now int64, n int) {
	d.began = now
	d.events += int64(n)
}

// stats are the figures of one Serve, whose thread has used cpu seconds and waited delay seconds for a processor.
func (d *deeds) stats(p *pace, cpu, delay float64) backends.LoopStats {
	return backends.LoopStats{
		Realtime: d.realtime, CPU: d.processor, CoalesceUS: float64(p.length) / float64(time.Microsecond), Pauses: d.pauses,
		Turns: d.turns, Sleeps: d.sleeps, Events: d.events, StallMaxUS: float64(d.longest) / 1e3, Stalls: d.rounds.Buckets(),
		CPUSeconds: cpu, RunDelayS: delay, ConnectionsMax: d.openMax, LimitMax: d.limit, QueueMax: d.queueMax,
		Unasked: d.unasked,
	}
}
