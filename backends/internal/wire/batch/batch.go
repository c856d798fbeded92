package batch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// linger is how long an incomplete batch waits for the next sample. LoadGen issues an Offline test at once, so that
// only its last batch waits.
const linger = 5 * time.Millisecond

// Backend is a backend of batches.
type Backend struct {
	backends.Backend // of whole batches
	config           *backends.Config
	frames           []frame

	groups atomic.Pointer[[]*group] // by the index of the query that represents the batch
	mu     sync.Mutex               // guards spare and changes of groups
	spare  []int
}

// group is one batch of samples. The source fills it; then it belongs to the backend's thread until its completion.
type group struct {
	sink    backends.Sink // of the samples
	queries []loadgen.Query
	body    []byte // written once, because net/http may read it after the answer has come
	lengths []int  // number of ids of each prompt; -1: the prompt is text
	seen    []bool
	times   []span // by sample; of a stream
}

// span is when the first and the last token of one sample came; wall clock, ns since 1970, 0: none came.
type span struct{ first, last int64 }

// Open opens the backend of whole batches. It passes streamed to the client as wire.Protocol.Streamed.
type Open func(c *backends.Config, streamed func(batch loadgen.Query, news []wire.News, atNS int64)) (backends.Backend,
	error)

// New returns a backend that sends c.Batch samples in each request.
func New(c *backends.Config, f Form, open Open) (*Backend, error) {
	b := &Backend{config: c}
	inner := *c
	inner.Body, inner.Key = b.request, b.key
	b.groups.Store(new([]*group))
	var err error
	if b.Backend, err = open(&inner, b.streamed); err != nil {
		return nil, err
	}
	if b.frames, err = f.frames(c); err != nil {
		return nil, err
	}
	return b, nil
}

// Features are those of the inner backend.
func (b *Backend) Features() backends.Features {
	f := b.Backend.Features()
	if warmUp := f.WarmUp; warmUp != nil {
		f.WarmUp = func(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
			s := b.shard(src, sink)
			return warmUp(ctx, s, s)
		}
	}
	return f
}

// Serve answers the queries of src in batches.
func (b *Backend) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	s := b.shard(src, sink)
	return b.Backend.Serve(ctx, s, s)
}

func (b *Backend) shard(src loadgen.Source, sink backends.Sink) *shard {
	return &shard{backend: b, source: src, sink: sink, buf: make([]loadgen.Query, b.config.Batch)}
}

// put stores a batch, whose samples are reported to sink, and returns its index.
func (b *Backend) put(queries []loadgen.Query, sink backends.Sink) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	groups := *b.groups.Load()
	var slot int
	if n := len(b.spare); n > 0 {
		slot = b.spare[n-1]
		b.spare = b.spare[:n-1]
	} else {
		slot = len(groups)
		groups = append(slices.Clip(groups), &group{}) // readers have the list of before
		b.groups.Store(&groups)
	}
	g := groups[slot]
	g.sink, g.queries, g.body, g.lengths = sink, append(g.queries[:0], queries...), nil, g.lengths[:0]
	g.times = append(g.times[:0], make([]span, len(queries))...)
	return slot
}

// group takes no lock, because it is called once an event of a stream.
func (b *Backend) group(slot int) *group { return (*b.groups.Load())[slot] }

func (b *Backend) free(slot int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = append(b.spare, slot)
}

// key returns the key of the first sample.
func (b *Backend) key(slot int) uint64 {
	index := b.group(slot).queries[0].Index
	if b.config.Key != nil {
		return b.config.Key(index)
	}
	return uint64(index)
}

// request joins the requests of a batch when it is sent for the first time, so that only batches in flight use memory.
func (b *Backend) request(slot int) []byte {
	g := b.group(slot)
	if len(g.body) > 0 {
		return g.body
	}
	requests, size := make([][]byte, len(g.queries)), 0
	for i := range g.queries {
		requests[i] = b.config.Body(g.queries[i].Index)
		size += len(requests[i]) + len(",")
	}
	for i := range b.frames {
		f := &b.frames[i]
		body, ok := f.join(make([]byte, 0, size+len("[]")), requests)
		if !ok {
			continue
		}
		g.body = body
		for _, r := range requests {
			prompt, _ := f.prompt(r)
			g.lengths = append(g.lengths, length(prompt))
		}
		return body
	}
	// The requests cannot be joined. The first is sent alone, and the answer fails because the other parts are missing.
	g.body = append(g.body, requests[0]...)
	for range requests {
		g.lengths = append(g.lengths, -1)
	}
	return g.body
}

// shard is one run of Serve: the source of batches and the sink of their outcomes.
type shard struct {
	backend *Backend
	source  loadgen.Source
	sink    backends.Sink
	buf     []loadgen.Query
}

// Pop returns a batch if there are samples.
func (s *shard) Pop(dst []loadgen.Query) int {
	n, _ := s.Wait(dst, 0)
	return n
}

// Wait returns at most one batch.
func (s *shard) Wait(dst []loadgen.Query, timeout time.Duration) (int, bool) {
	if len(dst) == 0 {
		return 0, true
	}
	have := 0
	for have < len(s.buf) {
		n, open := s.source.Wait(s.buf[have:], timeout)
		if have += n; have == 0 {
			return 0, open
		}
		if n == 0 {
			break
		}
		timeout = linger
	}
	first := s.buf[0]
	first.Index = s.backend.put(s.buf[:have], s.sink)
	dst[0] = first
	return 1, true
}

