package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Program is a program to run and what it can see.
type Program struct {
	Path  string            // path of the program in the sandbox; the file must be in View or in Files
	Args  []string          // arguments after the program's own name
	Env   []string          // complete environment of the program
	Stdin []byte            // complete standard input
	Files map[string][]byte // contents of files by plain name, written to Home, the working folder, before the start
	// files and folders of this machine that the program can read at the same paths; missing ones are skipped
	View []string
}

// Home is the working folder in the sandbox: in memory, writable, and gone at the end.
const Home = "/work"

// Limits contains the limits of a program. Each must be set.
type Limits struct {
	Wall time.Duration // elapsed time from start to end
	CPU  time.Duration // processor time of one process, in whole seconds
	// bytes of all processes together, including their files, pipes and sockets; also the limit of one process's data
	Memory       int64
	AddressSpace int64 // address space of one process in bytes; Unlimited for runtimes that reserve more than they use
	Space        int64 // limit in bytes for Home, for /tmp, and for one file
	Files        int   // number of files open in one process
	Processes    int   // number of processes and threads
	Output       int64 // limit in bytes for standard output, and for standard error
}

// Unlimited disables the limit AddressSpace.
const Unlimited = int64(-1)

// DefaultLimits suffice for the tests of a small program in an interpreted language.
func DefaultLimits() Limits {
	return Limits{Wall: 10 * time.Second, CPU: 10 * time.Second, Memory: 1 << 30, AddressSpace: 4 << 30, Space: 64 << 20,
		Files: 128, Processes: 64, Output: 1 << 20}
}

// End states how a program ended.
type End string

// The ways in which a program can end.
const (
	ByItself  End = ""
	AtWall    End = "time"
	AtMemory  End = "memory"
	AtOutput  End = "output"
	BySignal  End = "signal"
	AtCPUTime End = "cpu"
)

// Result is the outcome of a program.
type Result struct {
	Stdout, Stderr []byte // output of the program, cut at the limit Output
	Code           int    // exit code; -1 if it did not exit by itself
	End            End
	Signal         syscall.Signal // set if End is BySignal or AtCPUTime
	CPU            time.Duration  // processor time of all processes that were waited for
}

// OK reports whether the program exited by itself with code 0.
func (r *Result) OK() bool { return r.End == ByItself && r.Code == 0 }

// Unavailable is the error if the kernel or its configuration does not allow one of the walls.
type Unavailable struct{ Err error }

// Error returns one paragraph: what failed and what to try.
func (e *Unavailable) Error() string {
	return fmt.Sprintf("there is no sandbox here, so the program was not run: %v; the sandbox needs Linux 5.14 or newer "+
		"with "+
		"user namespaces for this user "+
		"(sysctl user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns 0 where it exists, and in "+
		"a container a profile that allows unshare and mount)", e.Err)
}

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// causes of an early end, as cancellation causes of the program's context.
var causes = map[End]error{AtWall: errors.New("time"), AtMemory: errors.New("memory"), AtOutput: errors.New("output")}

// Available builds all walls without running a program. Its error is an *Unavailable.
func Available(ctx context.Context) error {
	return available(ctx, DefaultLimits(), availableTime)
}

// availableTime is enough to build the walls on a busy machine.
const availableTime = 2 * time.Minute

func available(ctx context.Context, l Limits, wall time.Duration) error {
	l.Wall = wall
	r, err := Run(ctx, Program{}, l)
	if err != nil {
		return err
	}
	if !r.OK() {
		return &Unavailable{fmt.Errorf("building the walls ended early (%s, exit code %d, %v)", r.End, r.Code, r.Signal)}
	}
	return nil
}

// Run runs a program to its end. A program that fails or reaches a limit still yields a Result. An error is an
// *Unavailable, an invalid Program, or the error of ctx.
func Run(ctx context.Context, p Program, l Limits) (*Result, error) { return runWithout(ctx, p, l) }

// runWithout is like Run but omits some walls. Only tests use it, to show that each wall holds by itself.
func runWithout(ctx context.Context, p Program, l Limits, without ...wall) (*Result, error) {
	if err := check(&p, &l); err != nil {
		return nil, err
	}
	// The child's parent-death signal is tied to this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	root, err := os.MkdirTemp("", "sandbox-")
	if err != nil {
		return nil, fmt.Errorf("making the place of the sandbox: %w", err)
	}
	defer os.Remove(root)
	plan, err := newPlan(root, &p, &l, without)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c, err := start(timed, plan, p.Stdin, &l, func() { cancel(causes[AtOutput]) })
	if err != nil {
		return nil, cancelled(ctx, &Unavailable{err})
	}
	wall := time.AfterFunc(l.Wall, func() { cancel(causes[AtWall]) })
	defer wall.Stop()
	go func() { // ends with timed
		defer crash.Catch()
		watchMemory(timed, c, l.Memory, func() { cancel(causes[AtMemory]) })
	}()
	failed, waited := c.wait()
	cause := context.Cause(timed)
	if c.group.exceeded() {
		cause = causes[AtMemory]
	}
	_ = c.group.remove() // a group that stays is empty; a later process removes it
	if err := cancelled(ctx, nil); err != nil {
		return nil, err
	}
	if failed != "" {
		return nil, &Unavailable{errors.New(failed)}
	}
	return c.result(cause, waited)
}

