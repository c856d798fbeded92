// HOT PATH: FirstToken and Tokens run once a token, Complete once a request. No allocation once the buffers have their
// size, and no lock but that of the queue, and that of the first tokens if the load has over_saturation.

package engine

import (
	"fmt"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// sink writes what a loop reports into the slots.
type sink struct {
	table   *table
	queue   *queue
	now     func() int64
	failed  func(backends.Attempt)
	isUsers func() bool // the stage is closed
	first   *firstTokens
	report  ledger.Batch
}

var _ backends.Sink = (*sink)(nil)

// FirstToken begins the list of events. The ids are those of the first event.
func (k *sink) FirstToken(q loadgen.Query, tokens []int32, atNS int64) {
	s := k.table.at(q.Seq)
	s.rec.Events = append(s.rec.Events, eventlog.Event{AtNS: atNS, Tokens: 1})
	s.more = max(len(tokens)-1, 0)
	if k.first != nil {
		k.first.add(firstToken{q.IssuedNS, atNS})
	}
}

// Tokens adds an event.
func (k *sink) Tokens(q loadgen.Query, n int, atNS, _ int64) {
	s := k.table.at(q.Seq)
	if s.more > 0 {
		s.rec.Events[0].Tokens += n
		s.more = 0
		return
	}
	s.rec.Events = append(s.rec.Events, eventlog.Event{AtNS: atNS, Tokens: n})
}

// Failed passes a failed attempt on.
func (k *sink) Failed(a backends.Attempt) { k.failed(a) }

// Complete ends a request.
func (k *sink) Complete(q loadgen.Query, o *backends.Outcome) {
	s, r := k.table.at(q.Seq), &k.table.at(q.Seq).rec
	r.SentNS, r.FirstByteNS, r.ChoiceNS, r.VisibleNS, r.EndNS = o.SentNS, o.FirstByteNS, o.ChoiceNS, o.VisibleNS, k.now()
	if o.TriedNS != 0 { // a wait for a server that refused connections is no delay of this client
		r.ReadyNS += o.SentNS - o.TriedNS
	}
	r.InputTokens, r.OutputTokens = max(o.InputTokens, 0), max(o.NTokens, 0)
	r.CachedTokens, r.HasCached = max(o.CachedTokens, 0), o.CachedTokens >= 0 && o.InputTokens > 0
	r.Endpoint, r.Retries = max(o.Endpoint, 0), o.Retries
	r.Reason, r.Finish = o.Reason, o.FinishReason
	if o.Reason == backends.Abandoned {
		r.Reason, r.Cancelled = "", true
		r.OutputTokens = r.Streamed()
	}
	k.checkLength(q, r, o)
	if o.LastTokenNS != 0 && o.ReadableNS != 0 {
		k.report.Record(r.EndNS - o.ReadableNS)
	}
	if s.keeps {
		s.ids, s.text = append(s.ids[:0], o.Tokens...), append(s.text[:0], o.Text...)
	}
	k.queue.end(s, s.session == nil && k.isUsers())
}

// checkLength fails an answer whose length shows that the server did not use the limit of its request. The protocols
// check answers in the same way if all requests have one limit.
func (k *sink) checkLength(q loadgen.Query, r *eventlog.Request, o *backends.Outcome) {
	exact := o.TokenSource == backends.TokensFromIDs || o.TokenSource == backends.TokensFromUsage
	if r.AskedOutput == 0 || r.OutputTokens == r.AskedOutput || !exact || o.Reason != backends.OK {
		return
	}
	a := backends.Attempt{Query: q, Endpoint: r.Endpoint, AtNS: r.EndNS}
	switch {
	case r.OutputTokens > r.AskedOutput:
		a.Reason, a.Detail = backends.FailTooLarge, fmt.Sprintf("the answer has %d output tokens, but %d were allowed: "+
			"the server ignores max_tokens", r.OutputTokens, r.AskedOutput)
	case backends.EndsByLength(r.Finish):
		a.Reason, a.Detail = backends.FailTooShort, fmt.Sprintf("the server cut the answer at %d output tokens, but %d "+
			"were allowed: its context or another limit of the server is shorter", r.OutputTokens, r.AskedOutput)
	default:
		return
	}
	r.Reason = a.Reason
	k.failed(a)
}
