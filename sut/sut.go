package sut

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/ledger"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// Options configures a system under test.
type Options struct {
	Name         string // the SUT's name in LoadGen's logs
	RingCapacity int    // samples in a shard's ring; 0: 65,536 (only Offline ever fills one)
	Backends     []backends.Backend
	Ledger       *ledger.Ledger // ledger of the test, with one shard per backend
	// FirstTokens is set if LoadGen expects a first token from every sample (token latencies on, scenario not Offline).
	FirstTokens bool
	// Bulk is set if only the sum of all answers counts, not when each comes (Offline): the backend may report several of
	// them to LoadGen at once.
	Bulk bool
	// Failed is called with every failed attempt, from any goroutine. It may be nil.
	Failed func(backends.Attempt)
	// Unusual is called with every unusual finish reason of a good answer, from any goroutine. It may be nil.
	Unusual func(finishReason string)
	// MaxErrors ends the test after more failed samples than this; negative: never.
	MaxErrors int
	// Settled is called each time LoadGen has ended a series of queries and every sample of it has ended too, by the
	// thread of a backend. It may be nil.
	Settled func()
	// DrainTimeout ends the test if LoadGen has issued everything, samples are outstanding and no sample has ended for
	// this long; 0: never.
	DrainTimeout time.Duration
}

// Causes for which a SUT ends a test.
var (
	ErrTooManyFailures = errors.New("more samples failed than the run allows")
	ErrDrain           = errors.New("no answer came for as long as the drain deadline allows, and samples are outstanding")
)

// errUnserved ends a test that would otherwise wait forever, because no backend accepts its queries.
var errUnserved = errors.New("the backend returned before the test had ended")

const defaultRingCapacity = 1 << 16

// Shard is a queue of queries that also receives their answers. It is one of LoadGen's rings, or a schedule without
// LoadGen.
type Shard interface {
	loadgen.Source
	loadgen.Reporter
}

// SUT drives one backend per shard.
type SUT struct {
	o       Options
	loadgen *loadgen.SUT // LoadGen's view of this SUT; nil if the queries do not come from LoadGen
	shards  []Shard
	cancel  context.CancelCauseFunc
	ctx     context.Context
	running sync.WaitGroup
	errs    []error

	counts    []counts     // counters by shard
	settled   atomic.Int64 // number of samples of the series that Options.Settled was called for
	stopWatch chan struct{}
	watching  sync.WaitGroup
}

// counts contains the counters of a shard. One thread writes each counter, and each has its own cache line.
type counts struct {
	taken, ended, failed atomic.Int64
	_                    [128 - 24]byte
}

func (s *SUT) sum(of func(*counts) *atomic.Int64) (n int64) {
	for i := range s.counts {
		n += of(&s.counts[i]).Load()
	}
	return n
}

func taken(c *counts) *atomic.Int64  { return &c.taken }
func ended(c *counts) *atomic.Int64  { return &c.ended }
func failed(c *counts) *atomic.Int64 { return &c.failed }

// New returns a system under test. Pass its LoadGen() to StartTest.
func New(o Options) (*SUT, error) {
	if o.RingCapacity == 0 {
		o.RingCapacity = defaultRingCapacity
	}
	l, err := loadgen.ConstructSUT(o.Name, len(o.Backends), o.RingCapacity)
	if err != nil {
		return nil, err
	}
	shards := make([]Shard, len(o.Backends))
	for i, s := range l.Shards() {
		shards[i] = s
	}
	s := NewWithout(o, shards)
	s.loadgen = l
	return s, nil
}

// NewWithout returns a system under test whose queries come from the given shards instead of LoadGen. It needs one
// shard per backend. Its LoadGen() is nil.
func NewWithout(o Options, shards []Shard) *SUT {
	if o.Failed == nil {
		o.Failed = func(backends.Attempt) {}
	}
	if o.Unusual == nil {
		o.Unusual = func(string) {}
	}
	if o.Settled == nil {
		o.Settled = func() {}
	}
	return &SUT{o: o, shards: shards, errs: make([]error, len(o.Backends)), counts: make([]counts, len(o.Backends)),
		stopWatch: make(chan struct{})}
}

