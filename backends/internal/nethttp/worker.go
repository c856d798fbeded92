package nethttp

import (
	"context"
	"io"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/internal/crash"
)

const readBuffer = 4 << 10 // bytes a worker reads at once

// worker sends one request after another.
type worker struct {
	shard    *shard
	watchdog watchdog
	buf      []byte
	open     io.ReadCloser // body of a complete answer, whose connection may still become reusable
	cancel   context.CancelCauseFunc
	held     int // endpoint at which the request counts as in flight; balance.Nowhere: none
}

// work starts a worker. The queue calls it.
func (s *shard) work() {
	s.workers.Add(1)
	go func() {
		defer crash.Catch()
		defer s.workers.Done()
		w := &worker{shard: s, buf: make([]byte, readBuffer)}
		for r := s.queue.pop(); r != nil; r = s.queue.pop() {
			if !w.serve(r) {
				continue
			}
			s.reports <- report{request: r}
			w.giveBack()
			s.queue.end(w.held)
		}
	}()
}

// attempt is one attempt of a request, and how it failed.
type attempt struct {
	endpoint int
	fresh    bool
	usedUp   bool // this machine allowed no connection
	policy.Failure
}

// serve makes as many attempts at a request as are allowed, and leaves its outcome in r.out. It reports false if the
// request waits in the queue again because this machine allows no more connections.
func (w *worker) serve(r *request) bool {
	s := w.shard
	c := &s.client.config
	deadline := time.Now().Add(c.RequestTimeout)
	a := attempt{endpoint: r.endpoint}
	retries := policy.NewRetries(c.Retries)
	for {
		if s.ctx.Err() != nil {
			r.out.Reason, r.out.Endpoint = backends.FailCancelled, a.endpoint
			break
		}
		if a.endpoint == balance.Nowhere {
			r.out.Reason, r.out.Endpoint = backends.FailNoEndpoint, balance.Nowhere
			s.sink.Failed(policy.Homeless(r.query, time.Now().UnixNano()))
			break
		}
		r.body = r.body[:0]
		w.try(r, &a, deadline)
		r.out.Endpoint = a.endpoint
		if a.Reason == backends.OK {
			break
		}
		if a.usedUp && r.out.Retries == 0 && s.queue.putBack(r) {
			return false
		}
		s.client.Lost(a.endpoint, a.Reason)
		if a.Absent() {
			s.queue.strike(a.endpoint)
		}
		wait, retry := retries.Next(&a.Failure, time.Until(deadline))
		e := s.client.endpoints[a.endpoint]
		s.sink.Failed(e.Record(r.query, a.endpoint, &a.Failure, r.body, retry, time.Now().UnixNano()))
		if !retry {
			break
		}
		r.out.Retries++
		next := attempt{endpoint: a.endpoint, fresh: true}
		if wait > 0 {
			s.queue.leave(a.endpoint)
			next.endpoint = s.elsewhere(r, wait, deadline)
		}
		a = next
	}
	if w.held = a.endpoint; r.out.SentNS == 0 {
		r.out.SentNS = r.out.TriedNS
	}
	return true
}

// elsewhere waits, and returns an endpoint with room; balance.Nowhere: none had room in time.
func (s *shard) elsewhere(r *request, wait time.Duration, deadline time.Time) int {
	for {
		s.pause(wait)
		endpoint, room, hopeless := s.queue.again(r)
		if room {
			return endpoint
		}
		if hopeless || s.ctx.Err() != nil || !time.Now().Before(deadline) {
			return balance.Nowhere
		}
		wait = policy.AskAgain
	}
}

// pause waits for d, or until the context is cancelled.
func (s *shard) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// giveBack reads a complete answer to its end, so that its connection can be used again, and closes it if the end does
// not come soon.
func (w *worker) giveBack() {
	if w.open == nil {
		return
	}
	w.watchdog.expect(time.Now().Add(policy.DrainTime), errDrain)
	for read := 0; read < policy.DrainBytes; {
		n, err := w.open.Read(w.buf)
		if err != nil {
			break
		}
		read += n
	}
	w.close(w.open)
	w.open = nil
}

// close ends an attempt.
func (w *worker) close(body io.Closer) {
	w.watchdog.disarm()
	if body != nil {
		_ = body.Close() // an error loses nothing: the body was only read
	}
	w.cancel(nil)
}
