package sandbox

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter allows the listed calls. Other calls return ENOSYS, as on an older kernel, or EPERM if programs expect
// them to be forbidden. A call of another architecture kills the process.

// Offsets in struct seccomp_data (linux/seccomp.h); arguments are 64 bits each, the low half first on the machines
// known here.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// x32Bit marks calls of the x32 ABI, which have the architecture of x86-64.
const x32Bit = 0x40000000

const cloneNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

func statement(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func jump(code uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func load(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func answer(action uint32) unix.SockFilter { return statement(unix.BPF_RET|unix.BPF_K, action) }

func refuse(errno unix.Errno) unix.SockFilter {
	return answer(unix.SECCOMP_RET_ERRNO | uint32(errno)&unix.SECCOMP_RET_DATA)
}

var allow = answer(unix.SECCOMP_RET_ALLOW)

// program returns the filter.
func program() []unix.SockFilter {
	f := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, auditArch, 1, 0), answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber), jump(unix.BPF_JGE, x32Bit, 0, 1), answer(unix.SECCOMP_RET_KILL_PROCESS),
	}
	for _, calls := range [][]uint32{allowed, allowedHere} {
		for _, n := range calls {
			f = append(f, jump(unix.BPF_JEQ, n, 0, 1), allow)
		}
	}
	for _, n := range forbidden {
		f = append(f, jump(unix.BPF_JEQ, n, 0, 1), refuse(unix.EPERM))
	}
	for _, c := range examined {
		f = append(f, c.program()...)
	}
	return append(f, refuse(unix.ENOSYS))
}

// examination allows a call by one of its arguments.
type examination struct {
	call     uint32
	argument uint32
	values   []uint32 // the low half must be one of them
	without  uint32   // or, if values is empty, have none of these bits
	together uint32   // or, if that is 0, not have all of these bits
	errno    unix.Errno
}

func (e *examination) program() []unix.SockFilter {
	var tests []unix.SockFilter
	for _, v := range e.values {
		tests = append(tests, jump(unix.BPF_JEQ, v, 0, 1), allow)
	}
	switch {
	case e.together != 0:
		tests = append(tests, statement(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, e.together),
			jump(unix.BPF_JEQ, e.together, 1, 0), allow)
	case e.values == nil:
		tests = append(tests, jump(unix.BPF_JSET, e.without, 1, 0), allow)
	}
	tests = append([]unix.SockFilter{load(offsetArgs + 8*e.argument)}, append(tests, refuse(e.errno))...)
	return append([]unix.SockFilter{jump(unix.BPF_JEQ, e.call, 0, uint8(len(tests)))}, tests...)
}

// Requests that package unix does not define (asm-generic/ioctls.h).
const (
	ioctlReadable    = 0x541b
	ioctlNonBlocking = 0x5421
	ioctlKeepOnExec  = 0x5450
	ioctlCloseOnExec = 0x5451
)

// fcntlOwnedBy is F_GETOWN, which package unix defines only on some machines (asm-generic/fcntl.h).
const fcntlOwnedBy = 9

var examined = []examination{
	{call: unix.SYS_CLONE, without: cloneNamespaces, errno: unix.EPERM},
	{call: unix.SYS_SOCKETPAIR, values: []uint32{unix.AF_UNIX}, errno: unix.EPERM},
	{call: unix.SYS_IOCTL, argument: 1, values: []uint32{unix.TCGETS, unix.TIOCGWINSZ, ioctlReadable, ioctlNonBlocking,
		ioctlCloseOnExec, ioctlKeepOnExec}, errno: unix.ENOTTY},
	// Shared memory without a file still exists when no process maps its pages any more, and then counts for no
	// process.
	{call: unix.SYS_MMAP, argument: 3, together: unix.MAP_SHARED | unix.MAP_ANONYMOUS, errno: unix.ENOMEM},
	// F_SETPIPE_SZ, which enlarges a pipe, is deliberately missing.
	{call: unix.SYS_FCNTL, argument: 1, values: []uint32{unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD,
		unix.F_GETFL, unix.F_SETFL, unix.F_GETLK, unix.F_SETLK,
		unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, fcntlOwnedBy, unix.F_GETPIPE_SZ},
		errno: unix.EPERM},
	// PR_SET_PDEATHSIG is missing on purpose: the program must end with the process that started it.
	{call: unix.SYS_PRCTL, values: []uint32{unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_GET_PDEATHSIG,
		unix.PR_GET_DUMPABLE, unix.PR_SET_DUMPABLE,
		unix.PR_CAPBSET_READ, unix.PR_GET_NO_NEW_PRIVS, unix.PR_SET_NO_NEW_PRIVS, unix.PR_SET_VMA, unix.PR_SET_THP_DISABLE,
		unix.PR_GET_THP_DISABLE, unix.PR_GET_SECCOMP}, errno: unix.EPERM},
}

// install applies the filter to this thread, which then executes the program; exec ends the other threads.
func install(f []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return errno
	}
	return nil
}