// LoadGen returns the argument for StartTest.
func (s *SUT) LoadGen() *loadgen.SUT { return s.loadgen }

// Start runs the backends. After ctx ends, or after Stop, nothing more is sent, and every outstanding and later query
// is completed as cancelled.
func (s *SUT) Start(ctx context.Context) {
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	now := wallClock()
	for i, shard := range s.shards {
		pen := s.o.Ledger.Shard(i)
		src := &source{ctx: s.ctx, ring: shard, ledger: pen, counts: &s.counts[i], idle: s.idle}
		out := &sink{ledger: pen, loadgen: shard, firstTokens: s.o.FirstTokens, failed: s.o.Failed, unusual: s.o.Unusual,
			counts: &s.counts[i], oneFailed: s.oneFailed, now: now}
		if s.o.Bulk && !s.o.FirstTokens {
			out.holder, _ = shard.(loadgen.Holder)
		}
		s.running.Add(1)
		go func() {
			defer crash.Catch()
			defer s.running.Done()
			err := s.o.Backends[i].Serve(s.ctx, src, out)
			if err == nil && !src.ended {
				err = errUnserved
			}
			if err != nil {
				s.errs[i] = fmt.Errorf("shard %d: %w", i, err)
				s.cancel(s.errs[i])
			}
		}()
	}
	if s.o.DrainTimeout > 0 {
		s.watching.Add(1)
		go s.watch()
	}
}

// Stop ends the test early for the given cause.
func (s *SUT) Stop(cause error) { s.cancel(cause) }

// Stopped returns a channel that is closed when the test ends early; Cause then returns why.
func (s *SUT) Stopped() <-chan struct{} { return s.ctx.Done() }

// Cause returns why the test ended early, or nil.
func (s *SUT) Cause() error { return context.Cause(s.ctx) }

// Settled reports whether LoadGen has ended a series of queries and every sample of it has ended too. LoadGen then only
// reads its log, and starts the next series or returns from StartTest.
func (s *SUT) Settled() bool {
	n := int64(s.loadgen.Flushed())
	return n > 0 && s.sum(taken) == n && s.sum(ended) == n
}

// idle is called each time a backend has nothing to do.
func (s *SUT) idle() {
	if s.loadgen == nil || !s.Settled() {
		return
	}
	if n := s.sum(ended); s.settled.Swap(n) != n {
		s.o.Settled()
	}
}

// Wait waits for the backends after StartTest has returned, and frees the SUT. It returns the first error of a backend;
// Cause returns it too.
func (s *SUT) Wait() error {
	s.running.Wait()
	close(s.stopWatch)
	s.watching.Wait()
	if s.loadgen != nil {
		loadgen.DestroySUT(s.loadgen)
	}
	return errors.Join(s.errs...)
}

// oneFailed is called after each failed sample.
func (s *SUT) oneFailed() {
	if s.o.MaxErrors >= 0 && s.sum(failed) > int64(s.o.MaxErrors) && s.ctx.Err() == nil {
		s.cancel(ErrTooManyFailures)
	}
}

const watchEvery = 100 * time.Millisecond

// watch reads only counters. A stall means that samples are outstanding and no sample was taken or ended for
// DrainTimeout.
func (s *SUT) watch() {
	defer crash.Catch()
	defer s.watching.Done()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var seen int64
	quietSince := time.Now()
	for {
		select {
		case <-s.stopWatch:
			return
		case now := <-tick.C:
			in, out := s.sum(taken), s.sum(ended)
			if in == out || in+out != seen {
				seen, quietSince = in+out, now
				continue
			}
			if now.Sub(quietSince) > s.o.DrainTimeout {
				s.cancel(ErrDrain)
				return
			}
		}
	}
}
