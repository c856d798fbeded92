package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSandboxFromOutside reads what the kernel reports about a program that waits in a sandbox.
func TestSandboxFromOutside(t *testing.T) {
	const files = 5 << 20
	shown := t.TempDir()
	p := python(t, fmt.Sprintf("open('/tmp/f', 'wb').write(b'x' * %d)\nimport socket, time\npair = socket.socketpair()\n"+
		"time.sleep(1000)", files))
	p.View = append(slices.Clone(p.View), shown)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, p, roomy())
		ended <- err
	}()
	defer func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	}()
	var pid int
	require.Eventually(t, func() bool {
		child, sleeps := sleepingChild()
		pid, _ = strconv.Atoi(child)
		return sleeps
	}, time.Minute, 5*time.Millisecond)

	for _, name := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		own, err := os.Readlink("/proc/self/ns/" + name)
		require.NoError(t, err)
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
		require.NoError(t, err)
		require.NotEqual(t, own, its)
	}
	session, err := unix.Getsid(pid)
	require.NoError(t, err)
	require.Equal(t, pid, session)
	checkRights(t, pid)
	checkMounts(t, pid, shown)
	folder, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	require.NoError(t, err)
	require.Equal(t, Home, folder)
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(t, err)
	require.Len(t, descriptors, 5, "the standard streams and the sockets")
	if place := findGroups(); place != nil {
		group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		require.NoError(t, err)
		require.Contains(t, string(group), groupPrefix)
	}
	checkMemory(t, pid, files)
}

// checkRights checks the users, capabilities and filter of a program in the sandbox.
func checkRights(t *testing.T, pid int) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		require.NoError(t, err)
		return string(text)
	}
	asRoot := privileged()
	users, groups, groupsAllowed := []string{"0", strconv.Itoa(os.Getuid()), "1"}, []string{"0", strconv.Itoa(os.Getgid()),
		"1"}, "deny\n"
	user, group := os.Getuid(), os.Getgid()
	if asRoot {
		users, groups, groupsAllowed = append(users, "1", "65534", "1"), append(groups, "1", "65534", "1"), "allow\n"
		user, group = 65534, 65534
	}
	require.Equal(t, users, strings.Fields(read("uid_map")))
	require.Equal(t, groups, strings.Fields(read("gid_map")))
	require.Equal(t, groupsAllowed, read("setgroups"))
	status := map[string]string{}
	for line := range strings.Lines(read("status")) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.Join(strings.Fields(value), " ")
	}
	const none = "0000000000000000"
	want := map[string]string{"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"NoNewPrivs": "1", "Seccomp": "2"}
	if asRoot {
		want["Groups"] = ""
	}
	want["Uid"] = strings.TrimSpace(strings.Repeat(strconv.Itoa(user)+" ", 4))
	want["Gid"] = strings.TrimSpace(strings.Repeat(strconv.Itoa(group)+" ", 4))
	for name, value := range want {
		require.Equal(t, value, status[name], name)
	}
}

// checkMounts checks what a program in the sandbox may do in each of its file systems.
func checkMounts(t *testing.T, pid int, shown string) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	require.NoError(t, err)
	var seen []string
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		path, options := fields[4], strings.Split(fields[5], ",")
		seen = append(seen, path)
		inMemory := []string{"", "", ""}
		switch path {
		case "/":
			require.Subset(t, options, []string{"ro", "nosuid", "nodev"}, line)
			inMemory = []string{"size=1024k", "nr_inodes=4096", "mode=755"}
		case Home, "/tmp":
			require.Subset(t, options, []string{"rw", "nosuid", "nodev"}, line)
			inMemory = []string{"size=65536k", "nr_inodes=4096"}
		case "/dev/null", "/dev/urandom", "/dev/random":
			require.Subset(t, options, []string{"nosuid", "noexec"}, line)
			require.NotContains(t, options, "nodev", line)
		default:
			require.Subset(t, options, []string{"ro", "nosuid", "nodev"}, line)
		}
		for _, option := range inMemory {
			require.Contains(t, rest[2], option, line)
		}
	}
	require.Subset(t, seen, []string{"/", Home, "/tmp", "/dev/null", "/dev/urandom", "/dev/random", shown})
	require.Equal(t, len(seen), len(slices.Compact(slices.Sorted(slices.Values(seen)))), "%v", seen)
}

