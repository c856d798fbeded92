package engine

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// director prepares requests and takes back those that ended. All methods run on one goroutine.
type director struct {
	maker
	ctx    context.Context
	now    func() int64
	wake   chan struct{}
	look   *time.Timer // of lookEvery
	queues queues
	sinks  []*sink

	stages   []profile.Stage
	begins   [][]int64 // by probe of a sweep: when its requests were sent
	ends     [][]int64 // and when they ended
	profile  *profile.Stage
	active   queues // that this stage uses
	kind     kind
	breakers breakers
	// saturation is the rule of the present stage; nil: it has none. first collects what it needs.
	saturation *saturation
	first      *firstTokens
	firsts     []firstToken
	users      atomic.Bool // the stage is closed: users of a queue send the next requests by themselves
	base       int64       // wall ns of the stage's start; 0: it has not started
	pending    []*slot     // prepared before the start
	spans      []Span
	rows       int // number of the next stage's first prompt
	seqs       int // number of the next stage's first request, if this is a part of a workload
	ended      []*slot
	hasPart    bool // a stage has a request for this part
	stopping   bool // the stage issues nothing more

	sessionIDs int   // so far
	cancelled  int64 // when the director saw the end of its context; 0: not yet
}

// kind is how the requests of a stage follow each other.
type kind interface {
	// feed prepares requests while there is room, and reports whether all are prepared.
	feed() (done bool, err error)
	// after handles a request that has ended, before its slot is used again.
	after(s *slot) error
	// begin sets what is known once the start is.
	begin()
	// awaits reports whether an answer decides what is sent next, so that the director must see it at once.
	awaits() bool
}

// Bounds of what is prepared ahead. Requests for users are fewer, so that they are still in the processor's caches when
// they are sent (docs/reference/measurements.md#requests-prepared-ahead).
const (
	aheadRequests = 4096
	aheadOfUsers  = 1024
	aheadFewest   = 64
	aheadBytes    = 64 << 20
)

// startIn is how long after its first requests are prepared a stage starts, so that every loop waits for it.
const startIn = 20 * time.Millisecond

// How often the director looks for ended requests that need no quick reaction: after a time, or once so many have
// ended in a loop. Each look costs several switches between threads.
const (
	lookEvery = 50 * time.Millisecond
	lookAfter = 256
)

func (d *director) open() error {
	if d.Profile.Load.Saturation != nil {
		d.first = &firstTokens{}
	}
	for range d.Backends {
		q, err := newQueue(d.now, d.notify)
		if err != nil {
			return err
		}
		d.queues = append(d.queues, q)
		d.sinks = append(d.sinks, &sink{table: &d.table, queue: q, now: d.now, failed: d.Failed, isUsers: d.users.Load,
			first: d.first})
	}
	return nil
}

// notify wakes the director.
func (d *director) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *director) run() error {
	sweep := d.Profile.Load.Sweep
	if d.stages = slices.Clone(d.Profile.Load.Stages); sweep != nil {
		d.stages = probes(sweep)
	}
	for i := 0; i < len(d.stages); i++ {
		if d.ctx.Err() != nil {
			return nil
		}
		if i > 0 && !d.pause(d.Profile.Load.Pause) {
			return nil
		}
		if err := d.runStage(i); err != nil {
			return fmt.Errorf("stage %d: %w", i, err)
		}
		if d.endsAll() {
			return nil
		}
		if sweep != nil && i == len(d.stages)-1 && d.ctx.Err() == nil { // else the probes may have sent nothing
			low, high := d.limits(sweep)
			d.stages, sweep = append(d.stages, swept(sweep, low, high)...), nil
		}
	}
	return nil
}

func (d *director) pause(long time.Duration) bool {
	select {
	case <-time.After(long):
		return true
	case <-d.ctx.Done():
		return false
	}
}

