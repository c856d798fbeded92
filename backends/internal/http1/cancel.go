package http1

import (
	"fmt"
	"net/url"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

func newLoop(c *Client) (*loop, error) {
	l := &loop{config: &c.config}
	l.poller.wait = l.waitForWork
	l.pool = pool{poller: &l.poller, counters: c.Counters, buf: make([]byte, readBuffer),
		idle:     make([]*conn, len(c.targets)),
		readings: readings{newAnswer: c.protocol.NewAnswer}}
	if slices.ContainsFunc(c.targets, func(t target) bool { return len(t.steps) > 0 }) {
		l.pool.plain = make([]byte, readBuffer)
	}
	l.openings.wake = func() { signal(l.wake) }
	l.sender = sender{bodyOf: c.config.Body, ids: policy.NewRequestIDs()}
	l.report = reporter{times: &l.poller, targets: c.targets, streamed: c.protocol.Streamed}
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
	l.intake = intake{src: src, fd: src.FD(), limit: allowed(config)}
	l.cancelled = false
	l.stop.Store(false)
	l.pace = pace{length: config.CoalesceWakeups}
	l.stats = stats{processor: -1}
	l.pool.openMax = l.pool.open
	o.Health = l.pool.counters.Health(config, func(e int) *url.URL { return l.report.targets[e].peer },
		func() { signal(l.wake) })
	l.intake.line = balance.NewLine(balance.New(o), func(t task) uint64 { return config.Key(t.query.Index) })
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
	l.intake.src, l.report.sink = nil, nil
}

// close closes all descriptors.
func (l *loop) close() {
	l.pool.shutAll()
	l.openings.all.Wait()
	l.poller.close()
}

// cancel ends the test early. It may be called by any goroutine.
func (l *loop) cancel() {
	l.stop.Store(true)
	signal(l.wake)
}

// cancelAll completes all outstanding queries and then closes the connections: LoadGen waits only for the completions.
func (l *loop) cancelAll() {
	l.cancelled = true
	l.stamp()
	for _, c := range l.pool.byFD {
		if c != nil && c.exchange != nil {
			l.cancelOne(c)
		}
	}
	l.wheel.each(func(t *timer) {
		if x := t.exchange; x != nil {
			t.stop()
			l.report.lose(x, backends.FailCancelled)
		}
	})
	l.refuseAll(backends.FailCancelled)
	l.pool.shutAll()
	l.intake.busy = 0
}

func (l *loop) cancelOne(c *conn) {
	x, r := c.exchange, c.reading
	why := policy.Explain(backends.FailCancelled, nil)
	switch {
	case c.state == refusing:
		f := r.refusal()
		l.report.record(x, &f, r.kept, false)
		l.report.lose(x, f.Reason)
	case c.answering:
		l.report.judge(c, backends.FailCancelled, why)
		l.report.complete(x, &r.out)
	default:
		l.report.record(x, &policy.Failure{Reason: backends.FailCancelled, Detail: why}, nil, false)
		l.report.lose(x, backends.FailCancelled)
	}
	c.exchange = nil
}

// refuseAll completes every query in the line without sending it.
func (l *loop) refuseAll(reason backends.Reason) {
	for {
		t, ok := l.intake.line.Give()
		if !ok {
			return
		}
		l.report.refuse(t, reason)
	}
}