// checkMemory checks the memory that counts for a program with files of this size, and a pair of sockets.
func checkMemory(t *testing.T, pid, files int) {
	t.Helper()
	require.EqualValues(t, files, fileBytes(pid, "/tmp"))
	require.EqualValues(t, 4096, fileBytes(pid, Home), "main.py")
	own := processBytes(pid)
	require.Greater(t, own, int64(1<<20))
	require.Less(t, own, int64(64<<20))
	// Standard input, output and error are pipes.
	want := own + int64(files) + 4096 + 3*pipeBytes + 2*socketBytes()
	require.InDelta(t, want, heldBytes(pid), 1<<20)
	all := tally{processes: map[int]bool{}, objects: map[string]bool{}}
	all.tree(os.Getpid())
	require.True(t, all.processes[pid], "it is a child of this process")
	sum := all.sum
	all.tree(os.Getpid())
	require.Equal(t, sum, all.sum, "each process counts once")
}

// condition is an argument of a system call and its value.
type condition struct{ argument, value uint32 }

// denying calls f on a thread on which a system call with certain arguments fails. Processes that f starts inherit
// that.
func denying(call uint32, errno unix.Errno, conditions []condition, f func() error) error {
	filter := []unix.SockFilter{load(offsetNumber), jump(unix.BPF_JEQ, call, 0, uint8(2*len(conditions)+1))}
	for i, c := range conditions {
		filter = append(filter, load(offsetArgs+8*c.argument),
			jump(unix.BPF_JEQ, c.value, 0, uint8(2*(len(conditions)-i)-1)))
	}
	return filtered(append(filter, refuse(errno), allow), f)
}

// filtered calls f on a thread of its own with a filter.
func filtered(filter []unix.SockFilter, f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks, so that the thread ends with the goroutine
		if err := install(filter); err != nil {
			result <- fmt.Errorf("the filter of the test: %w", err)
			return
		}
		result <- f()
	}()
	return <-result
}