// cancelled returns the error of a cancelled context, and otherwise err.
func cancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("running a program in the sandbox: %w", context.Cause(ctx))
	}
	return err
}

func check(p *Program, l *Limits) error {
	if auditArch == 0 {
		return &Unavailable{errors.New("its seccomp filter supports x86-64 and arm64, and this machine is " + runtime.GOARCH)}
	}
	var u unix.Utsname
	_ = unix.Uname(&u) // without a release the kernel counts as old
	if release := unix.ByteSliceToString(u.Release[:]); oldKernel(release) {
		return &Unavailable{errors.New("the kernel is " + release + ", which counts processes of all sandboxes together")}
	}
	for name := range p.Files {
		if name == "" || strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
			return fmt.Errorf("the sandbox accepts only files with plain names, not %q", name)
		}
	}
	for _, text := range append(append([]string{p.Path}, p.Args...), p.Env...) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("an argument of the program has a zero byte: %.40q", text)
		}
	}
	if min(int64(l.Wall), int64(l.CPU), l.Memory, l.Space, int64(l.Files), int64(l.Processes), l.Output) <= 0 ||
		l.AddressSpace == 0 {
		return fmt.Errorf("a limit of the sandbox is not set: %+v", *l)
	}
	return nil
}

// oldKernel reports whether RLIMIT_NPROC counts per user rather than per user and namespace (before 5.14).
func oldKernel(release string) bool {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return err != nil || major < 5 || major == 5 && minor < 14
}

// child is a running sandbox.
type child struct {
	cmd            *exec.Cmd
	stdout, stderr *bounded
	status         *os.File // the child's report of a wall that it cannot build
	life           *os.File // carries the plan to the child and stays open while this process lives
	group          *group   // control group of the sandbox; nil: no group
	watched        bool     // whether watchMemory runs
}

// childName is argument 0 of the child, by which Enter recognizes it.
const childName = "sandbox: child"

func start(ctx context.Context, plan *plan, stdin []byte, l *Limits, full func()) (*child, error) {
	told, _ := json.Marshal(plan) // texts, numbers and bytes: it cannot fail
	planRead, planWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, planRead.Close(), planWrite.Close())
	}
	c := &child{stdout: &bounded{most: l.Output, full: full}, stderr: &bounded{most: l.Output, full: full},
		status: statusRead, life: planWrite, watched: !plan.lacks(wallWatch)}
	c.cmd = exec.CommandContext(ctx, "/proc/self/exe")
	c.cmd.Args = []string{childName}
	c.cmd.Env = []string{}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = bytes.NewReader(stdin), c.stdout, c.stderr
	c.cmd.ExtraFiles = []*os.File{planRead, statusWrite}
	c.cmd.SysProcAttr = attributes(plan)
	err = c.cmd.Start()
	_, _ = planRead.Close(), statusWrite.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting a process in namespaces of its own: %w", err), planWrite.Close(),
			statusRead.Close())
	}
	// The child does nothing before it has read the plan, so it is in the group before the program is.
	if !plan.lacks(wallGroup) {
		c.group = findGroups().grouped(c.cmd.Process.Pid, l.Memory)
	}
	// The child reads the whole plan before it does anything else. If it was killed, the pipe is broken, and the exit
	// status has the reason.
	go func() {
		defer crash.Catch()
		_, _ = planWrite.Write(told)
	}()
	return c, nil
}

// attributes returns the namespaces. A privileged parent also maps an unprivileged user, as which the program runs,
// because the machine's root is exempt from the limit on processes.
func attributes(plan *plan) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWCGROUP,
		Pdeathsig: syscall.SIGKILL, Setsid: true,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if plan.lacks(wallNetwork) {
		a.Cloneflags &^= syscall.CLONE_NEWNET
	}
	if plan.Privileged {
		nobody := syscall.SysProcIDMap{ContainerID: 1, HostID: 65534, Size: 1}
		a.UidMappings, a.GidMappings = append(a.UidMappings, nobody), append(a.GidMappings, nobody)
		a.GidMappingsEnableSetgroups = true
	}
	return a
}

// wait returns the child's report of a failed wall, and how the process ended.
func (c *child) wait() (failed string, err error) {
	text, readErr := io.ReadAll(io.LimitReader(c.status, 4096))
	_ = c.status.Close()
	if readErr != nil {
		text = []byte(readErr.Error())
	}
	err = c.cmd.Wait()
	_ = c.life.Close()
	return string(text), err
}

func (c *child) result(cause, waited error) (*Result, error) {
	r := &Result{Stdout: c.stdout.kept.Bytes(), Stderr: c.stderr.kept.Bytes(), Code: -1}
	state := c.cmd.ProcessState
	if state == nil {
		return nil, fmt.Errorf("waiting for a program in the sandbox: %w", waited)
	}
	r.CPU = state.UserTime() + state.SystemTime()
	for end, err := range causes {
		if cause == err {
			r.End = end
			return r, nil
		}
	}
	status := state.Sys().(syscall.WaitStatus)
	switch {
	case status.Exited():
		r.Code = status.ExitStatus()
	case status.Signal() == syscall.SIGKILL:
		// Nothing else can kill it: this program's kill and the kernel's for memory have a cause, and process 1 ignores
		// signals from inside and SIGXCPU.
		r.End, r.Signal = AtCPUTime, status.Signal()
	default:
		r.End, r.Signal = BySignal, status.Signal()
	}
	return r, nil
}
