package http1

import (
	"context"
	"runtime"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// Name is the name of this client in the results of a probe.
const Name = "epoll"

// Client is a backend on one epoll loop.
type Client struct {
	config   backends.Config
	protocol wire.Protocol
	targets  []target
	balance  balance.Options
	*policy.Counters
	kept  *loop // of a warm-up, with its connections
	stats backends.LoopStats
}

// New returns a client for the endpoints of c. It resolves their addresses and does
// not connect yet. A host that cannot be found is a *backends.EndpointError.
func New(c *backends.Config, p wire.Protocol) (*Client, error) {
	client := &Client{config: *c, protocol: p, Counters: policy.NewCounters(c)}
	policy.SetDefaults(&client.config)
	reach, err := newNetwork(&client.config)
	if err != nil {
		return nil, err
	}
	for _, e := range c.Endpoints {
		t, err := newTarget(e, p, &reach)
		if err != nil {
			return nil, err
		}
		client.targets = append(client.targets, t)
	}
	if client.balance, err = policy.Balance(&client.config); err != nil {
		return nil, err
	}
	return client, nil
}

// Features are the warm-up, the counters and the figures of the loop.
func (c *Client) Features() backends.Features {
	return backends.Features{WarmUp: c.WarmUp, Traffic: c.Traffic, Loop: func() backends.LoopStats { return c.stats }}
}

// Serve answers the queries of src on the calling goroutine, which it locks to its OS thread.
func (c *Client) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	l := c.kept
	c.kept = nil
	if l == nil {
		var err error
		if l, err = newLoop(c); err != nil {
			return err
		}
	}
	defer l.close()
	return c.serve(ctx, l, src, sink)
}

// WarmUp is Serve, and keeps its connections and memory for the next Serve, which must follow.
func (c *Client) WarmUp(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	l, err := newLoop(c)
	if err != nil {
		return err
	}
	if err := c.serve(ctx, l, src, sink); err != nil {
		l.close()
		return err
	}
	c.kept = l
	return nil
}

func (c *Client) serve(ctx context.Context, l *loop, src loadgen.Source, sink backends.Sink) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, granted := sharpen()
	defer restore()
	unpin, processor := pin(c.config.PinLoop)
	defer unpin()
	s, stopSource, err := parkable(src)
	if err != nil {
		return err
	}
	defer stopSource()
	if err := l.attach(s, sink, c.balance); err != nil {
		return err
	}
	defer l.detach()
	l.stats.realtime, l.stats.processor = granted, processor
	cancelled := make(chan struct{})
	stopWatching := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		l.cancel()
	})
	defer func() {
		if !stopWatching() {
			<-cancelled
		}
	}()
	cpu, delay := threadTimes()
	l.run()
	cpuEnd, delayEnd := threadTimes()
	c.stats = l.summary(cpuEnd-cpu, delayEnd-delay)
	return nil
}
