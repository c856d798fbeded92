package probe

import (
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Feed decides which query is issued next, and when. A Load calls it from one thread at a time. Queries are numbered in
// the order of Next, from 0 on.
type Feed interface {
	// Left returns how many queries were not issued yet.
	Left() int
	// Ready reports whether one of them may be issued now.
	Ready() bool
	// Next returns the sample of the next query.
	Next() int
	// Ended is called when a query has ended.
	Ended(seq int)
}

// NewFed returns a load whose queries come from a feed. The shards share it: each issues what is ready when it asks.
// The caller must call Close.
func NewFed(feed Feed, shards int) (*Load, error) {
	l, err := New(nil, make([]int, feed.Left()), 0, shards)
	if err != nil {
		return nil, err
	}
	l.feed = feed
	return l, nil
}

// fed is wait for a load with a feed.
func (q *queue) fed() (left time.Duration, ended bool) {
	q.feeding.Lock()
	defer q.feeding.Unlock()
	switch {
	case q.stopped.Load() || q.feed.Left() == 0:
		return 0, true
	case q.feed.Ready():
		return 0, false
	}
	return time.Second, false
}

// popFed is Pop for a load with a feed.
func (q *queue) popFed(dst []loadgen.Query) int {
	q.feeding.Lock()
	defer q.feeding.Unlock()
	n := 0
	for n < len(dst) && !q.stopped.Load() && q.feed.Left() > 0 && q.feed.Ready() {
		seq, now := int(q.issued.Load()), q.Now()
		q.starts[seq] = now
		dst[n] = loadgen.Query{ID: loadgen.ResponseID(seq + 1), Index: q.feed.Next(), Seq: seq, Call: seq,
			IssuedNS: q.wall + now}
		q.issued.Add(1)
		q.inFlight.Add(1)
		n++
	}
	return n
}

// release reports the end of a query to the feed, and wakes every shard, because the released query may belong to any
// of them.
func (q *queue) release(seq int) {
	q.feeding.Lock()
	q.feed.Ended(seq)
	q.feeding.Unlock()
	for _, other := range q.shards {
		other.ring()
	}
}
