package http1

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// source is a loadgen.Source that an event loop can wait for along with sockets, such as loadgen.Shard.
type source interface {
	loadgen.Source
	Park() bool
	Unpark()
	FD() int
}

// timed is a source that can tell when its next query comes.
type timed interface {
	// Soon reports that a query comes within a time, so the loop must not pause that long.
	Soon(within time.Duration) bool
}

// parkable adds these methods to src if it does not have them. The caller calls stop after the last use.
func parkable(src loadgen.Source) (s source, stop func(), err error) {
	if s, ok := src.(source); ok && s.FD() >= 0 {
		return s, func() {}, nil
	}
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("no eventfd can be made: %w", err)
	}
	b := &bridged{fd: fd, over: make(chan struct{})}
	go b.pump(src)
	return b, func() { <-b.over; _ = unix.Close(fd) }, nil
}

// bridged waits for a source on a goroutine of its own. Warm-ups and probes use it; LoadGen's rings do not need it.
type bridged struct {
	fd     int
	over   chan struct{}
	mu     sync.Mutex
	ready  []loadgen.Query
	parked bool
	ended  bool
}

func (b *bridged) pump(src loadgen.Source) {
	defer crash.Catch()
	defer close(b.over)
	var batch [256]loadgen.Query
	for open := true; open; {
		var n int
		n, open = src.Wait(batch[:], time.Second)
		open = open || n > 0
		b.mu.Lock()
		b.ready = append(b.ready, batch[:n]...)
		b.ended = !open
		wake := b.parked && (n > 0 || !open)
		b.mu.Unlock()
		if wake {
			signal(b.fd)
		}
	}
}

func (b *bridged) take(dst []loadgen.Query) int {
	n := copy(dst, b.ready)
	b.ready = b.ready[:copy(b.ready, b.ready[n:])]
	return n
}

func (b *bridged) Pop(dst []loadgen.Query) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.take(dst)
}

// Wait returns at once, because the loop only asks whether the source has ended.
func (b *bridged) Wait(dst []loadgen.Query, _ time.Duration) (int, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.take(dst)
	return n, n > 0 || !b.ended
}

func (b *bridged) Park() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parked = len(b.ready) == 0 && !b.ended
	return b.parked
}

func (b *bridged) Unpark() {
	b.mu.Lock()
	b.parked = false
	b.mu.Unlock()
	swallow(b.fd)
}

func (b *bridged) FD() int { return b.fd }

// signal makes an eventfd readable.
func signal(fd int) {
	_, _ = unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // EAGAIN: it is readable already
}

// swallow makes an eventfd unreadable until the next signal.
func swallow(fd int) {
	var counter [8]byte
	_, _ = unix.Read(fd, counter[:]) // EAGAIN: it is unreadable already
}