// streamed reports tokens to their samples. An unknown index fails the batch at its end.
func (b *Backend) streamed(batch loadgen.Query, news []wire.News, atNS int64) {
	g := b.group(batch.Index)
	for i := range news {
		n := &news[i]
		if n.Part >= len(g.times) {
			continue
		}
		t := &g.times[n.Part]
		switch {
		case t.first != 0:
			g.sink.Tokens(g.queries[n.Part], n.N, atNS, atNS-t.last)
		case n.N > 1:
			g.sink.FirstToken(g.queries[n.Part], n.Tokens, atNS)
			g.sink.Tokens(g.queries[n.Part], n.N-1, atNS, 0)
		default:
			g.sink.FirstToken(g.queries[n.Part], n.Tokens, atNS)
		}
		if t.last = atNS; t.first == 0 {
			t.first = atNS
		}
	}
}

// FirstToken is not called: streamed receives the tokens of a batch.
func (s *shard) FirstToken(loadgen.Query, []int32, int64) {}

// Tokens is not called either.
func (s *shard) Tokens(loadgen.Query, int, int64, int64) {}

// Sent marks each sample of the batch.
func (s *shard) Sent(batch loadgen.Query, stream bool) {
	for _, q := range s.backend.group(batch.Index).queries {
		backends.MarkSent(s.sink, q, stream)
	}
}

// Failed records the attempt for each sample of the batch, with the server's answer for the first sample only.
func (s *shard) Failed(a backends.Attempt) {
	queries := s.backend.group(a.Query.Index).queries
	a.Detail += fmt.Sprintf(" (a batch of %d samples)", len(queries))
	for _, q := range queries {
		a.Query = q
		s.sink.Failed(a)
		a.Body = nil
	}
}

// Complete completes all samples of a batch.
func (s *shard) Complete(batch loadgen.Query, o *backends.Outcome) {
	g := s.backend.group(batch.Index)
	detail := ""
	if o.Reason == backends.OK {
		if detail = g.mismatch(o.Parts); detail != "" {
			o.Reason = backends.FailBatch
		} else if detail = g.otherPrompts(o); detail != "" {
			o.Reason = backends.FailTokenCount
		}
	}
	if o.Reason == backends.OK {
		for i := range o.Parts {
			s.part(g, o, &o.Parts[i])
		}
	} else {
		for _, q := range g.queries {
			s.end(q, o, detail)
		}
	}
	s.backend.free(batch.Index)
}

// end completes a sample of a failed batch.
func (s *shard) end(q loadgen.Query, whole *backends.Outcome, detail string) {
	o := *whole
	o.FirstTokenNS, o.LastTokenNS, o.Events, o.Merged = 0, 0, 0, 0
	o.Parts, o.Tokens, o.Text, o.NTokens, o.TokenSource = nil, nil, nil, 0, ""
	o.UsageTokens, o.InputTokens, o.CachedTokens = -1, -1, -1
	if detail != "" { // otherwise the backend has recorded it
		s.sink.Failed(backends.Attempt{Query: q, Endpoint: o.Endpoint, Reason: o.Reason, Detail: detail,
			AtNS: time.Now().UnixNano()})
	}
	s.sink.Complete(q, &o)
}

// part completes a sample with its part of the answer.
func (s *shard) part(g *group, whole *backends.Outcome, p *backends.Part) {
	q, o := g.queries[p.Index], p.Outcome
	o.Endpoint, o.Retries = whole.Endpoint, whole.Retries
	o.DequeuedNS, o.SentNS, o.TriedNS = whole.DequeuedNS, whole.SentNS, whole.TriedNS
	o.FirstByteNS = whole.FirstByteNS
	// The batch's times, because the completion waits for the whole batch.
	o.LastTokenNS, o.ReadableNS = whole.LastTokenNS, whole.ReadableNS
	if t := g.times[p.Index]; t.first != 0 {
		o.FirstTokenNS, o.LastTokenNS = t.first, t.last
	}
	if o.InputTokens < 0 {
		o.InputTokens = g.lengths[p.Index]
	}
	if o.Reason != backends.OK {
		s.sink.Failed(backends.Attempt{Query: q, Endpoint: o.Endpoint, Reason: o.Reason, Detail: p.Detail + " (in a batch)",
			AtNS: time.Now().UnixNano()})
	}
	s.sink.Complete(q, &o)
}

// mismatch returns one sentence if parts are not the answers to the batch. They may be in any order.
func (g *group) mismatch(parts []backends.Part) string {
	n := len(g.queries)
	g.seen = append(g.seen[:0], make([]bool, n)...)
	for i := range parts {
		switch at := parts[i].Index; {
		case at < 0 || at >= n:
			return fmt.Sprintf("the answer to a batch of %d prompts has one with index %d", n, at)
		case g.seen[at]:
			return fmt.Sprintf("the answer to a batch of %d prompts has index %d twice", n, at)
		default:
			g.seen[at] = true
		}
	}
	for at, seen := range g.seen {
		if !seen {
			return fmt.Sprintf("the answer to a batch of %d prompts has %d parts and none with index %d", n, len(parts), at)
		}
	}
	return ""
}

// otherPrompts returns one sentence if the server counted other prompt tokens than it was sent. Servers report one
// count for all prompts. llama.cpp reports that of one prompt, which shows because its count of output tokens is not
// that of all parts.
func (g *group) otherPrompts(o *backends.Outcome) string {
	sent := 0
	for _, n := range g.lengths {
		if n < 0 {
			return ""
		}
		sent += n
	}
	if o.InputTokens <= 0 || o.InputTokens == sent || o.UsageTokens != o.NTokens {
		return ""
	}
	return fmt.Sprintf("the server counted %d prompt tokens in a batch whose prompts have %d: does it cut prompts, or "+
		"put a token before them?", o.InputTokens, sent)
}
