package nethttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/internal/nvtx"
)

// trace collects what net/http reports about one attempt, from its own goroutines.
type trace struct {
	conns       atomic.Int32
	reused      atomic.Bool
	badTLS      atomic.Bool
	sentNS      atomic.Int64 // 0: no connection was made
	firstByteNS atomic.Int64
	connected   func()        // called for each new connection
	mark        func()        // called for each connection, in programs that mark ranges
	written     chan struct{} // receives a value when the whole request was written
	body        *body
}

func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			t.sentNS.CompareAndSwap(0, time.Now().UnixNano())
			t.reused.Store(i.Reused)
			t.conns.Add(1)
			if nvtx.On {
				t.mark()
			}
			if !i.Reused {
				t.connected()
			}
		},
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				select {
				case t.written <- struct{}{}:
				default:
				}
			}
		},
		GotFirstResponseByte: func() { t.firstByteNS.Store(time.Now().UnixNano()) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err != nil {
				t.badTLS.Store(true)
			}
		},
	}
}

// reportGrace is how long net/http may take to report that a request was written after it has read its last byte. The
// reporting goroutine competes with all others for the processor, so that a busy machine needs much longer.
const reportGrace = 5 * time.Second

// sent reports whether the whole request was written. Bytes that net/http has read may still be in a buffer, and its
// report may come after the answer.
func (t *trace) sent() bool {
	if t.body.left.Load() > 0 {
		return false
	}
	select {
	case <-t.written:
		return true
	case <-time.After(reportGrace):
		return false
	}
}

// body sends the cached bytes of a sample without a copy, after a few bytes of this attempt. It has no GetBody, so that
// net/http cannot repeat a request without a record.
type body struct {
	own, shared bytes.Reader
	left        atomic.Int64 // unread bytes
}

func newBody(own, shared []byte) *body {
	b := &body{}
	b.own.Reset(own)
	b.shared.Reset(shared)
	b.left.Store(int64(len(own) + len(shared)))
	return b
}

func (b *body) Read(p []byte) (n int, err error) {
	if n, err = b.own.Read(p); n == 0 {
		n, err = b.shared.Read(p)
	}
	b.left.Add(-int64(n))
	return n, err
}

func (*body) Close() error { return nil }

// try makes one attempt and leaves its outcome in r.out and a. After a success the answer's body stays open as w.open.
func (w *worker) try(r *request, a *attempt, deadline time.Time) {
	c := w.shard.client
	ctx, cancel := context.WithCancelCause(w.shard.ctx)
	w.cancel = cancel
	w.watchdog.arm(cancel, deadline)
	if c.config.Stream {
		w.watchdog.expect(time.Now().Add(c.config.FirstTokenTimeout), policy.FirstTokenOver)
	}
	endpoint := a.endpoint
	t := trace{connected: func() { c.Connected(endpoint) }, written: make(chan struct{}, 1)}
	if nvtx.On {
		t.mark = func() { backends.MarkSent(w.shard.sink, r.query, c.config.Stream) }
	}
	begunNS := time.Now().UnixNano()
	response, err := w.send(httptrace.WithClientTrace(ctx, t.hooks()), r, a, &t)
	r.stamp(begunNS, t.sentNS.Load())
	r.out.FirstByteNS = t.firstByteNS.Load()
	// net/http uses another connection without asking if the first one was closed before a byte was written. Over
	// HTTP/2 that is usual: the connection had no room for a further stream, or was about to end.
	if !c.config.HTTP2 {
		r.out.Retries += max(0, int(t.conns.Load())-1)
	}
	if err != nil {
		w.lost(ctx, err, &t, a)
		r.out.Reason = a.Reason
		w.close(nil)
		return
	}
	w.shard.queue.well(a.endpoint)
	if bad := w.refused(response, r, a); bad {
		r.out.Reason = a.Reason
		w.close(response.Body)
		return
	}
	a.Detail = w.read(ctx, response, r, c.endpoints[a.endpoint])
	if r.out.Reason == backends.OK && !t.sent() {
		r.out.Reason, a.Detail = backends.FailUnsent, policy.Unsent
	}
	if a.Reason = r.out.Reason; a.Reason != backends.OK {
		w.close(response.Body)
		return
	}
	w.open = response.Body
}

func (w *worker) send(ctx context.Context, r *request, a *attempt, t *trace) (*http.Response, error) {
	c := w.shard.client
	e := c.endpoints[a.endpoint]
	header, b := e.identify(c, r)
	t.body = b
	request := (&http.Request{
		Method: http.MethodPost, URL: e.URL, Host: e.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: b, ContentLength: b.left.Load(),
	}).WithContext(ctx)
	if a.fresh {
		return c.fresh.RoundTrip(request)
	}
	return c.pooled.RoundTrip(request)
}

// identify creates the id of an attempt, if the endpoint's requests carry one, and returns the header and the body that
// contain it.
func (e *endpoint) identify(c *Client, r *request) (http.Header, *body) {
	content := c.config.Body(r.query.Index)
	header, own := e.header, []byte(nil)
	r.id = r.id[:0]
	number := c.sent.Add(1)
	if e.id != (wire.RequestIDField{}) {
		r.id = c.ids.Append(r.id, number)
	}
	if more := c.config.Head; more != nil {
		header = header.Clone()
		for line := range strings.Lines(string(more(r.query.Index))) {
			name, value, _ := strings.Cut(line, ":")
			header.Set(name, strings.TrimSpace(value))
		}
	}
	if c.config.Traced {
		header = header.Clone()
		header.Set(policy.TraceHeader, string(c.ids.AppendTrace(nil, number, r.query.Seq)))
	}
	switch {
	case e.id.Header != "":
		header = header.Clone()
		header.Set(e.id.Header, string(r.id))
	case e.id.Member != "":
		own = fmt.Appendf(nil, `{"%s":"%s",`, e.id.Member, r.id)
		content = content[1:]
	}
	return header, newBody(own, content)
}