func (d *director) runStage(i int) error {
	d.stage, d.profile, d.base, d.stopping = i, &d.stages[i], 0, false
	d.live[liveStage].Store(int64(i))
	d.breakers, d.saturation = newBreakers(&d.Profile.Load, d.profile), newSaturation(&d.Profile.Load, d.profile)
	if err := d.choose(); err != nil {
		return err
	}
	span := Span{Stage: i}
	before, fed := d.live[liveEnded].Load(), false
	for {
		if err := d.collect(); err != nil {
			return err
		}
		why, bySaturation := d.breakers.open(d.now(), d.base), false
		if why == "" {
			why = d.saturated(!fed || d.hasUnsent())
			bySaturation = why != ""
		}
		if d.ctx.Err() != nil {
			why, bySaturation = context.Cause(d.ctx).Error(), false
		}
		if d.ctx.Err() != nil && d.abandoned() {
			break
		}
		if why != "" && span.Stopped == "" {
			span.Stopped, span.BySaturation, fed, d.stopping = why, bySaturation, true, true
			span.Unsent = d.drop()
		}
		if !fed {
			var err error
			if fed, err = d.kind.feed(); err != nil {
				return err
			}
		}
		if d.base == 0 && span.Stopped == "" {
			if err := d.start(); err != nil {
				return err
			}
			span.StartNS = d.base
		}
		d.active.expect(fed)
		if fed && d.queues.idle() {
			break
		}
		d.sleep()
	}
	d.users.Store(false)
	d.drop()
	span.EndNS, span.Requests = d.now(), d.live[liveEnded].Load()-before
	if d.saturation != nil {
		span.SaturatedNS = d.saturation.atNS
	}
	d.spans = append(d.spans, span)
	return nil
}

// endsAll reports whether the last stage was ended because its server was over-saturated, and the others with it.
func (d *director) endsAll() bool {
	return d.spans[len(d.spans)-1].BySaturation && d.saturation.Scope == profile.AllStages
}

// choose sets the kind of the stage, its queues and their limits.
func (d *director) choose() error {
	s, limit := d.profile, d.Profile.Load.InFlight
	closed := s.Arrival == profile.Closed
	if s.Concurrency > 0 && !closed && s.Arrival != profile.Sessions && (limit == 0 || s.Concurrency < limit) {
		limit = s.Concurrency
	}
	limit = share(limit, d.Part.step(), d.Part.Index)
	n := len(d.queues)
	if limit > 0 {
		n = min(n, limit)
	}
	if closed {
		n = min(n, share(s.Concurrency, d.Part.step(), d.Part.Index))
	}
	d.active = d.queues[:n]
	for i, q := range d.active {
		q.mu.Lock()
		q.room, q.freed, q.until = share(limit, n, i), 0, 0
		q.mu.Unlock()
	}
	var err error
	if d.kind, err = d.newKind(); err != nil {
		return err
	}
	enough := lookAfter
	if d.kind.awaits() {
		enough = 1
	}
	d.active.notice(enough)
	return nil
}

// share returns the i-th of n parts of a number.
func share(of, n, i int) int {
	if i < of%n {
		return of/n + 1
	}
	return of / n
}

