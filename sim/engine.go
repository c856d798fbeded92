package sim

// Hot path: the engine thread. Nothing here is allocated per token.

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"
)

// turnBytes bounds what one sequence writes in one turn of a late engine, so that it does not delay the others.
const turnBytes = 64 << 10

// sequence is one prompt and its answer.
type sequence struct {
	reply    *reply
	index    int // of the choice
	prompt   []int32
	cached   int     // tokens at the start of the prompt that the prefix cache had; -1: there is no cache
	tokens   []int32 // the answer, EOS included
	spelling spelling
	// reasoning is the number of tokens at the start of a chat answer that are reasoning.
	reasoning int
	calls     *wireCalls // set if the answer is function calls and the request has tools
	finish    string     // finish_reason; empty: not sent
	stopID    int32
	garbleAt  int // the event that ends behind this token is garbled; -1: none

	// Owned by the engine thread. Times are the pacer's, in ns.
	sent     int
	first    int64 // when the first token is due
	due      int64 // when the next event is due
	lastSent int64
	ticket   int64 // order of arrival
	slot     int   // index in the schedule; -1: not running
	gone     bool
}

func (q *sequence) kv() int { return len(q.prompt) + len(q.tokens) }

// reply is one HTTP answer in progress.
type reply struct {
	conn   *conn
	enc    encoder
	fail   func(*apiError) []byte
	plan   plan
	seqs   []*sequence
	stream bool
	plain  []byte // the whole answer if it is not streamed
	closes bool   // the connection ends with it
	group  int    // tokens in one event
	// reasoning is the number of tokens of reasoning at the start of an answer.
	reasoning int
	arrival   int64
	done      chan struct{} // closed when the engine has released it
	id        string
	writes    []Written // for Config.OnStreamed

	live  int // sequences that have not ended; the engine's
	ended bool
}

// counts are the numbers of tokens that an answer reports.
type counts struct {
	prompt, tokens int
	cached         int // of the prompt; -1: not reported
}

// counts returns the tokens of all sequences.
func (r *reply) counts() (n counts) {
	for _, q := range r.seqs {
		n.prompt += len(q.prompt)
		n.tokens += len(q.tokens)
		n.cached += q.cached
	}
	if n.cached < 0 {
		n.cached = -1
	}
	return n
}

// counts returns the tokens of a sequence, of whose answer some were sent.
func (q *sequence) counts(sent int) counts { return counts{len(q.prompt), sent, q.cached} }

// engine models continuous batching. A sequence waits in order of arrival for a slot and for KV room (prompt plus whole
// answer, so that nothing is preempted). Its prefill waits for the single prefill resource; its first token is due TTFT
// after the prefill, the others every TPOT, or later if more sequences run. Each time is computed from scheduled times,
// never from when the engine woke up, so lateness does not accumulate.
type engine struct {
	cfg   *Config
	meter *meters
	pace  *pacer
	onDie func()

	mu    sync.Mutex
	inbox []message
	stop  atomic.Bool

	waiting     []*sequence
	waitingHead int
	running     schedule
	kvUsed      int
	prefillFree int64
	tickets     int64
	out         []byte
}

type message struct {
	reply *reply
	abort bool
}

func newEngine(cfg *Config, m *meters, onDie func()) (*engine, error) {
	pace, err := newPacer()
	if err != nil {
		return nil, err
	}
	return &engine{cfg: cfg, meter: m, pace: pace, onDie: onDie}, nil
}

// submit passes a reply to the engine thread; abort cancels it. Both may be called from any goroutine.
func (e *engine) submit(r *reply) { e.send(message{r, false}) }
func (e *engine) abort(r *reply)  { e.send(message{r, true}) }

func (e *engine) send(m message) {
	e.mu.Lock()
	e.inbox = append(e.inbox, m)
	e.mu.Unlock()
	e.pace.wake()
}

func (e *engine) halt() {
	e.stop.Store(true)
	e.pace.wake()
}

// run is the engine thread. It ends after halt.
func (e *engine) run() {
	e.pace.pin()
	idle := func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.inbox) == 0 && !e.stop.Load()
	}
	var mail []message
	for !e.stop.Load() {
		e.mu.Lock()
		mail, e.inbox = e.inbox, mail[:0]
		e.mu.Unlock()
		for i, m := range mail {
			if m.abort {
				e.giveUp(m.reply)
			} else {
				e.arrive(m.reply)
			}
			mail[i] = message{}
		}
		until := int64(-1)
		if len(e.running) > 0 {
			now := e.pace.now()
			if q := e.running[0]; q.due <= now {
				e.step(q, now)
				continue
			}
			until = e.running[0].due
		}
		e.pace.wait(until, idle)
	}
}