// TestEachStepIsNeeded lets each step of building the sandbox fail. Then no program runs, and the error names the
// step.
func TestEachStepIsNeeded(t *testing.T) {
	walls(t)
	type denied struct {
		call  uint32
		where []condition
		says  string
		root  bool // only the machine's root makes this call
	}
	mount := func(flags uint32, says string) denied {
		return denied{call: unix.SYS_MOUNT, where: []condition{{3, flags}}, says: says}
	}
	cases := []denied{
		{call: unix.SYS_PIPE2, says: "pipe2"},
		mount(unix.MS_REC|unix.MS_PRIVATE, "hiding the file system: making mounts private"),
		mount(unix.MS_NOSUID|unix.MS_NODEV, "mounting a root in memory"),
		mount(unix.MS_BIND|unix.MS_REC, "showing /dev/null"),
		{call: unix.SYS_MOUNT_SETATTR, says: "showing /dev/null"},
		{call: unix.SYS_SYMLINKAT, says: "hiding the file system: symlink"},
		{call: unix.SYS_CHDIR, says: "hiding the file system: chdir"},
		{call: unix.SYS_PIVOT_ROOT, says: "changing the root"},
		{call: unix.SYS_UMOUNT2, says: "unmounting the old root"},
		{call: unix.SYS_SETHOSTNAME, says: "setting the host's name"},
		mount(unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "closing the root file system"),
		{call: unix.SYS_SETGROUPS, says: "changing the user", root: true},
		{call: unix.SYS_PRCTL, where: []condition{{0, unix.PR_SET_KEEPCAPS}}, says: "changing the user", root: true},
		{call: unix.SYS_SETRESGID, says: "changing the user", root: true},
		{call: unix.SYS_SETRESUID, says: "changing the user", root: true},
		{call: unix.SYS_CAPGET, says: "dropping capabilities"},
		{call: unix.SYS_CAPSET, says: "dropping capabilities"},
		{call: unix.SYS_PRCTL, where: []condition{{0, unix.PR_CAPBSET_DROP}, {1, 9}}, says: "dropping capabilities"},
		{call: unix.SYS_PRCTL, where: []condition{{0, unix.PR_CAP_AMBIENT}}, says: "dropping capabilities"},
		{call: unix.SYS_PPOLL, says: "asking for death with the parent"},
		{call: unix.SYS_CLOSE_RANGE, says: "closing other files"},
		{call: unix.SYS_PRLIMIT64, where: []condition{{1, rlimitCore}}, says: "setting limits: limit 4"},
		{call: unix.SYS_PRCTL, where: []condition{{0, unix.PR_SET_NO_NEW_PRIVS}}, says: "filtering system calls"},
		{call: unix.SYS_SECCOMP, says: "filtering system calls"},
	}
	l := roomy()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "link")))
	linked := Program{View: []string{filepath.Join(dir, "link")}}
	for _, c := range cases {
		if c.root && !privileged() {
			continue
		}
		err := denying(c.call, unix.EPERM, c.where, func() error {
			_, err := Run(t.Context(), linked, l)
			return err
		})
		var u *Unavailable
		require.ErrorAs(t, err, &u, "%+v", c)
		require.ErrorContains(t, u.Err, c.says)
	}
	require.NoError(t, denying(unix.SYS_PRCTL, unix.EINVAL, []condition{{0, unix.PR_CAPBSET_DROP},
		{1, unix.CAP_LAST_CAP}}, func() error { return Available(t.Context()) }), "an older kernel has fewer capabilities")
	namespaces := examination{call: unix.SYS_CLONE, without: unix.CLONE_NEWUSER, errno: unix.ENOSPC}
	err := filtered(slices.Concat([]unix.SockFilter{load(offsetNumber)}, namespaces.program(), []unix.SockFilter{allow}),
		func() error { return Available(t.Context()) })
	require.ErrorContains(t, err, "starting a process in namespaces of its own")
	require.ErrorIs(t, err, unix.ENOSPC)
}

// A place, a file or a path of the plan that does not fit is reported too.
func TestPlansThatFail(t *testing.T) {
	walls(t)
	l := roomy()
	full := Program{Files: map[string][]byte{"big": make([]byte, 2<<20)}}
	l.Space = 1 << 20
	_, err := Run(t.Context(), full, l)
	var u *Unavailable
	require.ErrorAs(t, err, &u)
	require.ErrorContains(t, u.Err, "writing the program's files: ")

	for says, change := range map[string]func(*plan){
		"showing /no/such: no such file": func(pl *plan) { pl.Binds = append(pl.Binds, bind{Path: "/no/such"}) },
		"hiding the file system: mkdir":  func(pl *plan) { pl.Links["/dev/null/x"] = "y" },
		"limit 99: invalid argument":     func(pl *plan) { pl.Rlimits[99] = 1 },
		"mounting a root in memory":      func(pl *plan) { pl.Root = "/dev/null/x" },
		"mounting /work in memory":       func(pl *plan) { pl.Links[Home] = "/dev/null" },
	} {
		pl, err := newPlan(t.TempDir(), &Program{}, &l, nil)
		require.NoError(t, err)
		change(pl)
		text, err := json.Marshal(pl)
		require.NoError(t, err)
		_, status := entered(t, []string{childName}, nil, attributes(pl), text, true)
		require.Contains(t, status, says)
	}

	t.Setenv("TMPDIR", "/no/such")
	_, err = Run(t.Context(), Program{}, l)
	require.ErrorContains(t, err, "making the place of the sandbox")
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	cancel(because)
	_, err = Run(ctx, Program{}, l)
	require.ErrorIs(t, err, because)
	require.ErrorContains(t, err, "running a program in the sandbox")
	require.False(t, errors.As(err, &u))
	require.ErrorContains(t, available(t.Context(), l, time.Nanosecond), "building the walls ended early (time")
	require.GreaterOrEqual(t, availableTime, time.Minute)
}

