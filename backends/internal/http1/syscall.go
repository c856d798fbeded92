// HOT PATH: the calls bypass Go's scheduler, so they may not block, except sleep, and pause for a few µs. No
// allocation.

package http1

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// recv reads the bytes that have come, without waiting.
func recv(fd int, buf []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))),
		uintptr(len(buf)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// send writes b, without waiting and without SIGPIPE.
func send(fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
		uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return int(n), errno
}

// writer keeps the memory of a gathered write, so that a write allocates nothing.
type writer struct {
	parts  [2]unix.Iovec
	header unix.Msghdr
}

// send writes head and body in one call, without waiting and without SIGPIPE.
func (w *writer) send(fd int, head, body []byte) (int, unix.Errno) {
	if len(body) == 0 {
		return send(fd, head)
	}
	w.parts[0].Base, w.parts[1].Base = unsafe.SliceData(head), unsafe.SliceData(body)
	w.parts[0].SetLen(len(head))
	w.parts[1].SetLen(len(body))
	w.header.Iov = &w.parts[0]
	w.header.SetIovlen(len(w.parts))
	n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&w.header)),
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return int(n), errno
}

// unconfirmed reports whether a socket contains bytes that the peer has not acknowledged.
func unconfirmed(fd int) bool {
	var n int32
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCOUTQ, uintptr(unsafe.Pointer(&n)))
	return errno == 0 && n > 0
}

// ready returns the number of events that are ready now.
func ready(epoll int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// pause stops the thread, for much less time than would disturb the scheduler or the collector.
func pause(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	// an interrupted pause is just shorter
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// hold waits for at most ms milliseconds (negative: without limit) without telling Go's scheduler, so the thread
// keeps its slot to run Go code. When the scheduler needs the thread, it sends it a signal, which ends the wait
// (docs/reference/measurements.md#holding-the-schedulers-slot). timeout is set if the whole time has passed.
func hold(epoll int, events []unix.EpollEvent, ms int) (n int, timeout bool) {
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0, false
	}
	return int(r), r == 0
}

// sleep waits for at most ms milliseconds (negative: without limit), while other goroutines may use
// the thread's slot. An interrupted wait is just shorter.
func sleep(epoll int, events []unix.EpollEvent, ms int) int {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(ms), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}