func (e *engine) arrive(r *reply) {
	if e.waitingHead > 1024 && e.waitingHead > len(e.waiting)/2 {
		e.waiting = e.waiting[:copy(e.waiting, e.waiting[e.waitingHead:])]
		clear(e.waiting[len(e.waiting):cap(e.waiting)])
		e.waitingHead = 0
	}
	r.live = len(r.seqs)
	for _, q := range r.seqs {
		e.tickets++
		q.ticket, q.slot = e.tickets, -1
		e.waiting = append(e.waiting, q)
	}
	e.meter.waiting.Add(int64(r.live))
	e.admit(r.arrival)
}

// admit assigns slots to waiting sequences in order. at is the time when room became free, or the arrival.
func (e *engine) admit(at int64) {
	for e.waitingHead < len(e.waiting) {
		q := e.waiting[e.waitingHead]
		if !q.gone {
			if len(e.running) >= e.cfg.MaxNumSeqs || e.kvUsed+q.kv() > e.cfg.kvTokens() {
				return
			}
			e.start(q, max(at, q.reply.arrival))
		}
		e.waiting[e.waitingHead] = nil
		e.waitingHead++
	}
	e.waiting, e.waitingHead = e.waiting[:0], 0
}

func (e *engine) start(q *sequence, at int64) {
	m := e.meter
	e.kvUsed += q.kv()
	ready := at
	if e.cfg.PrefillRate > 0 {
		ready = max(at, e.prefillFree) + int64(float64(len(q.prompt)-max(q.cached, 0))/e.cfg.PrefillRate*1e9)
		e.prefillFree = ready
	}
	q.first = ready + int64(e.cfg.TTFT)*max(q.reply.plan.slowdown, 1)
	q.due = q.first
	heap.Push(&e.running, q)
	q.due = e.dueOf(q) // itself included
	heap.Fix(&e.running, q.slot)
	m.promptTokens.Add(int64(len(q.prompt)))
	m.queue.observe(at - q.reply.arrival)
	m.waiting.Add(-1)
	m.running.Store(int64(len(e.running)))
	m.kvUsed.Store(int64(e.kvUsed))
	raise(&m.peakRunning, int64(len(e.running)))
	raise(&m.peakKV, int64(e.kvUsed))
}

// eventEnd returns the number of tokens sent once the next event is.
func (q *sequence) eventEnd() int {
	switch {
	case !q.reply.stream:
		return len(q.tokens)
	case q.sent == 0:
		return min(1, len(q.tokens))
	case q.sent < q.reasoning: // no event has both reasoning and content
		return min(q.sent+q.reply.group, q.reasoning)
	}
	return min(q.sent+q.reply.group, len(q.tokens))
}

// dueOf returns the time of the next event: that of its last token. The sequences that run when the event before is
// sent, or when an answer that is not streamed starts, determine how long a token takes.
func (e *engine) dueOf(q *sequence) int64 {
	each := e.cfg.TPOT + e.cfg.TPOTPerSequence*time.Duration(max(len(e.running)-1, 0))
	return q.due + int64(max(q.eventEnd()-max(q.sent, 1), 0))*int64(each)
}

// step writes every event of q that is due, in one write.
func (e *engine) step(q *sequence, now int64) {
	r := q.reply
	if !r.stream {
		e.meter.late(now - q.due)
		e.countPlain(q)
		e.retire(q, q.due, e.out[:0])
		return
	}
	out, from := e.out[:0], q.sent
	for q.due <= now && len(out) < turnBytes {
		to := q.eventEnd()
		if !r.plan.noChoices {
			out = r.enc.event(out, q, q.sent, to)
		}
		e.meter.late(now - q.due)
		e.countEvent(q, to, now)
		q.sent = to
		if to == len(q.tokens) {
			e.stamp(r, to-from)
			e.retire(q, q.due, out)
			return
		}
		q.due = e.dueOf(q)
	}
	e.stamp(r, q.sent-from)
	r.conn.write(out)
	e.out = out
	heap.Fix(&e.running, q.slot)
}

