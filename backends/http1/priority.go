package http1

import "golang.org/x/sys/unix"

// sharpen asks for real-time priority for the loop's thread, as the bridge does for LoadGen's: beside an engine that keeps every
// core of the machine busy, a thread of normal priority waits a tenth of a second and more for its turn, and that would stand in
// the numbers as the server's time. The loop sleeps whenever it has nothing to do. It is false where that is not permitted.
// Threads that this one starts do not inherit it; restore takes it back, because the thread goes on serving other goroutines.
func sharpen() (restore func(), granted bool) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return func() {}, false
	}
	fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if err := unix.SchedSetAttr(0, &fifo, 0); err != nil {
		return func() {}, false
	}
	return func() { _ = unix.SchedSetAttr(0, before, 0) }, true // what was allowed before is allowed again
}
