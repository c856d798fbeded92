package sim

// Hot path: runs once a read.

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inbox reads a connection and learns when the kernel received the bytes (socket(7), SO_TIMESTAMP). A request
// arrives then, and not when its goroutine gets a processor.
type inbox struct {
	nc      net.Conn
	raw     syscall.RawConn // nil: the kernel does not tell
	pace    *pacer
	arrived int64 // when the last read's bytes came, on the pacer's clock

	// Arguments and results of try, a closure made once so that a read allocates nothing.
	try     func(fd uintptr) bool
	buf     []byte
	n       int
	err     error
	control [arrivalSpace]byte
	length  int // of what is in control
}

// arrivalSpace is the length of a time that the kernel writes beside the bytes (cmsg(3)).
const arrivalSpace = unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))

// longestAge bounds the age of bytes, because the wall clock may have been set meanwhile.
const longestAge = time.Second

func (i *inbox) open(nc net.Conn, raw syscall.RawConn, pace *pacer) {
	i.nc, i.pace = nc, pace
	if raw == nil {
		return
	}
	i.try = func(fd uintptr) bool {
		for {
			i.n, i.length, _, _, i.err = unix.Recvmsg(int(fd), i.buf, i.control[:], unix.MSG_DONTWAIT)
			if !errors.Is(i.err, unix.EINTR) {
				return !errors.Is(i.err, unix.EAGAIN)
			}
		}
	}
	asked := func(fd uintptr) { i.err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }
	if err := raw.Control(asked); err == nil && i.err == nil {
		i.raw = raw
	}
}

// Read implements io.Reader.
func (i *inbox) Read(b []byte) (int, error) {
	if i.raw == nil {
		n, err := i.nc.Read(b)
		i.arrived = i.pace.now()
		return n, err
	}
	i.buf = b
	err := i.raw.Read(i.try)
	i.buf = nil
	switch {
	case err != nil:
		return 0, err
	case i.err != nil:
		return 0, i.err
	case i.n == 0:
		return 0, io.EOF
	}
	i.arrived = i.pace.now() - i.age(time.Now())
	return i.n, nil
}

// age returns how long before now the kernel received the bytes of the last read, in ns; 0: unknown.
func (i *inbox) age(now time.Time) int64 {
	if i.length < arrivalSpace {
		return 0
	}
	head := (*unix.Cmsghdr)(unsafe.Pointer(&i.control))
	if head.Level != unix.SOL_SOCKET || head.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	at := (*unix.Timespec)(unsafe.Pointer(&i.control[unix.SizeofCmsghdr]))
	age := now.UnixNano() - at.Nano()
	if age < 0 || age > int64(longestAge) {
		return 0
	}
	return age
}
