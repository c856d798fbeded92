package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Connection is a pair of pipes to a shard's control socket.
type Connection struct {
	In  io.Reader
	Out io.Writer
}

// Offset is the time by which the clock of a shard is ahead of the coordinator's, with its largest error.
type Offset struct {
	AheadNS int64 `json:"ahead_ns"`
	BoundNS int64 `json:"bound_ns"` // half of the shortest round trip
}

// exchanges is how many round trips measure a clock: the shortest of them counts.
const exchanges = 20

// lead is how long after the last shard is ready a stage starts, besides the longest round trip.
const lead = 200 * time.Millisecond

// Options select what a coordinator reports of its shards.
type Options struct {
	// Progress is called with the sum over all shards, one call at a time, about N times a second for N shards; nil: the
	// progress is dropped.
	Progress func(Progress)
	// Count asks the shards to count their requests by the second, for Progress.Second.
	Count bool
}

// Coordinator starts the stages of all shards together.
type Coordinator struct {
	options Options
	shards  []*peer

	mu      sync.Mutex
	started time.Time // the first stage
}

// peer is one shard, as the coordinator sees it.
type peer struct {
	*link
	number   int
	clocks   chan clockMessage
	ready    chan int
	gone     chan struct{} // closed when the connection has ended
	err      error         // why
	offset   Offset
	progress Progress
}

// NewCoordinator begins to read from the connections. A connection ends with its reader.
func NewCoordinator(connections []Connection, o Options) *Coordinator {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	c := &Coordinator{options: o}
	for i, conn := range connections {
		p := &peer{link: newLink(conn.In, conn.Out), number: i, clocks: make(chan clockMessage, 1), ready: make(chan int, 1),
			gone: make(chan struct{})}
		c.shards = append(c.shards, p)
		go c.read(p)
	}
	return c
}

func (c *Coordinator) read(p *peer) {
	defer crash.Catch()
	defer close(p.gone)
	for {
		m, err := p.receive()
		if err != nil {
			p.err = err
			return
		}
		switch {
		case m.Clock != nil:
			select {
			case <-p.clocks: // an answer to an earlier question
			default:
			}
			p.clocks <- *m.Clock
		case m.Ready != nil:
			select {
			case <-p.ready: // a repeated announcement
			default:
			}
			p.ready <- *m.Ready
		case m.Progress != nil:
			c.add(p, *m.Progress)
		}
	}
}

// add sums the progress of all shards up.
func (c *Coordinator) add(p *peer, now Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	second := now.Second
	now.Second = nil
	p.progress = now
	sum := Progress{Second: second, Last: true, Shard: p.number}
	if !c.started.IsZero() {
		sum.Elapsed = max(time.Since(c.started), 0)
	}
	for _, s := range c.shards {
		sum.Stage = max(sum.Stage, s.progress.Stage)
		sum.Sent += s.progress.Sent
		sum.Ended += s.progress.Ended
		sum.Failed += s.progress.Failed
		sum.Cancelled += s.progress.Cancelled
		sum.Output += s.progress.Output
		sum.Last = sum.Last && s.progress.Last
	}
	sum.Counted = c.counted(sum.Last, int(sum.Elapsed/time.Second)+1)
	c.options.Progress(sum)
}

// counted returns how many seconds all shards have counted, or those that still run; at most a number.
func (c *Coordinator) counted(last bool, most int) int {
	if last {
		all := 0
		for _, s := range c.shards {
			all = max(all, s.progress.Counted)
		}
		return min(all, most)
	}
	for _, s := range c.shards {
		if !s.progress.Last {
			most = min(most, s.progress.Counted)
		}
	}
	return most
}

