// HOT PATH: FirstToken, Complete and Tokens run once per sample or per token. No lock, no channel, no allocation.

package sut

import (
	"cmp"
	"context"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/nvtx"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// sink passes a backend's reports to the ledger and to LoadGen.
type sink struct {
	ledger      *ledger.Shard
	loadgen     loadgen.Reporter
	holder      loadgen.Holder // loadgen, if answers may be reported together; else nil
	bulk        bool           // the backend calls Flush
	firstTokens bool           // whether LoadGen expects a first token from every sample
	failed      func(backends.Attempt)
	unusual     func(finishReason string)
	counts      *counts
	oneFailed   func()
	now         func() int64
}

var (
	_ backends.Sink       = (*sink)(nil)
	_ backends.SentMarker = (*sink)(nil)
	_ backends.Bulk       = (*sink)(nil)
)

// wallClock returns a clock of ns since 1970 that reads only the monotonic clock, at half the cost. Package run detects
// steps of the wall clock, which make the result invalid.
func wallClock() func() int64 {
	base := time.Now()
	wall := base.UnixNano()
	return func() int64 { return wall + int64(time.Since(base)) }
}

// FirstToken reports a sample's first token to LoadGen. The ledger rejects a second one.
func (s *sink) FirstToken(q loadgen.Query, tokens []int32, atNS int64) {
	nvtx.Next(q.Seq, nvtx.Stream)
	if s.ledger.FirstToken(q.Seq, atNS) && s.firstTokens {
		s.loadgen.FirstTokenComplete(q.ID, tokens)
	}
}

// Sent marks the start of the answer's range for profilers, in builds that mark ranges.
func (s *sink) Sent(q loadgen.Query, stream bool) {
	if stream {
		nvtx.Next(q.Seq, nvtx.FirstToken)
	} else {
		nvtx.Next(q.Seq, nvtx.Answer)
	}
}

// Tokens counts a gap between tokens.
func (s *sink) Tokens(_ loadgen.Query, n int, _, gapNS int64) { s.ledger.Gap(gapNS, n) }

// Failed passes a failed attempt to Options.Failed.
func (s *sink) Failed(a backends.Attempt) { s.failed(a) }

// Complete ends a sample. The ledger decides whether it is the first completion; LoadGen never sees a second.
func (s *sink) Complete(q loadgen.Query, o *backends.Outcome) {
	nvtx.Next(q.Seq, nvtx.Complete)
	reason := o.Reason
	untold := s.firstTokens && !s.ledger.HasFirstToken(q.Seq) // the backend's call counts, not the time in the outcome
	if reason == backends.OK && untold {
		reason = backends.FailNoFirstToken
	}
	first := s.ledger.Hold(q.Seq, &ledger.Completion{
		Reason: reason, Source: o.TokenSource, FinishReason: o.FinishReason, Endpoint: o.Endpoint, Retries: o.Retries,
		InputTokens: o.InputTokens, OutputTokens: o.NTokens, Events: o.Events, Merged: o.Merged,
		DequeuedNS: o.DequeuedNS, SentNS: cmp.Or(o.TriedNS, o.SentNS), FirstByteNS: o.FirstByteNS,
		FirstTokenNS: o.FirstTokenNS, LastTokenNS: o.LastTokenNS, ReadableNS: o.ReadableNS,
	})
	if !first {
		return
	}
	if !s.bulk {
		s.ledger.Release(s.now())
	}
	switch {
	case reason != backends.OK:
		// A missing first token would crash LoadGen's accuracy mode. No metric of this program includes this empty
		// first token.
		if untold {
			s.loadgen.FirstTokenComplete(q.ID, nil)
		}
		s.loadgen.QuerySamplesComplete(q.ID, nil, 0)
	case s.bulk && o.Text != nil:
		s.holder.HoldBytes(q.ID, o.Text, o.NTokens)
	case s.bulk:
		s.holder.Hold(q.ID, o.Tokens, o.NTokens)
	case o.Text != nil: // set only if answers are logged as text, even if empty and even with ids
		s.loadgen.QuerySamplesCompleteBytes(q.ID, o.Text, o.NTokens)
	default:
		s.loadgen.QuerySamplesComplete(q.ID, o.Tokens, o.NTokens)
	}
	nvtx.Next(q.Seq, nvtx.End)
	if !s.bulk {
		s.counts.ended.Add(1)
	}
	if reason == backends.OK && !usualFinish(o.FinishReason) {
		s.unusual(o.FinishReason)
	}
	if reason != backends.OK {
		s.counts.failed.Add(1)
		s.oneFailed()
	}
}

// StartBulk lets good answers wait for Flush, if the test allows that.
func (s *sink) StartBulk() bool {
	s.bulk = s.holder != nil
	return s.bulk
}

// Flush reports the answers that wait.
func (s *sink) Flush() {
	n := s.ledger.Held()
	if n == 0 {
		return
	}
	s.ledger.Release(s.now())
	s.holder.Flush()
	s.counts.ended.Add(int64(n))
}

// stoppedPace slows LoadGen down after a test was ended early. In SingleStream it issues the next query as soon as one
// ends, which would cancel tens of thousands of samples before the process exits.
const stoppedPace = 20 * time.Millisecond

// source records each query in the ledger as it leaves the ring.
type source struct {
	ctx    context.Context
	ring   loadgen.Source
	ledger *ledger.Shard
	counts *counts
	idle   func() // called when the backend has nothing to do
	ended  bool   // whether the backend was told that no more queries follow
}

var _ loadgen.Source = (*source)(nil)

// Pop moves queries from the ring to dst and returns their number.
func (s *source) Pop(dst []loadgen.Query) int {
	n := s.ring.Pop(dst)
	s.note(dst[:n])
	return n
}

// Wait is like Pop but blocks until there are queries or the timeout has passed.
func (s *source) Wait(dst []loadgen.Query, timeout time.Duration) (int, bool) {
	s.idle()
	n, open := s.ring.Wait(dst, timeout)
	s.note(dst[:n])
	if s.ended = !open; s.ended {
		s.idle() // LoadGen may have ended the series after the last answer
	}
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
		nvtx.Next(queries[i].Seq, nvtx.Send)
		s.ledger.Enter(queries[i].Seq, queries[i].Index, queries[i].IssuedNS)
	}
	s.ledger.Announce()
	s.counts.taken.Add(int64(len(queries)))
}