// expect sets the request and the model that an answer must belong to.
func (e *endpoint) expect(r *request) {
	want := wire.Expected{StreamMode: e.stream}
	e.mu.Lock()
	e.models.Expect(&want, r.asked)
	e.mu.Unlock()
	if len(r.id) > 0 {
		want.ID, want.Must = r.id, e.must
	}
	r.answer.Expect(want)
}

// lost stores in a why no response came.
func (w *worker) lost(ctx context.Context, err error, t *trace, a *attempt) {
	begun := t.firstByteNS.Load() != 0
	reason := classify(ctx, err, begun)
	if reason == backends.FailReset && t.badTLS.Load() {
		reason = backends.FailTLS
	}
	// an attempt that a deadline or the end of the test has cut off is not repeated
	over := begun || context.Cause(ctx) != nil
	a.Failure = policy.Lost(reason, explain(ctx, reason, err), over, t.reused.Load())
	a.Unseen = !over && isUnseen(err)
	a.usedUp = !over && errors.As(err, &usedUpError{})
}

// explain returns one sentence about a failure of the transport.
func explain(ctx context.Context, reason backends.Reason, err error) string {
	var late *policy.Deadline
	if errors.As(context.Cause(ctx), &late) {
		return late.Detail
	}
	return policy.Explain(reason, err)
}

// refused reports whether the response must be refused, and reads the beginning of its body.
func (w *worker) refused(response *http.Response, r *request, a *attempt) bool {
	h := response.Header
	is := policy.Response{Status: response.StatusCode, Encoding: h.Get("Content-Encoding"), Location: h.Get("Location"),
		RetryAfter: h.Get("Retry-After")}
	if !is.Refused() {
		return false
	}
	w.readHead(response.Body, r)
	a.Failure = is.Refusal(r.body, time.Now())
	return true
}

// readHead keeps the beginning of a refusal, and reads the rest if it is short, so that the connection can be used
// again.
func (w *worker) readHead(from io.Reader, r *request) {
	for read := 0; read < policy.DrainBytes; {
		n, err := from.Read(w.buf)
		r.body = policy.Keep(r.body, w.buf[:n])
		if err != nil {
			return // the status is known: the rest of the body adds nothing
		}
		read += n
	}
}

// read reads an answer while it arrives and reports its tokens. It returns one sentence about a failure.
func (w *worker) read(ctx context.Context, response *http.Response, r *request, e *endpoint) string {
	r.answer.Begin(response.Header.Get("Content-Type"))
	e.expect(r)
	cut, why := backends.OK, ""
	var now time.Time
	for {
		n, err := response.Body.Read(w.buf)
		if n > 0 {
			now = time.Now()
			r.body = policy.Keep(r.body, w.buf[:n])
			w.feed(r, w.buf[:n], now)
			if r.answer.Settled() {
				break
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			cut = classify(ctx, err, true)
			why = explain(ctx, cut, err)
			break
		}
	}
	detail := r.answer.Finish(&r.out, cut)
	if r.out.NTokens > 0 && r.out.LastTokenNS == 0 {
		r.out.LastTokenNS = now.UnixNano() // the tokens of a whole answer come with its last byte
	}
	if r.out.Reason == backends.OK && r.out.Model != "" {
		e.mu.Lock()
		e.models.Learn(r.asked, r.out.Model)
		e.mu.Unlock()
	}
	if detail == "" {
		detail = why
	}
	return detail
}

// feed reports the tokens in the bytes of one read, all of them at the time of that read.
func (w *worker) feed(r *request, p []byte, now time.Time) {
	at := now.UnixNano()
	for {
		var n int
		if n, p = r.answer.Feed(p); n == 0 {
			if r.out.FirstTokenNS == 0 && r.out.ChoiceNS == 0 && r.answer.Begun() {
				r.out.ChoiceNS = at
			}
			break
		}
		switch first := r.out.FirstTokenNS == 0; {
		case w.shard.client.protocol.Streamed != nil:
			r.out.FirstTokenNS = at
			w.shard.reports <- report{request: r, news: slices.Clone(r.answer.News()), atNS: at}
		case first:
			r.out.FirstTokenNS = at
			w.shard.reports <- report{request: r, first: true, tokens: r.answer.Tokens(), atNS: at}
			if n > 1 {
				w.shard.sink.Tokens(r.query, n-1, at, 0)
			}
		default:
			w.shard.sink.Tokens(r.query, n, at, at-r.out.LastTokenNS)
		}
		r.out.LastTokenNS = at
		if r.out.VisibleNS == 0 && r.answer.Visible() {
			r.out.VisibleNS = at
		}
	}
	if r.out.LastTokenNS == at {
		w.watchdog.expect(now.Add(w.shard.client.config.TokenTimeout), policy.TokenOver)
	}
}
