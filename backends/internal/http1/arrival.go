// HOT PATH: recv, arrived and readable run once a read. No allocation, no wait.

package http1

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inbox reads from sockets and learns when the kernel received the bytes (socket(7), SO_TIMESTAMP). The loop reads them
// later, by its wake-up, its pause and the events before them.
type inbox struct {
	part    unix.Iovec
	header  unix.Msghdr
	control struct { // what the kernel writes beside the bytes (cmsg(3))
		unix.Cmsghdr
		at unix.Timespec
	}
}

// recv reads the bytes that have come, without waiting. at is when the last of them came, in ns of the wall clock; 0:
// unknown.
func (i *inbox) recv(fd int, buf []byte) (n int, at int64, errno unix.Errno) {
	i.part.Base = unsafe.SliceData(buf)
	i.part.SetLen(len(buf))
	i.header.Iov, i.header.Control = &i.part, (*byte)(unsafe.Pointer(&i.control))
	i.header.SetIovlen(1)
	i.header.SetControllen(int(unsafe.Sizeof(i.control)))
	r, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&i.header)), unix.MSG_DONTWAIT)
	i.part.Base = nil
	if errno == 0 && uintptr(i.header.Controllen) >= unsafe.Sizeof(i.control) &&
		i.control.Level == unix.SOL_SOCKET && i.control.Type == unix.SCM_TIMESTAMPNS {
		at = i.control.at.Nano()
	}
	return int(r), at, errno
}

// arrived is stamp for bytes that the kernel received at a time of the wall clock (0: unknown). The loop's clock does
// not follow steps of that one, so the age of the bytes counts. They did not come before floor, whatever the wall clock
// did meanwhile.
func (p *poller) arrived(at int64) {
	if at == 0 {
		p.stamp()
		return
	}
	t := time.Now()
	p.now = int64(t.Sub(p.base))
	p.wall = p.baseWall + p.now
	p.came = min(p.wall, max(p.floor, p.wall-(t.UnixNano()-at)))
	p.known = true
}

// readable returns the earliest time at which the bytes that are being handled can have been readable.
func (p *poller) readable() int64 {
	if p.known {
		return p.came
	}
	return p.since
}