// returnedName is argument 0 with which this test binary only calls Enter, and then prints returned.
const (
	returnedName = "sandbox test: returned"
	returned     = "Enter returned"
)

// entered starts this program with a plan, as start does, and returns its output and its report.
func entered(t *testing.T, args, env []string, attr *syscall.SysProcAttr, plan []byte, alive bool) (out,
	status string) {
	t.Helper()
	planRead, planWrite, err := os.Pipe()
	require.NoError(t, err)
	statusRead, statusWrite, err := os.Pipe()
	require.NoError(t, err)
	_, err = planWrite.Write(plan) // fits into the pipe
	require.NoError(t, err)
	if !alive {
		require.NoError(t, planWrite.Close())
	}
	var stdout bytes.Buffer
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env, cmd.SysProcAttr, cmd.Stdout = args, append([]string{}, env...), attr, &stdout
	cmd.ExtraFiles = []*os.File{planRead, statusWrite}
	require.NoError(t, cmd.Start())
	require.NoError(t, errors.Join(planRead.Close(), statusWrite.Close()))
	text, err := io.ReadAll(statusRead)
	require.NoError(t, err)
	require.NoError(t, statusRead.Close())
	_ = planWrite.Close()
	require.NoError(t, ignoreExit(cmd.Wait()))
	return stdout.String(), string(text)
}

// Enter leaves every process alone that is not exactly a child of Run, and a child reports what it cannot use.
func TestEnter(t *testing.T) {
	walls(t)
	l := roomy()
	pl, err := newPlan(t.TempDir(), &Program{}, &l, nil)
	require.NoError(t, err)
	text, err := json.Marshal(pl)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		args, env []string
		attr      *syscall.SysProcAttr
	}{
		"an argument":             {[]string{childName, "x"}, nil, attributes(pl)},
		"an environment":          {[]string{childName}, []string{"A=b"}, attributes(pl)},
		"another name":            {[]string{returnedName}, nil, attributes(pl)},
		"no namespace of its own": {[]string{childName}, nil, nil},
	} {
		out, status := entered(t, c.args, c.env, c.attr, text, true)
		require.Equal(t, returned, out, name)
		require.Empty(t, status, name)
	}
	out, status := entered(t, []string{childName}, nil, attributes(pl), text, true)
	require.Empty(t, out+status)
	_, status = entered(t, []string{childName}, nil, attributes(pl), []byte("no plan"), true)
	require.Contains(t, status, "reading what to run: invalid character")
	_, status = entered(t, []string{childName}, nil, attributes(pl), text, false)
	require.Equal(t, "asking for death with the parent: the parent has ended", status)
}

// A sandbox without enough file descriptors is unavailable, and one with enough closes all of them.
func TestFileDescriptorsOfARun(t *testing.T) {
	walls(t)
	var old syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	restore := func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)) }
	defer restore()
	open := descriptorsOf(t)
	var failed int
	for most := uint64(1); ; most++ {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: old.Max}))
		err := Available(t.Context())
		restore()
		require.Error(t, err)
		failed++
		if strings.Contains(err.Error(), "fork/exec") {
			break // package syscall keeps pipes open if it finds no descriptor for the new process
		}
		require.ErrorContains(t, err, "too many open files")
		require.Equal(t, open, descriptorsOf(t), "after %v", err)
	}
	require.Greater(t, failed, 4)
	open = descriptorsOf(t)
	require.NoError(t, Available(t.Context()))
	require.Equal(t, open, descriptorsOf(t))
}

// descriptorsOf returns the open file descriptors of this process.
func descriptorsOf(t *testing.T) (list []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		if _, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // the folder itself is closed
			list = append(list, fd)
		}
	}
	return list
}