// Run starts the stages one after the other, each as soon as every shard has prepared it. It returns after the start of
// the last stage. An error names the shard that was lost.
func (c *Coordinator) Run(ctx context.Context, stages int) error {
	for stage := range stages {
		if err := c.each(func(i int, p *peer) error { return p.await(ctx, stage) }); err != nil {
			return err
		}
		// Clocks drift apart, so they are measured again for each stage.
		if err := c.each(func(i int, p *peer) error { return p.measure(ctx) }); err != nil {
			return err
		}
		if err := c.start(stage); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for all shards at the same time.
func (c *Coordinator) each(f func(i int, p *peer) error) error {
	failed := make([]error, len(c.shards))
	var wait sync.WaitGroup
	for i, p := range c.shards {
		wait.Go(func() {
			defer crash.Catch()
			if err := f(i, p); err != nil {
				failed[i] = fmt.Errorf("shard %d: %w", i, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}

func (p *peer) await(ctx context.Context, stage int) error {
	for {
		select {
		case got := <-p.ready:
			if got == stage {
				return nil
			}
		case <-p.gone:
			return fmt.Errorf("the connection to it ended before stage %d: %w", stage, ended(p.err))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func ended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// measure uses the offset of the shortest of several round trips.
func (p *peer) measure(ctx context.Context) error {
	var best Offset
	for n := range exchanges {
		sent := time.Now()
		if err := p.send(&message{Clock: &clockMessage{Number: n}}); err != nil {
			return err
		}
		answer, err := p.clock(ctx, n)
		if err != nil {
			return err
		}
		trip := time.Since(sent)
		o := Offset{AheadNS: answer.NowNS - sent.UnixNano() - int64(trip)/2, BoundNS: (int64(trip) + 1) / 2}
		if n == 0 || o.BoundNS < best.BoundNS {
			best = o
		}
	}
	p.offset = best
	return nil
}

// clock returns the answer to a question about the clock. It skips answers to earlier questions.
func (p *peer) clock(ctx context.Context, number int) (clockMessage, error) {
	for {
		select {
		case answer := <-p.clocks:
			if answer.Number == number {
				return answer, nil
			}
		case <-p.gone:
			return clockMessage{}, fmt.Errorf("the connection to it ended while its clock was read: %w", ended(p.err))
		case <-ctx.Done():
			return clockMessage{}, context.Cause(ctx)
		}
	}
}

func (c *Coordinator) start(stage int) error {
	longest := int64(0)
	for _, p := range c.shards {
		longest = max(longest, 2*p.offset.BoundNS)
	}
	at := time.Now().UnixNano() + int64(lead) + 4*longest
	if stage == 0 {
		c.mu.Lock()
		c.started = time.Unix(0, at)
		c.mu.Unlock()
	}
	return c.each(func(_ int, p *peer) error {
		return p.send(&message{Start: &startMessage{stage, at + p.offset.AheadNS, c.options.Count && stage == 0}})
	})
}

// Stop asks all shards to end their runs, as an interrupt does. It returns false before the first stage: then nothing
// runs yet. Run returns an error if further stages would have followed.
func (c *Coordinator) Stop() bool {
	c.mu.Lock()
	started := !c.started.IsZero()
	c.mu.Unlock()
	if started {
		_ = c.each(func(_ int, p *peer) error { return p.send(&message{Stop: &stopMessage{}}) }) // to those that still run
	}
	return started
}

// Wait returns when the connections to all shards have ended, and Options.Progress has had everything that came.
func (c *Coordinator) Wait() {
	for _, p := range c.shards {
		<-p.gone
	}
}

// Offsets returns the offsets of the shards' clocks, as measured before the last stage.
func (c *Coordinator) Offsets() []Offset {
	var all []Offset
	for _, p := range c.shards {
		all = append(all, p.offset)
	}
	return all
}

// Bound returns how far apart two shards may have started, by the bounds of their clocks.
func Bound(offsets []Offset) time.Duration {
	bounds := []int64{0, 0}
	for _, o := range offsets {
		bounds = append(bounds, o.BoundNS)
	}
	slices.Sort(bounds)
	return time.Duration(bounds[len(bounds)-1] + bounds[len(bounds)-2])
}
