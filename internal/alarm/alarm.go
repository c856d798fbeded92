package alarm

import (
	"time"

	"golang.org/x/sys/unix"
)

// Alarm is a timer with a file descriptor. One thread sleeps; any goroutine may call Set.
type Alarm struct{ fd int }

// New returns an alarm that is not set. The caller must call Close.
func New() (*Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &Alarm{fd}, nil
}

// FD returns a descriptor that is readable once the alarm has gone off.
func (a *Alarm) FD() int { return a.fd }

// Set makes FD readable after the given time, or immediately if the time is 0 or less. It replaces an earlier setting.
func (a *Alarm) Set(after time.Duration) {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(after, 1)))}
	_ = unix.TimerfdSettime(a.fd, 0, &at, nil) // this fails only for other kinds of descriptors
}

// Sleep blocks the thread until the alarm goes off or the longest time has passed, and clears the alarm.
func (a *Alarm) Sleep(longest time.Duration) {
	fds := [1]unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
	_, _ = unix.Poll(fds[:], int(longest/time.Millisecond)+1) // an interrupted wait only ends earlier
	a.Clear()
}

// Clear makes FD unreadable until the next Set.
func (a *Alarm) Clear() {
	var expirations [8]byte
	_, _ = unix.Read(a.fd, expirations[:]) // this fails with EAGAIN if the alarm has not gone off
}

// Close frees the descriptor.
func (a *Alarm) Close() { _ = unix.Close(a.fd) }
