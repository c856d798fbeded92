package nethttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
)

const (
	readBuffer = 4 << 10 // bytes a worker reads at once
	answerHead = 1 << 10 // bytes of an answer that a failure record keeps
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// worker sends one request after another.
type worker struct {
	shard    *shard
	watchdog watchdog
	buf      []byte
	open     io.ReadCloser // body of an answer that is complete, and whose connection may yet be given back
	cancel   context.CancelCauseFunc
}

// work starts a worker; the queue calls it.
func (s *shard) work() {
	s.workers.Add(1)
	go func() {
		defer s.workers.Done()
		w := &worker{shard: s, buf: make([]byte, readBuffer)}
		for r := s.queue.pop(); r != nil; r = s.queue.pop() {
			w.serve(r)
			s.reports <- report{request: r}
			w.giveBack()
		}
	}()
}

// attempt is one try of a request.
type attempt struct {
	endpoint int
	fresh    bool
	reason   backends.Reason
	detail   string
	stale    bool          // a reused connection ended before the first byte of an answer
	again    bool          // the failure is one that another attempt may heal
	wait     time.Duration // what the server asked for with Retry-After
}

// serve brings one request to its outcome, with as many attempts as are allowed. Before the first byte of an answer a
// dead reused connection is worth one repeat, and further attempts are the user's to allow; after it there is none.
func (w *worker) serve(r *request) {
	s := w.shard
	c := &s.client.config
	deadline := time.Now().Add(c.RequestTimeout)
	a := attempt{endpoint: s.client.balancer.Pick(r.query.Index)}
	repeated, left, pause := false, c.Retries, firstPause
	for {
		if s.ctx.Err() != nil {
			r.out.Reason = backends.FailCancelled
			break
		}
		r.body = r.body[:0]
		w.try(r, &a, deadline)
		r.out.Endpoint = a.endpoint
		if a.reason == backends.OK {
			break
		}
		var wait time.Duration
		retry := false
		switch {
		case a.stale && !repeated:
			retry, repeated = true, true
		case a.again && left > 0:
			wait = max(pause, a.wait)
			if retry = time.Now().Add(wait).Before(deadline); retry {
				left, pause = left-1, min(2*pause, lastPause)
			}
		}
		w.failed(r, &a, retry)
		if !retry {
			break
		}
		r.out.Retries++
		next := attempt{endpoint: a.endpoint, fresh: true}
		if wait > 0 {
			s.client.balancer.Done(a.endpoint)
			s.pause(wait)
			next.endpoint = s.client.balancer.Pick(r.query.Index)
		}
		a = next
	}
	s.client.balancer.Done(a.endpoint)
}

// pause waits, at most until the end of the context.
func (s *shard) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// failed records an attempt, without the key that a server may have sent back.
func (w *worker) failed(r *request, a *attempt, retried bool) {
	e := &w.shard.client.endpoints[a.endpoint]
	detail := fmt.Sprintf("POST %s: %s", e.url, a.detail)
	w.shard.sink.Failed(backends.Attempt{
		Query: r.query, Endpoint: a.endpoint, Reason: a.reason, Detail: e.redact(detail),
		Body: []byte(e.redact(string(r.body))), Retried: retried, AtNS: time.Now().UnixNano(),
	})
}

// redact takes the API key out of a text.
func (e *endpoint) redact(text string) string {
	if e.key == "" {
		return text
	}
	return string(bytes.ReplaceAll([]byte(text), []byte(e.key), []byte("[key]")))
}

// giveBack reads a complete answer to its end, so that its connection can be used again, and closes it where that end
// does not come soon.
func (w *worker) giveBack() {
	if w.open == nil {
		return
	}
	const patience, most = 100 * time.Millisecond, 64 << 10
	w.watchdog.expect(time.Now().Add(patience), errDrain)
	for read := 0; read < most; {
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
		_ = body.Close() // it was only read from: nothing is lost by an error here
	}
	w.cancel(nil)
}
