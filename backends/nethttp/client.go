package nethttp

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// Name is what the preflight calls this client.
const Name = "net/http"

// endpoint is one server address, ready for use.
type endpoint struct {
	policy.Endpoint
	header http.Header // read by all requests, changed by none
}

// Client is a backend on net/http.
type Client struct {
	config    backends.Config
	protocol  backends.Protocol
	endpoints []endpoint
	balancer  balance.Balancer
	pooled    *http.Transport
	fresh     *http.Transport // never reuses a connection
	requests  sync.Pool       // of *request
	opened    []atomic.Int64  // connections, by endpoint
}

// New makes a client for the endpoints of c. It connects to nothing yet.
func New(c *backends.Config, p backends.Protocol) (*Client, error) {
	client := &Client{config: *c, protocol: p, opened: make([]atomic.Int64, len(c.Endpoints))}
	policy.SetDefaults(&client.config)
	for _, e := range c.Endpoints {
		parsed, err := newEndpoint(e, p.Path())
		if err != nil {
			return nil, err
		}
		client.endpoints = append(client.endpoints, parsed)
	}
	var err error
	if client.balancer, err = balance.New(c.Balance, len(c.Endpoints)); err != nil {
		return nil, fmt.Errorf("the client can not be set up: %w", err)
	}
	if client.pooled, err = newTransport(&client.config, false); err != nil {
		return nil, err
	}
	if client.fresh, err = newTransport(&client.config, true); err != nil {
		return nil, err
	}
	client.requests.New = func() any { return &request{answer: p.NewAnswer()} }
	return client, nil
}

func newEndpoint(e backends.Endpoint, path string) (endpoint, error) {
	p, err := policy.NewEndpoint(e, path)
	if err != nil {
		return endpoint{}, err
	}
	header := http.Header{}
	for _, f := range p.Fields() {
		header.Set(f.Name, f.Value)
	}
	return endpoint{Endpoint: p, header: header}, nil
}

// Connections is the number of connections opened, by endpoint.
func (c *Client) Connections() []int64 {
	counts := make([]int64, len(c.opened))
	for i := range c.opened {
		counts[i] = c.opened[i].Load()
	}
	return counts
}

// Serve answers the queries of src. Its own goroutine takes them, locked to an OS thread, since Wait blocks one.
func (c *Client) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &shard{client: c, ctx: ctx, sink: sink, reports: make(chan report, reportBuffer)}
	s.queue.init(c.config.Concurrency, s.work)
	reported := make(chan struct{})
	go func() {
		defer crash.Catch()
		defer close(reported)
		s.report()
	}()
	s.dispatch(src)
	s.queue.close()
	s.workers.Wait()
	close(s.reports)
	<-reported
	c.pooled.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
	return nil
}

// shard is one run of Serve.
type shard struct {
	client  *Client
	ctx     context.Context
	sink    backends.Sink
	reports chan report
	queue   queue
	workers sync.WaitGroup
}

// dispatch moves queries from the source to the workers until the source has ended. After ctx ended, queries that still
// come are completed without being sent.
func (s *shard) dispatch(src loadgen.Source) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var batch [256]loadgen.Query
	for {
		n, open := src.Wait(batch[:], time.Second)
		now := time.Now().UnixNano()
		for _, q := range batch[:n] {
			r := s.client.requests.Get().(*request)
			r.begin(q, now)
			if s.ctx.Err() != nil {
				r.out.Reason = backends.FailCancelled
				s.reports <- report{request: r}
				continue
			}
			s.queue.push(r)
		}
		if n == 0 && !open {
			return
		}
	}
}
