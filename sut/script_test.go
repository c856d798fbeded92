//go:build cgo && !noloadgen

package sut_test

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// script is a backend that handles each query with a function of the test. One locked thread calls take.
type script struct {
	take  func(q loadgen.Query, sink backends.Sink)
	after func(sink backends.Sink, cancelled []loadgen.Query) // called after all queries are cancelled
	hold  bool                                                // whether queries are held until the context ends
	quit  int                                                 // queries after which it returns; 0: at the end
	err   error                                               // error that the backend then returns
	bulk  int                                                 // queries between two calls of Flush; 0: it makes none
}

var errBroken = errors.New("the scripted backend broke")

func (*script) Features() backends.Features { return backends.Features{} }

func (s *script) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var held, cancelled []loadgen.Query
	batch := make([]loadgen.Query, 8)
	flush := func() {}
	if s.bulk > 0 {
		batch = make([]loadgen.Query, s.bulk)
		if !sink.(backends.Bulk).StartBulk() {
			return errBroken
		}
		flush = sink.(backends.Bulk).Flush
	}
	for taken := 0; ; {
		n, open := src.Wait(batch, 10*time.Millisecond)
		if !open {
			return nil
		}
		for _, q := range batch[:n] {
			switch {
			case ctx.Err() != nil:
				held = append(held, q)
			case s.hold:
				held = append(held, q)
			default:
				s.take(q, sink)
			}
		}
		flush()
		if taken += n; s.quit > 0 && taken >= s.quit {
			return s.err
		}
		if ctx.Err() == nil {
			continue
		}
		for _, q := range held {
			sink.Complete(q, failed(backends.FailCancelled))
		}
		cancelled, held = append(cancelled, held...), nil
		if s.after != nil && len(cancelled) > 0 {
			s.after(sink, cancelled)
		}
	}
}

func now() int64 { return time.Now().UnixNano() }

func failed(why backends.Reason) *backends.Outcome {
	return &backends.Outcome{Reason: why, UsageTokens: -1, InputTokens: -1}
}

func answer(q loadgen.Query) *backends.Outcome {
	return &backends.Outcome{
		Tokens: []int32{int32(q.Index), 7, 2}, NTokens: 3, TokenSource: backends.TokensFromIDs, UsageTokens: 3,
		InputTokens: 5,
		SentNS:      q.IssuedNS, FirstTokenNS: now(), LastTokenNS: now(),
	}
}

func first(q loadgen.Query, sink backends.Sink) { sink.FirstToken(q, []int32{int32(q.Index)}, now()) }

func good(q loadgen.Query, sink backends.Sink) {
	first(q, sink)
	sink.Tokens(q, 2, now(), 1000)
	sink.Complete(q, answer(q))
}

var scripts = map[string]*script{
	"good": {take: good},
	"twice": {take: func(q loadgen.Query, sink backends.Sink) {
		first(q, sink)
		first(q, sink)
		sink.Complete(q, answer(q))
		sink.Complete(q, failed(backends.FailReset))
		first(q, sink)
	}},
	"unknown": {take: func(q loadgen.Query, sink backends.Sink) {
		sink.Complete(loadgen.Query{ID: 1, Seq: 1 << 20}, answer(q))
		sink.FirstToken(loadgen.Query{ID: 1, Seq: -1}, nil, now())
		good(q, sink)
	}},
	// answers without first tokens, one in five fails
	"bulk": {bulk: 7, take: func(q loadgen.Query, sink backends.Sink) {
		o := answer(q)
		if q.Seq%5 == 4 {
			o = failed(backends.FailReset)
		}
		sink.Complete(q, o)
		clear(o.Tokens) // its memory belongs to the backend again
		sink.Complete(q, o)
	}},
	// Of three samples, one fails before its first token, one fails after it, and one is answered.
	"fails": {take: func(q loadgen.Query, sink backends.Sink) {
		switch q.Seq % 3 {
		case 0:
			sink.Failed(backends.Attempt{Query: q, Reason: "http_500"})
			sink.Complete(q, failed("http_500"))
		case 1:
			first(q, sink)
			o := answer(q)
			o.Reason = backends.FailTruncated
			sink.Complete(q, o)
		default:
			good(q, sink)
		}
	}},
	"without first token": {take: func(q loadgen.Query, sink backends.Sink) {
		o := answer(q)
		o.FirstTokenNS = 0
		sink.Complete(q, o)
	}},
	"first token only written down": {take: func(q loadgen.Query, sink backends.Sink) { sink.Complete(q, answer(q)) }},
	"first token only reported": {take: func(q loadgen.Query, sink backends.Sink) {
		first(q, sink)
		o := answer(q)
		o.FirstTokenNS = 0
		sink.Complete(q, o)
	}},
	"text": {take: func(q loadgen.Query, sink backends.Sink) {
		first(q, sink)
		sink.Complete(q, &backends.Outcome{Text: []byte("grüße"), NTokens: 2})
	}},
	"text that is empty": {take: func(q loadgen.Query, sink backends.Sink) {
		first(q, sink)
		sink.Complete(q, &backends.Outcome{Text: []byte{}, Tokens: []int32{2}, NTokens: 2})
	}},
	"empty": {take: func(q loadgen.Query, sink backends.Sink) {
		first(q, sink)
		sink.Complete(q, &backends.Outcome{})
	}},
	"all fail": {take: func(q loadgen.Query, sink backends.Sink) { sink.Complete(q, failed(backends.FailConnect)) }},
	"silent":   {hold: true},
	"late": {hold: true, after: func(sink backends.Sink, cancelled []loadgen.Query) {
		for _, q := range cancelled {
			first(q, sink)
			sink.Complete(q, answer(q))
		}
	}},
	"quits":  {take: good, quit: 1},
	"breaks": {take: good, quit: 10, err: errBroken},
}
