package http1

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/internal/realtime"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
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

// Features are the warm-up, the counters, the figures of the loop, and the conduct of clients.
func (c *Client) Features() backends.Features {
	return backends.Features{Conducts: true, WarmUp: c.WarmUp, Traffic: c.Traffic,
		Loop: func() backends.LoopStats { return c.stats }}
}

// Serve answers the queries of src on the calling goroutine, which it locks to its OS thread.
func (c *Client) Serve(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	l, err := c.takeLoop()
	if err != nil {
		return err
	}
	defer l.close()
	return c.serve(ctx, l, src, sink)
}

// WarmUp is Serve, and keeps its connections and memory for the next Serve or WarmUp, which must follow.
func (c *Client) WarmUp(ctx context.Context, src loadgen.Source, sink backends.Sink) error {
	l, err := c.takeLoop()
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

// takeLoop returns the loop of the last WarmUp, or a new one.
func (c *Client) takeLoop() (*loop, error) {
	if l := c.kept; l != nil {
		c.kept = nil
		return l, nil
	}
	return newLoop(c)
}

func (c *Client) serve(ctx context.Context, l *loop, src loadgen.Source, sink backends.Sink) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, granted := realtime.Sharpen()
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

// newLoop returns a loop with its parts, without queries.
func newLoop(c *Client) (*loop, error) {
	l := &loop{config: &c.config}
	l.poller.wait = l.waitForWork
	l.report = reporter{times: &l.poller, targets: c.targets, streamed: c.protocol.Streamed,
		modelOf: c.config.Model}
	l.pool = pool{poller: &l.poller, counters: c.Counters, stamped: c.config.KernelTimes, buf: make([]byte, readBuffer),
		idle:     make([]*conn, len(c.targets)),
		readings: readings{newAnswer: c.protocol.NewAnswer}}
	if slices.ContainsFunc(c.targets, func(t target) bool { return len(t.steps) > 0 }) {
		l.pool.plain = make([]byte, readBuffer)
	}
	e := &l.exchanges
	e.times, e.config, e.intake, e.report, e.pool = &l.poller, l.config, &l.intake, &l.report, &l.pool
	e.dialer.pool, e.dialer.targets, e.dialer.timeout = e.pool, c.targets, c.config.ConnectTimeout
	e.dialer.openings.wake = func() { signal(l.wake) }
	e.sender = sender{times: e.times, bodyOf: c.config.Body, headOf: c.config.Head, ids: policy.NewRequestIDs(),
		traced: c.config.Traced}
	e.receiver = receiver{times: e.times, intake: e.intake, report: e.report, pool: e.pool, ids: &e.sender.ids,
		timeout: c.config.TokenTimeout}
	if err := l.poller.open(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// attach prepares for one Serve. Connections of the previous one are still open.
func (l *loop) attach(src source, sink backends.Sink, o balance.Options) error {
	config := l.config
	l.report.sink = sink
	if l.report.bulk, _ = sink.(backends.Bulk); l.report.bulk != nil && !l.report.bulk.StartBulk() {
		l.report.bulk = nil
	}
	l.timed, _ = src.(timed)
	l.intake = intake{src: src, fd: src.FD(), limit: allowed(config)}
	l.cancelled = false
	l.stop.Store(false)
	l.pace = pace{length: config.CoalesceWakeups}
	l.stats = stats{processor: -1}
	l.spare = runtime.GOMAXPROCS(0) >= max(1, config.Loops)+2
	l.pool.openMax = l.pool.open
	o.Health = l.pool.counters.Health(config, func(e int) *url.URL { return l.report.targets[e].peer },
		func() { signal(l.wake) })
	l.intake.line = balance.NewLine(balance.New(o), func(t task) uint64 { return config.Key(t.query.Index) })
	l.intake.ahead = lookAhead(l.timed != nil, l.report.bulk != nil, l.intake.line.Binds())
	l.stamp()
	l.asked = l.wall
	if err := l.control(unix.EPOLL_CTL_ADD, l.intake.fd, unix.EPOLLIN|unix.EPOLLET, 0); err != nil {
		l.intake.line.Close()
		return fmt.Errorf("the event loop of the HTTP client cannot watch its source: %w",
			os.NewSyscallError("epoll_ctl", err))
	}
	return nil
}

func (l *loop) detach() {
	l.intake.line.Close()
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, l.intake.fd, nil) // the source closes it next
	l.intake.src, l.timed, l.report.sink, l.report.bulk = nil, nil, nil, nil
}

// close closes all descriptors.
func (l *loop) close() {
	l.pool.shutAll()
	l.exchanges.dialer.openings.all.Wait()
	l.poller.close()
}
