package http1

import (
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// spareFiles are left to the rest of the process: logs, results, probes.
const spareFiles = 200

func newLoop(c *Client, src source, sink backends.Sink) (*loop, error) {
	l := &loop{
		client: c, sink: sink, src: src, srcFD: src.FD(), epoll: -1, wake: -1, base: time.Now(), buf: make([]byte, readBuffer),
		idle: make([]*conn, len(c.targets)), good: make([]int, len(c.targets)), limit: c.config.Concurrency,
	}
	if l.limit <= 0 {
		l.limit = math.MaxInt
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < math.MaxInt32 {
		l.limit = min(l.limit, max(1, int(files.Cur)-spareFiles))
	}
	l.wheel.init()
	l.stamp()
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		l.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	for _, fd := range []int{l.wake, l.srcFD} {
		if err == nil {
			err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
		}
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("the event loop of the HTTP client can not be set up: %w", os.NewSyscallError("epoll", err))
	}
	return l, nil
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

// cancelAll completes everything that is outstanding, and closes the connections when that is done: LoadGen waits for the
// one and not for the other.
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
			x.endpoint = l.client.balancer.Pick(x.query.Index) // complete gives it back
			x.out.Reason = backends.FailCancelled
			l.complete(x)
		}
	})
	for l.waiting.n > 0 {
		l.refuse(l.waiting.pop())
	}
	for _, c := range l.conns {
		if c != nil {
			l.shut(c)
		}
	}
	l.busy = 0
}

func (l *loop) cancelOne(c *conn) {
	x := c.exchange
	c.exchange = nil
	why := policy.Explain(backends.FailCancelled, nil)
	switch {
	case c.state == refusing:
		r := response(&c.parser)
		f := r.Refusal(x.kept, time.Now())
		l.record(x, &f, false)
		x.out.Reason = f.Reason
	case c.answering:
		x.judge(l, backends.FailCancelled, why)
	default:
		l.record(x, &policy.Failure{Reason: backends.FailCancelled, Detail: why}, false)
		x.out.Reason = backends.FailCancelled
	}
	l.complete(x)
}

// refuse completes a query that came too late to be sent.
func (l *loop) refuse(t task) {
	x := l.exchange()
	x.query = t.query
	x.out = backends.Outcome{UsageTokens: -1, InputTokens: -1, DequeuedNS: t.dequeuedNS, Reason: backends.FailCancelled}
	l.sink.Complete(x.query, &x.out)
	l.left--
	l.spare = append(l.spare, x)
}
