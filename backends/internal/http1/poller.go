// HOT PATH: poll runs once for the events that are ready, stamp once for what is handled together. No allocation; only
// wait and pause block.

package http1

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// clock is the time of a loop. It is read once for everything that is handled together.
type clock struct {
	base     time.Time
	baseWall int64 // of base, ns since 1970
	now      int64 // ns since base: for deadlines
	wall     int64 // the same moment, ns since 1970: for reports
	came     int64 // wall: when the bytes came that are being handled; wall unless the kernel kept that time
	known    bool  // the kernel reported came
}

func newClock() clock {
	base := time.Now()
	c := clock{base: base, baseWall: base.UnixNano()}
	c.stamp()
	return c
}

// stamp reads the monotonic clock. Steps of the wall clock after base are not followed; run detects them.
func (c *clock) stamp() {
	c.now = int64(time.Since(c.base))
	c.wall = c.baseWall + c.now
	c.came, c.known = c.wall, false
}

// poller waits for events with epoll, and for the deadlines of a wheel.
type poller struct {
	clock
	epoll  int
	wake   int // eventfd by which other goroutines end a wait
	events [64]unix.EpollEvent
	wait   func() int // blocks until there is something to do, and returns the number of events
	timed  timed      // nil: the source cannot tell when its next query comes
	wheel  wheel
	pace   pace
	stats  stats
	spare  bool // the scheduler has places for other goroutines beside those of the loops

	asked int64 // wall, when epoll was last asked for events
	began int64 // wall, when the last wait began
	floor int64 // and the one before: what is being handled came later
	since int64 // wall: the events that are being handled were not ready before
}

// open creates the descriptors. The caller calls close even after an error.
func (p *poller) open() error {
	p.clock, p.epoll, p.wake = newClock(), -1, -1
	p.wheel.init()
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		p.wake, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	if err == nil {
		err = p.control(unix.EPOLL_CTL_ADD, p.wake, unix.EPOLLIN, 0)
	}
	if err != nil {
		return fmt.Errorf("the event loop of the HTTP client cannot be set up: %w", os.NewSyscallError("epoll", err))
	}
	return nil
}

func (p *poller) close() {
	for _, fd := range []int{p.epoll, p.wake} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// control adds a descriptor to epoll or changes it. generation comes back as the Pad of its events.
func (p *poller) control(op, fd int, events uint32, generation int32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(fd), Pad: generation}
	return unix.EpollCtl(p.epoll, op, fd, &event)
}

// slept is how long a wait must have taken, in ns, to prove that no event was ready when it began.
const slept = 20_000

// poll ends one round and returns the number of events of the next. more is set if there is something to do without
// them.
func (p *poller) poll(more bool) int {
	p.stamp()
	p.stats.endRound(p.now)
	p.floor, p.began = p.began, p.wall
	asked, paused, n := p.wall, false, 0
	switch {
	case more:
		n = ready(p.epoll, p.events[:])
	case p.pace.on && !p.soon():
		paused = true
		pause(p.pace.length)
		p.stats.pauses++
		if n = ready(p.epoll, p.events[:]); n == 0 {
			n = p.wait()
		}
	default:
		n = p.wait()
	}
	p.stamp()
	p.since = p.asked
	if !more && !paused && p.wall-asked > slept {
		p.since, asked = p.wall, p.wall
	}
	p.asked = asked
	if !more {
		p.pace.look(p.now, n)
	}
	p.stats.beginRound(p.now, n)
	return n
}

// soon reports that a pause would delay a query.
func (p *poller) soon() bool { return p.timed != nil && p.timed.Soon(p.pace.length) }

// holdMS is the longest wait that keeps the thread's place, in ms. A stop of the world without signals
// (GODEBUG=asyncpreemptoff=1) waits for as long.
const holdMS = 100

// rest waits for events, at most d (negative: without limit), and returns their number. Among quick wake-ups it keeps
// the thread's place.
func (p *poller) rest(d time.Duration) int {
	ms := -1
	if d >= 0 {
		ms = int((d + time.Millisecond - 1) / time.Millisecond)
	}
	if p.spare && p.pace.quick {
		first := holdMS
		if ms >= 0 {
			first = min(ms, holdMS)
		}
		if n, timeout := hold(p.epoll, p.events[:], first); !timeout || first == ms {
			return n
		}
	}
	return sleep(p.epoll, p.events[:], ms)
}
