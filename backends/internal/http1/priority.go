package http1

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

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
