package http1

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// Name is what the preflight calls this client.
const Name = "epoll"

// Client is a backend on one epoll loop.
type Client struct {
	config   backends.Config
	protocol backends.Protocol
	targets  []target
	balance  balance.Options
	policy.Counters
	realtime atomic.Bool // the loop's thread has real-time priority
}

// New makes a client for the endpoints of c, all of them plain http. It looks their addresses up and connects to nothing
// yet; a host that can not be found is a *backends.EndpointError.
func New(c *backends.Config, p backends.Protocol) (*Client, error) {
	client := &Client{config: *c, protocol: p, Counters: policy.NewCounters(len(c.Endpoints))}
	policy.SetDefaults(&client.config)
	for _, e := range c.Endpoints {
		t, err := newTarget(e, p.Path(), client.config.ConnectTimeout)
		if err != nil {
			return nil, err
		}
		client.targets = append(client.targets, t)
	}
	client.balance = policy.Balance(&client.config)
	if err := client.balance.Check(); err != nil {
		return nil, fmt.Errorf("the client can not be set up: %w", err)
	}
	return client, nil
}

// Realtime says whether the loop's thread was given real-time priority.
func (c *Client) Realtime() bool { return c.realtime.Load() }

// Serve answers the queries of src on the calling goroutine, which is locked to its OS thread meanwhile.
func (c *Client) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, granted := sharpen()
	defer restore()
	c.realtime.Store(granted)
	s, stopSource, err := parkable(src)
	if err != nil {
		return err
	}
	defer stopSource()
	l, err := newLoop(c, s, sink)
	if err != nil {
		return err
	}
	defer l.close()
	told := make(chan struct{})
	stopWatching := context.AfterFunc(ctx, func() {
		defer close(told)
		l.cancel()
	})
	defer func() {
		if !stopWatching() {
			<-told
		}
	}()
	l.run()
	return nil
}
