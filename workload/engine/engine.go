package engine

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
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// Engine runs the stages of one profile. Set the exported fields before Run.
type Engine struct {
	Profile  *profile.Profile
	Source   prompts.Source
	Encoder  *Encoder
	Log      *eventlog.Writer
	Arrivals []int64                // recorded times in ns, for stages with arrival trace
	Backends []backends.Backend     // one per event loop; their Config.Body is this engine's Body
	Failed   func(backends.Attempt) // receives each failed attempt; nil: they are ignored
	// Ended receives each request that ended, on the goroutine that writes the log; it is valid during the call. nil: they
	// are not passed on.
	Ended func(*eventlog.Request)

	// Name begins the ids of sessions in requests, so that they differ from those of other runs.
	Name string

	Part Part // of the workload that this engine sends; the zero value: all of it
	// Gate is called when the first requests of a stage are prepared, and returns when the stage starts, in ns of
	// the wall clock. nil: at once.
	Gate func(ctx context.Context, stage int) (int64, error)

	table table
	live  [liveCounters]atomic.Int64
}

// Part is a share of a workload: every Of-th request of a schedule, or every Of-th user, beginning with Index. All
// parts together send what one engine would send.
type Part struct{ Index, Of int }

// step returns the distance of the requests of a part.
func (p Part) step() int { return max(p.Of, 1) }

// The counters of Live.
const (
	liveStage = iota
	liveSent
	liveEnded
	liveFailed
	liveCancelled
	liveOutput
	liveCounters
)

// Live is the state of a run in progress.
type Live struct {
	Stage               int // from 0
	Sent, Ended, Failed int64
	Cancelled           int64 // ended because the run ended early; not in Failed
	OutputTokens        int64
}

// Live may be called at any time.
func (e *Engine) Live() Live {
	return Live{int(e.live[liveStage].Load()), e.live[liveSent].Load(), e.live[liveEnded].Load(),
		e.live[liveFailed].Load(), e.live[liveCancelled].Load(), e.live[liveOutput].Load()}
}

// Span is one stage as it took place.
type Span struct {
	Stage    int    `json:"stage"`
	StartNS  int64  `json:"start_ns"` // wall clock
	EndNS    int64  `json:"end_ns"`   // its last request has ended
	Requests int64  `json:"requests"`
	Unsent   int64  `json:"unsent,omitempty"`  // that were due and not sent, because the stage was ended
	Stopped  string `json:"stopped,omitempty"` // why the stage was ended early; empty: it was not
	// SaturatedNS is when the server was found to be over-saturated, in ns of the wall clock; 0: it was not, or the load
	// has no over_saturation.
	SaturatedNS int64 `json:"saturated_ns,omitempty"`
	// BySaturation is true if the stage was ended early for that reason.
	BySaturation bool `json:"stopped_by_saturation,omitempty"`
}

// Outcome is the result of a run, in addition to its event log.
type Outcome struct {
	Spans     []Span
	Stages    []profile.Stage // the profile's, or those of its sweep
	Probes    int             // how many of Stages, from the first, looked for the limits of a sweep
	Ended     error           // why the run was ended early; nil: it was not
	Loops     []backends.LoopStats
	ReportLag *ledger.Stats // last token readable to completion; nil: unknown
	Requests  int64
	// IsEmpty is true if no stage has a request for this part, because each has fewer requests or sessions than parts.
	IsEmpty bool
}

// Body returns the body of the request in a slot.
func (e *Engine) Body(index int) []byte { return e.table.at(index).body }

// Head returns the header fields of the request in a slot: the id of its session, if the profile requests it.
func (e *Engine) Head(index int) []byte { return e.table.at(index).head }

// Model returns the model that the profile or its data set for the request in a slot; empty: neither does.
func (e *Engine) Model(index int) string { return e.table.at(index).model }

// Conduct returns how the client of the request in a slot behaves.
func (e *Engine) Conduct(index int) backends.Conduct { return e.table.at(index).conduct }

// wallClock returns a clock of ns since 1970 that follows the monotonic clock. A step of the wall clock is detected
// elsewhere.
func wallClock() func() int64 {
	base := time.Now()
	wall := base.UnixNano()
	return func() int64 { return wall + int64(time.Since(base)) }
}

// Run sends all requests and returns when every request has ended. An error is a fault of the client, such as a
// full disk; the log has everything that was recorded before it.
func (e *Engine) Run(ctx context.Context) (*Outcome, error) {
	if e.Failed == nil {
		e.Failed = func(backends.Attempt) {}
	}
	if err := e.Profile.Divide(e.Part.step()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &director{maker: newMaker(e), ctx: ctx, now: wallClock(), wake: make(chan struct{}, 1),
		look: time.NewTimer(lookEvery)}
	defer func() { d.queues.close() }() // open makes them
	if err := d.open(); err != nil {
		return nil, err
	}
	served := e.serve(ctx, cancel, d)
	err := d.run()
	if err != nil {
		cancel(err)
	}
	d.drop()
	d.queues.shut()
	served()
	err = errors.Join(err, d.collect())
	return d.outcome(), err
}

// serve starts the event loops. The returned function waits for their end.
func (e *Engine) serve(ctx context.Context, cancel context.CancelCauseFunc, d *director) func() {
	var loops sync.WaitGroup
	for i, b := range e.Backends {
		loops.Go(func() {
			defer crash.Catch()
			if err := b.Serve(ctx, d.queues[i], d.sinks[i]); err != nil {
				cancel(fmt.Errorf("event loop %d: %w", i, err))
			}
		})
	}
	return loops.Wait
}