// stamp records the time of the following write with tokens.
func (e *engine) stamp(r *reply, tokens int) {
	if e.cfg.OnStreamed != nil {
		r.writes = append(r.writes, Written{e.pace.wall(e.pace.now()), tokens})
	}
}

// report passes the times of a stream to Config.OnStreamed.
func (e *engine) report(r *reply) {
	if e.cfg.OnStreamed != nil && r.stream && len(r.seqs) == 1 && r.plan.tail.then == keepOpen {
		e.cfg.OnStreamed(&Streamed{ID: r.id, ArrivalNS: e.pace.wall(r.arrival), Writes: r.writes})
	}
}

func (e *engine) countEvent(q *sequence, to int, now int64) {
	n := int64(to - q.sent)
	e.meter.generatedTokens.Add(n)
	if q.sent == 0 {
		e.meter.ttft.observe(now - q.reply.arrival)
	} else if n > 0 {
		e.meter.itl.observeN((now-q.lastSent)/n, n)
	}
	q.lastSent = now
}

// countPlain counts an answer that is not streamed by its schedule.
func (e *engine) countPlain(q *sequence) {
	n := int64(len(q.tokens))
	e.meter.generatedTokens.Add(n)
	e.meter.ttft.observe(q.first - q.reply.arrival)
	if n > 1 {
		e.meter.itl.observeN((q.due-q.first)/(n-1), n-1)
	}
}

// retire ends q, writes its remaining bytes, and frees its slot at time at.
func (e *engine) retire(q *sequence, at int64, out []byte) {
	r := q.reply
	reason := q.finish
	if reason == "" {
		reason = "error"
	}
	e.meter.finish(reason)
	e.meter.e2e.observe(at - r.arrival)
	e.leave(q)
	if r.live--; r.live == 0 || r.plan.half {
		e.finish(r, out)
	} else if r.stream {
		r.conn.write(out)
		e.out = out
	}
	e.admit(at)
}

// leave removes q from the schedule or the queue.
func (e *engine) leave(q *sequence) {
	q.gone = true
	if q.slot < 0 {
		e.meter.waiting.Add(-1)
		return
	}
	heap.Remove(&e.running, q.slot)
	e.kvUsed -= q.kv()
	e.meter.running.Store(int64(len(e.running)))
	e.meter.kvUsed.Store(int64(e.kvUsed))
}

// finish writes the end of a reply and releases it. Sequences that still run end with it.
func (e *engine) finish(r *reply, out []byte) {
	for _, q := range r.seqs {
		if !q.gone {
			e.meter.finish("error")
			e.leave(q)
		}
	}
	r.ended = true
	e.meter.inFlight.Add(-1)
	then := r.plan.tail.then
	if then == keepOpen {
		e.meter.replies.Add(1) // before the client can read the answer, so that it never sees an older count
	}
	switch {
	case r.stream:
		out = r.enc.tail(out, r)
		r.conn.write(out)
		e.out = out
		e.report(r)
	case then == keepOpen:
		r.conn.write(r.plain)
	default:
		r.conn.write(r.plain[:len(r.plain)/2])
	}
	if then == keepOpen {
		r.conn.idleFrom(time.Now())
	}
	if r.closes && then == keepOpen {
		r.conn.after(hangUp)
	} else {
		r.conn.after(then)
	}
	if then == die {
		e.onDie()
	}
	r.conn.answered = e.pace.now()
	close(r.done)
}

// giveUp ends a reply whose client has gone. Its tokens so far stay counted.
func (e *engine) giveUp(r *reply) {
	if r.ended {
		return
	}
	now := e.pace.now()
	for _, q := range r.seqs {
		if !q.gone {
			e.meter.finish("abort")
			e.leave(q)
		}
	}
	r.ended = true
	e.meter.inFlight.Add(-1)
	close(r.done)
	e.admit(now)
}

// schedule is a heap of the running sequences by the time of their next event.
type schedule []*sequence

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	if s[i].due != s[j].due {
		return s[i].due < s[j].due
	}
	return s[i].ticket < s[j].ticket
}
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].slot, s[j].slot = i, j
}
func (s *schedule) Push(x any) {
	q := x.(*sequence)
	q.slot = len(*s)
	*s = append(*s, q)
}
func (s *schedule) Pop() any {
	last := len(*s) - 1
	q := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	q.slot = -1
	return q
}
