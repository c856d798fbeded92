package hostinfo

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// ClockWatch detects steps of the wall clock during a measurement, including a step that is reverted before the end.
type ClockWatch struct {
	start  Clocks
	read   func() (Clocks, error)
	timer  *os.File
	worst  time.Duration // largest drift so far, either way
	failed error
	done   chan struct{}
}

// WatchClocks starts the watch. The kernel reports a step by cancelling a timer of the wall clock (timerfd_create(2),
// TFD_TIMER_CANCEL_ON_SET), so the watch costs nothing while the clock is not set.
func WatchClocks() (*ClockWatch, error) {
	start, err := ReadClocks()
	if err != nil {
		return nil, err
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching the wall clock: no timer: %w", err)
	}
	// Only an armed timer is cancelled by a step of the clock.
	far := unix.ItimerSpec{Value: unix.NsecToTimespec(start.WallNS + int64(10*365*24*time.Hour))}
	if err := unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &far, nil); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("watching the wall clock: setting the timer: %w", err)
	}
	w := &ClockWatch{start: start, read: ReadClocks, timer: os.NewFile(uintptr(fd), "timerfd"), done: make(chan struct{})}
	go w.watch()
	return w, nil
}

func (w *ClockWatch) watch() {
	defer crash.Catch()
	defer close(w.done)
	expirations := make([]byte, 8)
	for {
		_, err := w.timer.Read(expirations)
		if err != nil && !errors.Is(err, unix.ECANCELED) {
			if !errors.Is(err, os.ErrClosed) {
				w.failed = fmt.Errorf("watching the wall clock: %w", err)
			}
			return
		}
		w.look()
	}
}

// look records the current drift if it is the largest.
func (w *ClockWatch) look() {
	now, err := w.read()
	if err != nil {
		w.failed = err
		return
	}
	if drift := now.Drift(w.start); drift.Abs() > w.worst.Abs() {
		w.worst = drift
	}
}

// Stop ends the watch and returns the largest drift of the wall clock against the monotonic clock, with its sign.
func (w *ClockWatch) Stop() (time.Duration, error) {
	if err := w.timer.Close(); err != nil {
		return 0, fmt.Errorf("watching the wall clock: %w", err)
	}
	<-w.done
	w.look()
	return w.worst, w.failed
}