// The program runs alone and reports as itself: its host's name, its exit code, its processor time.
func TestResultOfAProgram(t *testing.T) {
	p := python(t, "import os, sys\nwhile sum(os.times()[:2]) < 0.4: os.urandom(1 << 20)\n"+
		"print(os.uname().nodename, os.getsid(0), sum(os.times()[:2]))")
	r := run(t, p, roomy())
	require.True(t, r.OK(), "%s", r.Stderr)
	fields := strings.Fields(string(r.Stdout))
	require.Equal(t, []string{"sandbox", "1"}, fields[:2])
	seconds, err := strconv.ParseFloat(fields[2], 64)
	require.NoError(t, err)
	require.InDelta(t, seconds, r.CPU.Seconds(), 0.3)
	require.Greater(t, r.CPU.Seconds(), seconds-0.05)

	status, life, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, life.Close())
	unknown := &child{cmd: exec.Command("true"), stdout: &bounded{}, stderr: &bounded{}, status: status, life: life}
	failed, waited := unknown.wait()
	require.Empty(t, failed)
	require.ErrorContains(t, waited, "not started")
	_, err = unknown.result(nil, waited)
	require.ErrorIs(t, err, waited, "it is not known how the program ended")

	r = run(t, python(t, "import ctypes\nctypes.string_at(0)"), roomy())
	require.Equal(t, []any{-1, BySignal, syscall.SIGSEGV}, []any{r.Code, r.End, r.Signal})
	l := roomy()
	l.Wall = 100 * time.Millisecond
	r = run(t, python(t, "import time\ntime.sleep(1000)"), l)
	require.Equal(t, []any{-1, AtWall}, []any{r.Code, r.End})
}

// A thread that a goroutine still holds when it ends would end too.
func TestThreadsStay(t *testing.T) {
	walls(t)
	var threads []int
	for range 3 {
		done := make(chan int)
		go func() {
			_, _ = Run(t.Context(), Program{}, roomy())
			done <- unix.Gettid()
		}()
		threads = append(threads, <-done)
	}
	for _, thread := range threads[:2] { // the last goroutine may be ending
		require.DirExists(t, fmt.Sprintf("/proc/self/task/%d", thread))
	}
}

// The thread that starts the program must stay: the program ends with it. Other goroutines end threads here.
func TestProgramKeepsItsThread(t *testing.T) {
	p := python(t, "import time\ntime.sleep(0.5)\nprint('done')")
	ended := make(chan *Result, 1)
	go func() {
		r, _ := Run(t.Context(), p, roomy())
		ended <- r
	}()
	for {
		select {
		case r := <-ended:
			require.NotNil(t, r)
			require.Equal(t, "done\n", string(r.Stdout), "%s %v", r.End, r.Signal)
			return
		default:
		}
		gone := make(chan bool)
		go func() {
			defer close(gone)
			runtime.LockOSThread() // the thread ends with the goroutine
		}()
		<-gone
	}
}

