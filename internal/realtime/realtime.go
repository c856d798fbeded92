package realtime

import "golang.org/x/sys/unix"

// Sharpen requests real-time priority for the calling thread, as the bridge does for LoadGen's, and reports whether it
// was granted. Beside an engine that keeps all cores of the machine busy, a thread of normal priority waits for a tenth
// of a second and more, which would count as the server's time. The thread must sleep whenever it has nothing to do.
// Sharpen also sets the smallest timer slack, which needs no permission. Threads that this one starts do not inherit
// the priority. restore undoes both, because the thread continues with other goroutines.
func Sharpen() (restore func(), granted bool) {
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
