package engine

import (
	"math"

	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/schedule"
)

// reserved is the number of prompts that a stage of unknown length keeps apart from those of the next stage.
const reserved = 1 << 20

// newKind returns the kind of the present stage. Unless the profile restarts its data, its prompts follow those of the
// stages before it, so that no prompt is in a cache because of them.
func (d *director) newKind() (kind, error) {
	s, first := d.profile, d.rows
	if d.Profile.Data.Restart {
		first = 0
	}
	d.firstSeq = d.seqs
	isChain := d.Source.Conversations() > 0
	if s.Arrival == profile.Closed && !isChain {
		d.rows += reservedFor(s)
		d.seqs += reservedFor(s)
		d.plan(reservedFor(s))
		return &closed{director: d, first: first, at: d.Part.Index}, nil
	}
	k := &sessions{director: d, first: first, think: s.ThinkTime, most: math.MaxInt, limit: math.MaxInt}
	switch s.Arrival {
	case profile.Sessions:
		switch {
		case s.Requests > 0:
			k.most = s.Requests
			d.rows += k.most
		case s.Duration > 0: // it repeats them until its end
			d.rows += reserved
		default: // a cursor walks over all of them
			k.most = d.Source.Sessions() - first
			d.rows += max(0, k.most)
		}
		d.seqs += reserved
		d.plan(k.most)
		k.starts = make([]int64, s.Concurrency)
		return k, nil
	case profile.Closed:
		d.rows += reserved
		d.seqs += max(reserved, s.Requests)
		d.plan(reservedFor(s))
		if s.Requests > 0 {
			k.limit = share(s.Requests, d.Part.step(), d.Part.Index)
		}
		k.starts = schedule.Starts(s)
		if d.Profile.Data.Rotate {
			return newRotation(*k), nil
		}
		k.rounds = make([]int, len(k.starts))
		return k, nil
	}
	due, err := schedule.Due(s, schedule.Seed{Profile: d.Profile.Seed, Stage: d.stage}, d.Arrivals)
	if err != nil {
		return nil, err
	}
	d.plan(len(due))
	if isChain {
		d.rows += reserved
		d.seqs += max(reserved, len(due))
		k.rounds = make([]int, d.Source.Conversations())
		return &turns{sessions: *k, due: due}, nil
	}
	d.rows += len(due)
	d.seqs += len(due)
	return &open{director: d, first: first, due: due, at: d.Part.Index}, nil
}

func reservedFor(s *profile.Stage) int {
	if s.Requests > 0 {
		return s.Requests
	}
	return reserved
}

// plan notes how many requests or sessions a stage has. Parts receive them in turn.
func (d *director) plan(count int) { d.hasPart = d.hasPart || count > d.Part.Index }

// open sends requests at due times.
type open struct {
	*director
	first int
	due   []int64 // after the stage's start
	at    int
}

func (k *open) feed() (bool, error) {
	for room := k.room(); room > 0 && k.at < len(k.due); room-- {
		s, err := k.prepare(k.first+k.at, 0, k.at, nil)
		if err != nil {
			return false, err
		}
		k.schedule(s, k.due[k.at])
		k.at += k.Part.step()
	}
	return k.at >= len(k.due), nil
}

func (k *open) after(*slot) error { return nil }
func (k *open) begin()            {}
func (k *open) awaits() bool      { return false }

// schedule queues a request for a time after the stage's start.
func (d *director) schedule(s *slot, after int64) {
	s.rec.DueNS = after
	if d.base == 0 {
		d.pending = append(d.pending, s)
		return
	}
	s.rec.DueNS += d.base
	d.push(s, max(s.notBefore, s.rec.DueNS))
}

// closed keeps users busy, each of whom sends the next request after an answer.
type closed struct {
	*director
	first, at int
	fresh     []*slot // prepared, and in no queue yet
}

// stockAtOnce is how many requests enter the queues together: few, because users may wait for them.
const stockAtOnce = 64

func (k *closed) feed() (bool, error) {
	most := k.profile.Requests
	for room := k.room(); room > 0 && (most == 0 || k.at < most); room-- {
		s, err := k.prepare(k.first+k.at, 0, k.at, nil)
		if err != nil {
			return false, err
		}
		if think := k.profile.ThinkTime; think != nil {
			s.thinkNS = int64(lengths.Draw(think, k.random(thinkStream, k.first+k.at)) * 1e9)
		}
		if k.fresh = append(k.fresh, s); len(k.fresh) == stockAtOnce {
			k.stock()
		}
		k.at += k.Part.step()
	}
	k.stock()
	long := int64(k.profile.Duration)
	return most > 0 && k.at >= most || long > 0 && k.base > 0 && k.now() >= k.base+long, nil
}

// stock puts prepared requests into the queues.
func (k *closed) stock() {
	for _, q := range k.active {
		q.mu.Lock()
		wasEmpty := q.restock()
		for _, s := range k.fresh {
			if k.queueOf(s.number) == q {
				q.stock = append(q.stock, s)
			}
		}
		if wasEmpty && len(q.stock) > 0 && k.base != 0 {
			q.ring()
		}
		q.mu.Unlock()
	}
	k.fresh = k.fresh[:0]
}

func (k *closed) after(*slot) error { return nil }

// awaits is false: users send the next request by themselves.
func (k *closed) awaits() bool { return false }

// begin lets the users come.
func (k *closed) begin() {
	k.users.Store(true)
	starts := schedule.Starts(k.profile)
	for u := k.Part.Index; u < len(starts); u += k.Part.step() {
		at, q := starts[u], k.active[u/k.Part.step()%len(k.active)]
		q.mu.Lock()
		q.users.push(k.base + at)
		if long := k.profile.Duration; long > 0 {
			q.until = k.base + int64(long)
		}
		q.mu.Unlock()
	}
}
