package http1

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// sharpen requests real-time priority for the loop's thread, as the bridge does for LoadGen's, and reports whether it
// was granted. Beside an engine that keeps all cores of the machine busy, a thread of normal priority waits for a tenth
// of a second and more, which would count as the server's time. The loop sleeps whenever it has nothing to do. sharpen
// also sets the smallest timer slack, which needs no permission. Threads that this one starts do not inherit the
// priority. restore undoes both, because the thread continues with other goroutines.
func sharpen() (restore func(), granted bool) {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		slack = 0 // the thread's default
	}
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // no privilege; without it a pause is 50 µs longer
	restoreSlack := func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) }
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return restoreSlack, false
	}
	fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(0, &fifo, 0); err != nil {
		return restoreSlack, false
	}
	return func() {
		_ = unix.SchedSetAttr(0, before, 0) // the previous settings are always permitted
		restoreSlack()
	}, true
}

// pin keeps the thread on one processor, counted from 1; 0: on any. processor is the number of that processor,
// counted from 0; -1: the thread is not pinned.
func pin(want int) (restore func(), processor int) {
	nothing := func() {}
	var before, only unix.CPUSet
	if want <= 0 || unix.SchedGetaffinity(0, &before) != nil || !before.IsSet(want-1) {
		return nothing, -1
	}
	only.Set(want - 1)
	if unix.SchedSetaffinity(0, &only) != nil {
		return nothing, -1
	}
	return func() { _ = unix.SchedSetaffinity(0, &before) }, want - 1
}

// threadTimes returns how long the calling thread has used a processor and how long it has waited for one, in s; 0:
// unknown.
func threadTimes() (used, delayed float64) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) == nil {
		used = time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	var ran, waited int64
	if text, err := os.ReadFile("/proc/thread-self/schedstat"); err == nil {
		if n, _ := fmt.Sscan(string(text), &ran, &waited); n == 2 {
			delayed = time.Duration(waited).Seconds()
		}
	}
	return used, delayed
}
