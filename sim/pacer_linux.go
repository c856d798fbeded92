package sim

// Hot path: runs between any two events of the engine.

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// pacer lets the engine thread sleep until an absolute time or until woken. It sleeps in the kernel with 1 ns timer
// slack: time.Sleep is 0.5 ms late at the median (docs/reference/measurements.md#sleeping-until-a-time), and spinning
// would take CPU time from the client.
type pacer struct {
	base     time.Time
	event    int // eventfd
	sleeping atomic.Bool
	poll     [1]unix.PollFd
}

func newPacer() (*pacer, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("starting the simulator's clock: eventfd: %w; raise the limit of open files (ulimit -n)", err)
	}
	p := &pacer{base: time.Now(), event: fd}
	p.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	return p, nil
}

// pin locks the calling goroutine to its thread for good; the thread and its timer slack end with the goroutine.
func (p *pacer) pin() {
	runtime.LockOSThread()
	// If the kernel refuses, the default slack of 50 us remains: events are later, but nothing is wrong.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// now returns nanoseconds since the pacer was made.
func (p *pacer) now() int64 { return int64(time.Since(p.base)) }

// wall returns the Unix time in ns of a reading of now.
func (p *pacer) wall(ns int64) int64 { return p.base.UnixNano() + ns }

// wait sleeps until the given time (-1: for ever), a wake, or a signal. It returns at once if idle reports new work.
func (p *pacer) wait(until int64, idle func() bool) {
	p.sleeping.Store(true)
	defer p.sleeping.Store(false)
	if !idle() {
		return
	}
	var ts *unix.Timespec
	if until >= 0 {
		left := until - p.now()
		if left <= 0 {
			return
		}
		t := unix.NsecToTimespec(left)
		ts = &t
	}
	if n, err := unix.Ppoll(p.poll[:], ts, nil); err == nil && n > 0 {
		var b [8]byte
		_, _ = unix.Read(p.event, b[:]) // empties the counter; a spurious wake costs one more turn
	}
}

// wake ends a wait that runs, or the next one before it sleeps.
func (p *pacer) wake() {
	if p.sleeping.CompareAndSwap(true, false) {
		one := [8]byte{1} // any non-zero count works, in either byte order
		_, _ = unix.Write(p.event, one[:])
	}
}

func (p *pacer) close() error { return unix.Close(p.event) }
