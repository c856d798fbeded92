// HOT PATH: tokens runs once a read, judge and complete once a query. No lock; no allocation except for more queries in
// flight than ever before. refuse and record run once a failure.

package http1

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// reporter reports tokens, completed queries and failed attempts.
type reporter struct {
	sink        backends.Sink
	bulk        backends.Bulk                                       // sink, if it is that of a bulk; else nil
	streamed    func(q loadgen.Query, news []wire.News, atNS int64) // of batches; nil: requests carry one prompt
	times       *poller                                             // the time of each report
	targets     []target
	modelOf     func(index int) string // see backends.Config.Model
	outstanding int                    // queries that were taken and not completed
	lost        backends.Outcome       // of a query without an answer
	exchanges   freelist[exchange]
	conducts    freelist[conduct]
}

// asked returns the model that a request names; empty: the run's.
func (r *reporter) asked(x *exchange) string {
	if r.modelOf == nil {
		return ""
	}
	return r.modelOf(x.query.Index)
}

// exchange returns an exchange for a new query.
func (r *reporter) exchange() *exchange {
	x := r.exchanges.get()
	if x == nil {
		x = &exchange{}
		x.timer.exchange = x
	}
	return x
}

// tokens reports the tokens in the bytes of one read, all of them at the time of these bytes. It returns their number.
func (r *reporter) tokens(x *exchange, from *reading, b []byte) (total int) {
	o := &from.out
	at := max(r.times.came, x.sentNS, o.LastTokenNS)
	n, rest := from.answer.Feed(b)
	if n == 0 && o.FirstTokenNS == 0 && o.ChoiceNS == 0 && from.answer.Begun() {
		o.ChoiceNS = at
	}
	for n > 0 {
		total += n
		switch first := o.FirstTokenNS == 0; {
		case r.streamed != nil:
			o.FirstTokenNS = at
			r.streamed(x.query, from.answer.News(), at)
		case first:
			o.FirstTokenNS = at
			r.sink.FirstToken(x.query, from.answer.Tokens(), at)
			if n > 1 {
				r.sink.Tokens(x.query, n-1, at, 0)
			}
		default:
			r.sink.Tokens(x.query, n, at, at-o.LastTokenNS)
		}
		o.LastTokenNS, o.ReadableNS = at, r.times.readable()
		if o.VisibleNS == 0 && from.answer.Visible() {
			o.VisibleNS = at
		}
		if len(rest) == 0 {
			break
		}
		n, rest = from.answer.Feed(rest)
	}
	return total
}

// judge gets the outcome of a connection's answer from the protocol, and records a failure. cut and why are the failure
// of the transport and its explanation.
func (r *reporter) judge(c *conn, cut backends.Reason, why string) {
	o := &c.reading.out
	detail := c.reading.answer.Finish(o, cut)
	if o.Reason == backends.OK && c.unwritten() {
		o.Reason, detail = backends.FailUnsent, policy.Unsent
	}
	if o.NTokens > 0 && o.LastTokenNS == 0 {
		o.LastTokenNS, o.ReadableNS = r.times.came, r.times.readable() // the tokens of a whole answer come with its last byte
	}
	switch o.Reason {
	case backends.Abandoned:
		return
	case backends.OK:
		if o.Model != "" {
			r.targets[c.endpoint].models.Learn(r.asked(c.exchange), o.Model)
		}
		return
	}
	if detail == "" {
		detail = why
	}
	r.record(c.exchange, &policy.Failure{Reason: o.Reason, Detail: detail}, c.reading.kept, false)
}

// complete reports the outcome of an exchange, whose memory may be used again when it returns.
func (r *reporter) complete(x *exchange, o *backends.Outcome) {
	o.Endpoint, o.Retries = x.endpoint, x.again
	o.DequeuedNS, o.FirstByteNS = x.dequeuedNS, x.firstByteNS
	if o.SentNS, o.TriedNS = x.sentNS, x.triedNS; o.SentNS == 0 {
		o.SentNS = o.TriedNS
	}
	if x.conduct != nil {
		r.ended(x)
	}
	r.sink.Complete(x.query, o)
	r.outstanding--
	r.exchanges.put(x)
}

// flush reports the answers of a bulk that wait.
func (r *reporter) flush() {
	if r.bulk != nil {
		r.bulk.Flush()
	}
}

// lose completes an exchange that has no answer to judge.
func (r *reporter) lose(x *exchange, reason backends.Reason) {
	r.lost = unanswered(reason)
	r.complete(x, &r.lost)
}

// unanswered is the outcome of a query without an answer.
func unanswered(reason backends.Reason) backends.Outcome {
	return backends.Outcome{UsageTokens: -1, InputTokens: -1, CachedTokens: -1, Reason: reason}
}

// refuse completes a query that is not sent.
func (r *reporter) refuse(t task, reason backends.Reason) {
	if reason == backends.FailNoEndpoint {
		r.sink.Failed(policy.Homeless(t.query, time.Now().UnixNano()))
	}
	r.lost = unanswered(reason)
	r.lost.Endpoint, r.lost.DequeuedNS = balance.Nowhere, t.dequeuedNS
	r.sink.Complete(t.query, &r.lost)
	r.outstanding--
}

// record reports a failed attempt. kept is the first KiB of its answer.
func (r *reporter) record(x *exchange, f *policy.Failure, kept []byte, retried bool) {
	t := &r.targets[x.endpoint]
	r.sink.Failed(t.Record(x.query, x.endpoint, f, kept, retried, time.Now().UnixNano()))
}