// TestDecisionsOfTheFilter interprets the filter.
func TestDecisionsOfTheFilter(t *testing.T) {
	const killed, errno = uint32(unix.SECCOMP_RET_KILL_PROCESS), uint32(unix.SECCOMP_RET_ERRNO)
	f := program()
	decide := func(arch, call uint32, args ...uint32) uint32 {
		data := map[uint32]uint32{0: call, 4: arch}
		for i, a := range args {
			data[uint32(16+8*i)] = a
		}
		return interpret(t, f, data)
	}
	want := map[uint32]uint32{}
	for _, n := range slices.Concat(allowed, allowedHere) {
		want[n] = unix.SECCOMP_RET_ALLOW
	}
	for _, n := range forbidden {
		want[n] = errno | uint32(unix.EPERM)
	}
	argued := []uint32{unix.SYS_CLONE, unix.SYS_SOCKETPAIR, unix.SYS_IOCTL, unix.SYS_MMAP, unix.SYS_FCNTL, unix.SYS_PRCTL}
	for n := range uint32(1000) {
		if slices.Contains(argued, n) {
			continue
		}
		decision, ok := want[n]
		if !ok {
			decision = errno | uint32(unix.ENOSYS)
		}
		require.Equal(t, decision, decide(auditArch, n, 0, 0, 0, 0), "system call %d", n)
	}
	require.Equal(t, killed, decide(auditArch+1, unix.SYS_READ))
	require.Equal(t, killed, decide(0, unix.SYS_READ))
	for _, n := range []uint32{0x40000000, 0x40000000 | unix.SYS_READ, math.MaxUint32} {
		require.Equal(t, killed, decide(auditArch, n))
	}
	require.NotEqual(t, killed, decide(auditArch, 0x3fffffff))
	for _, c := range []struct {
		call    uint32
		args    []uint32
		refused unix.Errno
	}{
		{unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, 0},
		{unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, 0},
		{unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | unix.CLONE_VM}, unix.EPERM},
		{unix.SYS_CLONE, []uint32{unix.CLONE_NEWNS}, unix.EPERM}, {unix.SYS_CLONE, []uint32{unix.CLONE_NEWPID}, unix.EPERM},
		{unix.SYS_CLONE, []uint32{unix.CLONE_NEWNET}, unix.EPERM}, {unix.SYS_CLONE, []uint32{unix.CLONE_NEWIPC}, unix.EPERM},
		{unix.SYS_CLONE, []uint32{unix.CLONE_NEWUTS}, unix.EPERM},
		{unix.SYS_CLONE, []uint32{unix.CLONE_NEWCGROUP}, unix.EPERM},
		{unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX}, 0}, {unix.SYS_SOCKETPAIR, []uint32{unix.AF_INET}, unix.EPERM},
		{unix.SYS_IOCTL, []uint32{0, unix.TCGETS}, 0}, {unix.SYS_IOCTL, []uint32{0, unix.TIOCGWINSZ}, 0},
		{unix.SYS_IOCTL, []uint32{0, 0x541b}, 0}, {unix.SYS_IOCTL, []uint32{0, 0x5421}, 0},
		{unix.SYS_IOCTL, []uint32{0, 0x5450}, 0}, {unix.SYS_IOCTL, []uint32{0, 0x5451}, 0},
		{unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, unix.ENOTTY}, {unix.SYS_IOCTL, []uint32{unix.TCGETS, 0}, unix.ENOTTY},
		{unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}, 0},
		{unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED}, 0},
		{unix.SYS_MMAP, []uint32{0, 0, 0, unix.MAP_SHARED | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE}, unix.ENOMEM},
		{unix.SYS_FCNTL, []uint32{0, unix.F_DUPFD}, 0}, {unix.SYS_FCNTL, []uint32{0, unix.F_SETFL}, 0},
		{unix.SYS_FCNTL, []uint32{0, 9}, 0}, {unix.SYS_FCNTL, []uint32{0, unix.F_GETPIPE_SZ}, 0},
		{unix.SYS_FCNTL, []uint32{0, unix.F_SETPIPE_SZ}, unix.EPERM},
		{unix.SYS_PRCTL, []uint32{unix.PR_SET_NAME}, 0}, {unix.SYS_PRCTL, []uint32{unix.PR_SET_PDEATHSIG}, unix.EPERM},
		{unix.SYS_PRCTL, []uint32{unix.PR_SET_SECCOMP}, unix.EPERM},
	} {
		decision := uint32(unix.SECCOMP_RET_ALLOW)
		if c.refused != 0 {
			decision = errno | uint32(c.refused)
		}
		require.Equal(t, decision, decide(auditArch, c.call, append(c.args, 0, 0, 0, 0)...), "%+v", c)
	}
}

// interpret executes a filter as the kernel does, on the words of struct seccomp_data by their offsets.
func interpret(t *testing.T, f []unix.SockFilter, data map[uint32]uint32) uint32 {
	t.Helper()
	offsets := slices.Collect(maps.Keys(data))
	var a uint32
	for at := 0; at < len(f); at++ {
		s := f[at]
		var holds bool
		switch s.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			require.Contains(t, offsets, s.K)
			a = data[s.K]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= s.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return s.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == s.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= s.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&s.K != 0
		default:
			t.Fatalf("unknown instruction %#x", s.Code)
		}
		if holds {
			at += int(s.Jt)
		} else {
			at += int(s.Jf)
		}
	}
	t.Fatal("the filter does not return")
	return 0
}
