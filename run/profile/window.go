package profile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Window is a part of a test's queries, in the order of their issue.
type Window = record.QueryWindow

// Parse reads START,COUNT.
func Parse(text string) (Window, error) {
	start, count, ok := strings.Cut(text, ",")
	a, err := strconv.ParseInt(strings.TrimSpace(start), 10, 32)
	b, also := strconv.ParseInt(strings.TrimSpace(count), 10, 32)
	if !ok || err != nil || also != nil || a < 0 || b < 1 {
		return Window{}, fmt.Errorf("%.40q is not START,COUNT with a START from 0 on and a COUNT above 0", text)
	}
	return Window{Start: int(a), Count: int(b)}, nil
}

// Report is how the profiling of a window went, for the record.
type Report = record.ProfiledWindow

// Profiler controls the profilers of all servers.
type Profiler interface {
	How() string
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Control profiles the window of one test.
type Control struct {
	window   Window
	profiler Profiler
	gate     *gate
	cancel   context.CancelFunc
	done     chan struct{}
	report   Report
}

// New returns the control of a window. Each backend of the test must be wrapped.
func New(w Window, p Profiler) *Control {
	c := &Control{window: w, profiler: p, gate: &gate{reached: make(chan struct{}, 1)}, done: make(chan struct{}),
		report: Report{QueryWindow: w, How: p.How()}}
	c.gate.limit.Store(int64(w.Start))
	return c
}

// Wrap returns a backend whose queries wait for the profiler.
func (c *Control) Wrap(b backends.Backend) backends.Backend { return gated{b, c.gate} }

// Begin follows the test until the window was profiled. After ctx ends, every query passes, to be cancelled.
func (c *Control) Begin(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	go func() {
		defer crash.Catch()
		defer close(c.done)
		defer c.gate.open(all)
		c.report.Error = text(c.follow(ctx))
	}()
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// How long a server may take to start the profiler, to write its trace at the end
// (docs/reference/engines.md#profilers), and to stop after a test that ended early.
const (
	startWithin = time.Minute
	stopWithin  = 10 * time.Minute
	leaveWithin = 10 * time.Second
)

var errShort = errors.New("the test ended before the window's first query")

func (c *Control) follow(ctx context.Context) error {
	if !c.gate.await(ctx) {
		return errShort
	}
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := c.profiler.Start(starting); err != nil {
		return fmt.Errorf("the profiler was not started: %w", err)
	}
	now, before := time.Now(), c.gate.ended.Load()
	c.report.Started = &now
	c.gate.open(int64(c.window.Start + c.window.Count))
	whole := c.gate.await(ctx)
	within := stopWithin
	if !whole {
		within = leaveWithin
		c.gate.open(all) // the waiting queries are cancelled
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	c.report.Queries = int(c.gate.ended.Load() - before)
	if err := c.profiler.Stop(stopping); err != nil {
		return fmt.Errorf("the profiler was not stopped: %w", err)
	}
	now = time.Now()
	c.report.Stopped = &now
	if !whole {
		return fmt.Errorf("the test ended after %d queries of the window", c.report.Queries)
	}
	return nil
}

// End returns how the profiling of the window went. A profiler that still runs is stopped.
func (c *Control) End() *Report {
	c.cancel()
	<-c.done
	return &c.report
}
