package http1

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/dial"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// spareFiles are left to the rest of the process: logs, results, probes.
const spareFiles = 200

func newLoop(c *Client) (*loop, error) {
	l := &loop{
		client: c, ids: policy.NewRequestIDs(), epoll: -1, wake: -1, base: time.Now(), buf: make([]byte, readBuffer),
		idle: make([]*conn, len(c.targets)), good: make([]int, len(c.targets)),
	}
	l.baseWall = l.base.UnixNano()
	l.wheel.init()
	l.stamp()
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		l.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	if err == nil {
		err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.wake, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(l.wake)})
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("the event loop of the HTTP client can not be set up: %w", os.NewSyscallError("epoll", err))
	}
	return l, nil
}

// attach prepares for one Serve. Connections of the one before are still there.
func (l *loop) attach(src source, sink backends.Sink) error {
	config := &l.client.config
	l.src, l.sink, l.srcFD = src, sink, src.FD()
	l.ended, l.cancelled = false, false
	l.stop.Store(false)
	l.limit = allowed(config)
	l.pace = pace{length: config.CoalesceWakeups}
	l.did = deeds{open: l.did.open, openMax: l.did.open, processor: -1}
	if l.limit < math.MaxInt {
		l.did.limit = l.limit
	}
	o := l.client.balance
	o.Health = balance.Health{
		Try: func(ctx context.Context, endpoint int) error {
			return dial.Try(ctx, l.client.targets[endpoint].URL, l.client.config.ConnectTimeout)
		},
		Wake:     func() { signal(l.wake) },
		Out:      func(e int) { l.client.Out[e].Add(1) },
		Patience: l.client.config.EndpointTimeout,
	}
	l.line = balance.NewLine(balance.New(o), func(t task) uint64 { return l.client.config.Key(t.query.Index) })
	l.stamp()
	l.looked = l.wall
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(l.srcFD)}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.srcFD, &event); err != nil {
		l.line.Close()
		return fmt.Errorf("the event loop of the HTTP client can not watch its source: %w",
			os.NewSyscallError("epoll_ctl", err))
	}
	return nil
}

func (l *loop) detach() {
	l.line.Close()
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, l.srcFD, nil) // the source closes it next
	l.src, l.sink = nil, nil
}

// allowed is the number of requests that may be in flight: what was asked for, within the files that this process may
// open.
func allowed(c *backends.Config) int {
	limit := math.MaxInt
	if c.Concurrency > 0 {
		limit = c.Concurrency
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < math.MaxInt32 {
		limit = min(limit, max(1, (int(files.Cur)-spareFiles)/max(1, c.Loops)))
	}
	return limit
}

// close gives everything back to the system.
func (l *loop) close() {
	for _, c := range l.conns {
		if c != nil {
			l.shut(c)
		}
	}
	for _, fd := range []int{l.epoll, l.wake} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// cancel ends the test early. Any goroutine may call it.
func (l *loop) cancel() {
	l.stop.Store(true)
	signal(l.wake)
}

// cancelAll completes everything that is outstanding, and closes the connections when that is done: LoadGen waits for
// the one and not for the other.
func (l *loop) cancelAll() {
	l.cancelled = true
	l.stamp()
	for _, c := range l.conns {
		if c != nil && c.exchange != nil {
			l.cancelOne(c)
		}
	}
	l.wheel.each(func(t *timer) {
		if x := t.exchange; x != nil {
			t.stop()
			l.lose(x, backends.FailCancelled)
		}
	})
	l.refuseAll(backends.FailCancelled)
	for _, c := range l.conns {
		if c != nil {
			l.shut(c)
		}
	}
	l.busy = 0
}

func (l *loop) cancelOne(c *conn) {
	x, r := c.exchange, c.reading
	why := policy.Explain(backends.FailCancelled, nil)
	switch {
	case c.state == refusing:
		f := r.refusal()
		l.record(x, &f, r.kept, false)
		l.lose(x, f.Reason)
	case c.answering:
		l.judge(c, backends.FailCancelled, why)
		l.complete(x, &r.out)
	default:
		l.record(x, &policy.Failure{Reason: backends.FailCancelled, Detail: why}, nil, false)
		l.lose(x, backends.FailCancelled)
	}
	c.exchange = nil
}

// refuseAll completes every query that waits for its turn.
func (l *loop) refuseAll(reason backends.Reason) {
	for {
		t, ok := l.line.Give()
		if !ok {
			return
		}
		l.refuse(t, reason)
	}
}

// refuse completes a query that is not sent.
func (l *loop) refuse(t task, reason backends.Reason) {
	x := l.exchange()
	x.query, x.dequeuedNS = t.query, t.dequeuedNS
	x.sentNS, x.firstByteNS, x.again, x.endpoint = 0, 0, 0, balance.Nowhere
	if reason == backends.FailNoEndpoint {
		l.sink.Failed(policy.Homeless(x.query, time.Now().UnixNano()))
	}
	l.lose(x, reason)
}
