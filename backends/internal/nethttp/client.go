package nethttp

import (
	"context"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
)

// Name is the name of this client in the results of a probe.
const Name = "net/http"

// endpoint is one server address, ready for use.
type endpoint struct {
	policy.Endpoint
	header http.Header // shared by all requests; must not be changed
	id     wire.RequestIDField
	must   bool // answers must carry the request's id
	stream backends.StreamMode
	mu     sync.Mutex
	models wire.Models // that answers name; mu holds
}

// Client is a backend on net/http.
type Client struct {
	config    backends.Config
	protocol  wire.Protocol
	endpoints []*endpoint
	ids       policy.RequestIDs
	sent      atomic.Uint64 // requests
	proxy     *url.URL      // nil: direct connections
	balance   balance.Options
	pooled    *http.Transport
	fresh     *http.Transport // never reuses a connection
	requests  sync.Pool       // of *request
	*policy.Counters
}

// New returns a client for the endpoints of c. It does not connect yet.
func New(c *backends.Config, p wire.Protocol) (*Client, error) {
	client := &Client{config: *c, protocol: p, ids: policy.NewRequestIDs(), Counters: policy.NewCounters(c)}
	policy.SetDefaults(&client.config)
	for _, e := range c.Endpoints {
		parsed, err := newEndpoint(e, p.Path)
		if err != nil {
			return nil, err
		}
		parsed.id, parsed.must = policy.RequestID(&e, p), e.IDs == backends.IDsRequired
		parsed.models.Served = e.Model
		client.endpoints = append(client.endpoints, parsed)
	}
	var err error
	if client.balance, err = policy.Balance(&client.config); err != nil {
		return nil, err
	}
	if client.proxy, err = backends.ParseProxy(c.Proxy); err != nil {
		return nil, err
	}
	if client.pooled, err = newTransport(&client.config, client.Counters, false); err != nil {
		return nil, err
	}
	if client.fresh, err = newTransport(&client.config, client.Counters, true); err != nil {
		return nil, err
	}
	client.requests.New = func() any { return &request{answer: p.NewAnswer()} }
	return client, nil
}

// Features are counters.
func (c *Client) Features() backends.Features { return backends.Features{Traffic: c.Traffic} }

// peer returns the server that a connection for an endpoint is made to: the endpoint, or the proxy.
func (c *Client) peer(endpoint int) *url.URL {
	if c.proxy != nil {
		return c.proxy
	}
	return c.endpoints[endpoint].URL
}

func newEndpoint(e backends.Endpoint, path string) (*endpoint, error) {
	p, err := policy.NewEndpoint(e, path)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for _, f := range p.Fields() {
		header.Set(f.Name, f.Value)
	}
	return &endpoint{Endpoint: p, header: header, stream: e.StreamMode}, nil
}

// Serve answers the queries of src. The calling goroutine receives them and is locked to its OS thread, which Wait
// blocks.
func (c *Client) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &shard{client: c, ctx: ctx, sink: sink, reports: make(chan report, reportBuffer)}
	o := c.balance
	o.Health = c.Health(&c.config, c.peer, s.queue.wake)
	line := balance.NewLine(balance.New(o), func(r *request) uint64 { return r.key })
	defer line.Close()
	s.queue.init(c.config.Concurrency, line, s.work)
	stopped := context.AfterFunc(ctx, s.queue.stop)
	defer stopped()
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

// dispatch moves queries from the source to the workers until the source has ended. After ctx was cancelled it
// completes new queries without sending them.
func (s *shard) dispatch(src loadgen.Source) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var batch [256]loadgen.Query
	for {
		n, open := src.Wait(batch[:], time.Second)
		now := time.Now().UnixNano()
		for _, q := range batch[:n] {
			r := s.client.requests.Get().(*request)
			r.begin(q, s.client.config.Key(q.Index), now)
			r.asked = ""
			if of := s.client.config.Model; of != nil {
				r.asked = of(q.Index)
			}
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
