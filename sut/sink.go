// HOT PATH: FirstToken, Complete and TokenGap run once a sample or a token. No lock, no channel, no allocation.

package sut

import (
	"context"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// sink writes what a backend reports into the ledger and to LoadGen.
type sink struct {
	ledger      *ledger.Shard
	loadgen     loadgen.Reporter
	firstTokens bool // LoadGen waits for a first token of every sample
	failed      func(backends.Attempt)
	unusual     func(finishReason string)
	counts      *counts
	oneFailed   func()
	now         func() int64
}

var _ backends.Sink = (*sink)(nil)

// wallClock gives a clock of ns since 1970 that reads the monotonic clock only, which is half the price. A step of the
// wall clock is found by other means, and ends in no valid result.
func wallClock() func() int64 {
	base := time.Now()
	wall := base.UnixNano()
	return func() int64 { return wall + int64(time.Since(base)) }
}

// FirstToken goes to LoadGen only where it is the sample's first: the ledger refuses another.
func (s *sink) FirstToken(q loadgen.Query, tokens []int32, atNS int64) {
	if s.ledger.FirstToken(q.Seq, atNS) && s.firstTokens {
		s.loadgen.FirstTokenComplete(q.ID, tokens)
	}
}

// TokenGap counts a gap between tokens.
func (s *sink) TokenGap(gapNS int64, n int) { s.ledger.Gap(gapNS, n) }

// Failed hands a failed attempt on to whoever keeps the list.
func (s *sink) Failed(a backends.Attempt) { s.failed(a) }

// Complete ends a sample. The ledger decides whether it is the first completion; LoadGen never sees a second.
func (s *sink) Complete(q loadgen.Query, o *backends.Outcome) {
	reason := o.Reason
	told := s.ledger.HasFirstToken(q.Seq) // what a backend did counts, not the time that it wrote down
	if reason == backends.OK && s.firstTokens && !told {
		reason = backends.FailNoFirstToken
	}
	first := s.ledger.Complete(q.Seq, &ledger.Completion{
		Reason: reason, Source: o.TokenSource, Endpoint: o.Endpoint, Retries: o.Retries,
		InputTokens: o.InputTokens, OutputTokens: o.NTokens, Events: o.Events, Merged: o.Merged,
		DequeuedNS: o.DequeuedNS, SentNS: o.SentNS, FirstByteNS: o.FirstByteNS, FirstTokenNS: o.FirstTokenNS,
		LastTokenNS: o.LastTokenNS, ReadableNS: o.ReadableNS, DoneNS: s.now(),
	})
	if !first {
		return
	}
	switch {
	case reason != backends.OK:
		// A first token that is missing would crash LoadGen's accuracy mode. This empty one stands in no figure of ours.
		if s.firstTokens && !told {
			s.loadgen.FirstTokenComplete(q.ID, nil)
		}
		s.loadgen.QuerySamplesComplete(q.ID, nil, 0)
	case o.Text != nil: // kept only where answers are texts, be they empty, whether the server gave ids too or not
		s.loadgen.QuerySamplesCompleteBytes(q.ID, o.Text, o.NTokens)
	default:
		s.loadgen.QuerySamplesComplete(q.ID, o.Tokens, o.NTokens)
	}
	s.counts.ended.Add(1)
	if reason == backends.OK && !usualFinish(o.FinishReason) {
		s.unusual(o.FinishReason)
	}
	if reason != backends.OK {
		s.counts.failed.Add(1)
		s.oneFailed()
	}
}

// stoppedPace slows LoadGen down once a test was ended early: in SingleStream it issues the next query as soon as one
// ends, which would make tens of thousands of cancelled samples before the process is gone.
const stoppedPace = 20 * time.Millisecond

// source notes each query in the ledger as it leaves the ring.
type source struct {
	ctx    context.Context
	ring   loadgen.Source
	ledger *ledger.Shard
	counts *counts
	ended  bool // the backend was told that nothing more comes
}

var _ loadgen.Source = (*source)(nil)

// Pop moves queries out of the ring.
func (s *source) Pop(dst []loadgen.Query) int {
	n := s.ring.Pop(dst)
	s.note(dst[:n])
	return n
}

// Wait is Pop that blocks.
func (s *source) Wait(dst []loadgen.Query, timeout time.Duration) (int, bool) {
	n, open := s.ring.Wait(dst, timeout)
	s.note(dst[:n])
	s.ended = !open
	return n, open
}

func (s *source) note(queries []loadgen.Query) {
	if len(queries) == 0 {
		return
	}
	if s.ctx.Err() != nil {
		time.Sleep(stoppedPace)
	}
	for i := range queries {
		s.ledger.Issue(queries[i].Seq, queries[i].Index, queries[i].IssuedNS)
	}
	s.counts.taken.Add(int64(len(queries)))
}
