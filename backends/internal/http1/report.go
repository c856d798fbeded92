// HOT PATH: complete runs once a query. No lock, no allocation; refuse and record run once a failure.

package http1

import (
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// reporter completes queries and records failed attempts.
type reporter struct {
	sink        backends.Sink
	targets     []target
	outstanding int              // queries that were taken and not completed
	lost        backends.Outcome // of a query without an answer
}

// complete reports the outcome of an exchange.
func (r *reporter) complete(x *exchange, o *backends.Outcome) {
	o.Endpoint, o.Retries = x.endpoint, x.again
	o.DequeuedNS, o.SentNS, o.FirstByteNS = x.dequeuedNS, x.sentNS, x.firstByteNS
	r.sink.Complete(x.query, o)
	r.outstanding--
}

// lose completes an exchange that has no answer to judge.
func (r *reporter) lose(x *exchange, reason backends.Reason) {
	r.lost = backends.Outcome{UsageTokens: -1, InputTokens: -1, Reason: reason}
	r.complete(x, &r.lost)
}

// refuse completes a query that is not sent.
func (r *reporter) refuse(t task, reason backends.Reason) {
	if reason == backends.FailNoEndpoint {
		r.sink.Failed(policy.Homeless(t.query, time.Now().UnixNano()))
	}
	r.lost = backends.Outcome{UsageTokens: -1, InputTokens: -1, Reason: reason, Endpoint: balance.Nowhere,
		DequeuedNS: t.dequeuedNS}
	r.sink.Complete(t.query, &r.lost)
	r.outstanding--
}

// record reports a failed attempt. kept is the first KiB of its answer.
func (r *reporter) record(x *exchange, f *policy.Failure, kept []byte, retried bool) {
	t := &r.targets[x.endpoint]
	r.sink.Failed(t.Record(x.query, x.endpoint, f, kept, retried, time.Now().UnixNano()))
}
