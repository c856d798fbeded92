package hostinfo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Room holds what a test needs of this process's resource limits, in bytes and threads.
type Room struct {
	AddressSpace uint64
	Data         uint64
	FileSize     uint64
	Threads      uint64
}

// NeededRoom returns the room that a test needs on this machine. Each thread of C code may reserve a stack of 8 MiB and
// an arena of 128 MiB; the runtime reserves about 1 GiB. A test has a thread for each processor and about ten more.
// extra is the memory of its data in bytes.
func NeededRoom(extra, file uint64) Room {
	threads := uint64(runtime.GOMAXPROCS(0)) + 10
	return Room{AddressSpace: 3<<29 + threads*136<<20 + extra, Data: 192<<20 + threads*12<<20 + extra, FileSize: file,
		Threads: 2*threads + 16}
}

// limit is one resource limit of the process.
type limit struct {
	resource int
	name     string
	what     string
	raise    string
	unit     uint64
	unitName string
	need     func(Room) uint64
	used     func() uint64
	column   int    // of /proc/self/statm, from 1; 0: none
	spare    uint64 // bytes
}

var limits = []limit{
	{unix.RLIMIT_AS, "RLIMIT_AS", "address space", "ulimit -v unlimited, or prlimit --as=unlimited", 1 << 20, "MiB",
		func(r Room) uint64 { return r.AddressSpace }, nil, 1, spareAddressSpace},
	{unix.RLIMIT_DATA, "RLIMIT_DATA", "data segment", "ulimit -d unlimited, or prlimit --data=unlimited", 1 << 20, "MiB",
		func(r Room) uint64 { return r.Data }, nil, 6, spareData},
	{unix.RLIMIT_FSIZE, "RLIMIT_FSIZE", "size of a file", "ulimit -f unlimited, or prlimit --fsize=unlimited", 1 << 20,
		"MiB", func(r Room) uint64 { return r.FileSize }, nil, 0, 0},
	{unix.RLIMIT_NPROC, "RLIMIT_NPROC", "number of the user's threads", "ulimit -u, or TasksMax in the service", 1,
		"threads", func(r Room) uint64 { return r.Threads }, userThreads, 0, 0},
}

// CheckRoom returns an error for the first limit that is too low, with the limit, its value, the need, and how to raise
// it.
func CheckRoom(r Room) error {
	for _, l := range limits {
		var has unix.Rlimit
		if err := unix.Getrlimit(l.resource, &has); err != nil {
			return fmt.Errorf("reading the limit %s: %w", l.name, err)
		}
		if err := l.check(has.Cur, r); err != nil {
			return err
		}
	}
	return checkPIDs("/", r.Threads)
}

// checkPIDs compares the limits of this process's control group, and of those above it, with the threads that a test
// needs. They apply to root too. root is /, except in tests.
func checkPIDs(root string, need uint64) error {
	hierarchies := map[string]string{"": "sys/fs/cgroup", "pids": "sys/fs/cgroup/pids"} // version 2, and 1
	for line := range strings.Lines(string(read(root, "proc/self/cgroup"))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		if len(parts) != 3 || hierarchies[parts[1]] == "" {
			continue
		}
		for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
			limit, err := strconv.ParseUint(text(root, hierarchies[parts[1]], group, "pids.max"), 10, 64)
			used, errUsed := strconv.ParseUint(text(root, hierarchies[parts[1]], group, "pids.current"), 10, 64)
			if err == nil && errUsed == nil && used+need > limit { // "max" is no number: no limit
				return fmt.Errorf("the limit of the control group's processes and threads (pids.max) is %d, %d of them in "+
					"use, but the test needs %d: raise it (docker run --pids-limit, TasksMax in the service)", limit, used,
					used+need)
			}
			if group == "/" {
				break
			}
		}
	}
	return nil
}

// check compares a limit's value with the need.
func (l limit) check(has uint64, r Room) error {
	need := l.need(r)
	if has == unix.RLIM_INFINITY || l.resource == unix.RLIMIT_NPROC && os.Geteuid() == 0 { // the kernel exempts root
		return nil
	}
	inUse := ""
	if l.used != nil {
		used := l.used()
		need += used
		inUse = fmt.Sprintf(", %d of them in use", used)
	}
	if has >= need {
		return nil
	}
	return fmt.Errorf("the limit of the %s (%s) is %d %s%s, but the test needs %d: raise it (%s)", l.what, l.name,
		has/l.unit, l.unitName, inUse, (need+l.unit-1)/l.unit, l.raise)
}

// With less spare memory than this, a process soon dies: the Go runtime reserves address space by 64 MiB, and a thread
// of C code by 128 MiB.
const (
	spareAddressSpace = 160 << 20
	spareData         = 48 << 20
)

// ErrRoom is wrapped by errors of RoomLeft.
var ErrRoom = errors.New("memory ran out")

// RoomLeft returns an error if this process has nearly used up a limit of its memory. When it has none left, it ends
// with exit code 3 wherever it is (internal/earlylimit), and saves nothing.
func RoomLeft() error {
	if !roomLimited(limitOf) {
		return nil
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil // no limit can be compared
	}
	return roomLeft(string(text), limitOf)
}

// limitOf returns the value of a resource limit of this process.
func limitOf(resource int) uint64 {
	has := unix.Rlimit{Cur: unix.RLIM_INFINITY}
	_ = unix.Getrlimit(resource, &has) // fails for unknown resources only
	return has.Cur
}

// roomLimited reports whether a limit that roomLeft compares is set.
func roomLimited(limitOf func(resource int) uint64) bool {
	return slices.ContainsFunc(limits, func(l limit) bool {
		return l.column != 0 && limitOf(l.resource) != unix.RLIM_INFINITY
	})
}

// roomLeft compares /proc/self/statm with limits. Its first number is the address space, the sixth data and stack, both
// in pages.
func roomLeft(statm string, limitOf func(resource int) uint64) error {
	pages := strings.Fields(statm)
	for i := range limits {
		l := &limits[i]
		if l.column == 0 || len(pages) < l.column {
			continue
		}
		used, err := strconv.ParseUint(pages[l.column-1], 10, 64)
		if err != nil {
			continue
		}
		used *= uint64(os.Getpagesize())
		if has := limitOf(l.resource); has != unix.RLIM_INFINITY && used+l.spare > has {
			return fmt.Errorf("%w: the limit of the %s (%s) is %d %s, and %d are in use: raise it (%s)", ErrRoom, l.what,
				l.name, has/l.unit, l.unitName, used/l.unit, l.raise)
		}
	}
	return nil
}

// userThreads returns the number of the user's threads that this process can see.
func userThreads() uint64 {
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*") // the pattern is valid
	n := uint64(0)
	for _, task := range tasks {
		var s syscall.Stat_t
		if syscall.Stat(task, &s) == nil && int(s.Uid) == os.Geteuid() {
			n++
		}
	}
	return n
}