// start begins the clock of the stage and queues the prepared requests. A context that has ended is no error here: it
// ends the stage.
func (d *director) start() error {
	at := d.now() + int64(startIn)
	if d.Gate != nil {
		var err error
		if at, err = d.Gate(d.ctx, d.stage); err != nil {
			if d.ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	d.base = at
	d.kind.begin()
	for _, s := range d.pending {
		s.rec.DueNS += d.base
		d.push(s, max(s.notBefore, s.rec.DueNS))
	}
	d.pending = d.pending[:0]
	for _, q := range d.active {
		q.bell.Set(0)
	}
	return nil
}

// abandonAfter is how long the loops may take to cancel what is in flight.
const abandonAfter = 5 * time.Second

// abandoned reports whether loops did not end their requests in flight: one of them has failed.
func (d *director) abandoned() bool {
	if d.cancelled == 0 {
		d.cancelled = d.now()
	}
	return d.now() > d.cancelled+int64(abandonAfter)
}

// stopped reports whether the stage issues no more requests.
func (d *director) stopped() bool { return d.stopping }

// queueOf returns the queue for a request or a session.
func (d *director) queueOf(number int) *queue { return d.active[number/d.Part.step()%len(d.active)] }

// push queues a request with its time, and wakes the loop if that is before all others.
func (d *director) push(s *slot, notBefore int64) {
	s.notBefore = notBefore
	q := d.queueOf(s.number)
	q.mu.Lock()
	isFirst := q.timed.len() == 0 || notBefore < q.timed.first().notBefore
	q.timed.push(s)
	if isFirst {
		q.ring()
	}
	q.mu.Unlock()
}

// room returns how many requests may be prepared now.
func (d *director) room() int {
	waiting := len(d.pending)
	for _, q := range d.active {
		q.mu.Lock()
		waiting += q.waiting()
		q.mu.Unlock()
	}
	most := mostAhead(d.profile)
	if d.planned > 0 && d.bodies > 0 {
		most = min(most, max(aheadFewest, int(aheadBytes/(d.bodies/int64(d.planned)+1))))
	}
	return most - waiting
}

// mostAhead returns how many small requests of a stage may be prepared ahead.
func mostAhead(s *profile.Stage) int {
	if s.Arrival != profile.Closed {
		return aheadRequests
	}
	return min(aheadRequests, max(aheadOfUsers, 2*s.Concurrency))
}

// collect collects the requests that have ended, writes them into the log and hands them to the stage.
func (d *director) collect() error {
	sent := int64(0)
	for _, q := range d.queues {
		q.mu.Lock()
		d.ended = append(d.ended, q.ended...)
		q.ended = q.ended[:0]
		sent += q.sent
		q.mu.Unlock()
	}
	d.live[liveSent].Store(sent)
	defer func() { d.ended = d.ended[:0] }()
	for _, s := range d.ended {
		if err := d.Log.Add(&s.rec); err != nil {
			return fmt.Errorf("the event log cannot be written: %w", err)
		}
		if d.Ended != nil {
			d.Ended(&s.rec)
		}
		d.live[liveEnded].Add(1)
		d.live[liveOutput].Add(int64(s.rec.OutputTokens))
		switch s.rec.Reason {
		case "":
		case ledger.FailCancelled:
			d.live[liveCancelled].Add(1)
		default:
			d.live[liveFailed].Add(1)
		}
		d.breakers.add(&s.rec)
		d.remember(s)
		if d.kind != nil {
			if err := d.kind.after(s); err != nil {
				return err
			}
		}
		d.table.put(s)
	}
	return nil
}

// remember keeps the times of the requests of a sweep's probes.
func (d *director) remember(s *slot) {
	if d.Profile.Load.Sweep == nil || !d.stages[s.rec.Stage].Warmup {
		return
	}
	for len(d.ends) <= s.rec.Stage {
		d.begins, d.ends = append(d.begins, nil), append(d.ends, nil)
	}
	d.begins[s.rec.Stage] = append(d.begins[s.rec.Stage], s.rec.SentNS)
	d.ends[s.rec.Stage] = append(d.ends[s.rec.Stage], s.rec.EndNS)
}

// sleep waits for something to do.
func (d *director) sleep() {
	d.look.Reset(lookEvery)
	select {
	case <-d.wake:
	case <-d.ctx.Done():
		time.Sleep(time.Millisecond) // the loops cancel what is in flight
	case <-d.look.C:
	}
}

// hasUnsent reports whether prepared requests are going to be sent.
func (d *director) hasUnsent() bool {
	if long := d.profile.Duration; d.users.Load() && long > 0 && d.now() >= d.base+int64(long) {
		return false
	}
	for _, q := range d.active {
		q.mu.Lock()
		n := q.waiting()
		q.mu.Unlock()
		if n > 0 {
			return true
		}
	}
	return false
}

// drop removes queued requests that were not sent, and returns their number.
func (d *director) drop() (n int64) {
	back := append(d.pending, d.queues.empty()...)
	d.pending = nil
	for _, s := range back {
		d.table.put(s)
	}
	return int64(len(back))
}

func (d *director) outcome() *Outcome {
	o := &Outcome{Spans: d.spans, Stages: d.stages, Requests: d.live[liveEnded].Load(), Ended: context.Cause(d.ctx)}
	if sweep := d.Profile.Load.Sweep; sweep != nil {
		o.Probes = len(probes(sweep))
	}
	o.IsEmpty = d.Part.Of > 1 && !d.hasPart && o.Requests == 0
	var report ledger.Histogram
	for i, b := range d.Backends {
		if loop := b.Features().Loop; loop != nil {
			o.Loops = append(o.Loops, loop())
		}
		d.sinks[i].report.MoveTo(&report)
	}
	if report.Count() > 0 {
		s := report.Stats()
		o.ReportLag = s
	}
	return o
}
