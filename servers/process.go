package servers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

const (
	groupGrace = 5 * time.Second // for the group to end after SIGTERM, once its leader has exited
	// for processes to end after SIGKILL; one that waits for a device may take seconds
	killGrace = 10 * time.Second
	poll      = 20 * time.Millisecond
)

// process is the leader of a replica's session and group.
type process struct {
	identity
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the leader has exited; it is not reaped yet, so that its PID is not reused
	cookie string
	// processes that members has found so far; a child with its own session and environment is found only by its parent
	known []identity
	guard *guard

	environ  []string                // environment at the start
	learn    func(map[string]string) // receives the variables that pre_start set
	exported chan map[string]string  // carries them at most once, then is closed
}

// startProcess starts a server. The calling thread must outlive the server, because the kernel kills the server when
// the thread ends.
func startProcess(line, environ, pre []string, cookie string, log *os.File, learn func(map[string]string)) (*process,
	error) {
	line = slices.Clone(line)
	program, err := lookPath(line[0], environ)
	if err != nil {
		return nil, err
	}
	p := &process{ended: make(chan struct{}), cookie: cookie, environ: environ, learn: learn,
		exported: make(chan map[string]string, 1)}
	var fromShell, toParent *os.File // pipe for the environment that the shell of pre_start ends with
	if len(pre) > 0 {
		if line, err = withPreStart(line, environ, pre); err != nil {
			return nil, err
		}
		program = line[0]
		if fromShell, toParent, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("create a pipe for the pre_start commands: %w", err)
		}
	}
	p.cmd = &exec.Cmd{
		Path: program, Args: line, Env: append(slices.Clone(environ), cookieName+"="+cookie), Stdout: log, Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if toParent != nil {
		p.cmd.ExtraFiles = []*os.File{toParent} // descriptor 3
	}
	err = p.cmd.Start()
	if toParent == nil {
		close(p.exported)
	} else {
		err = errors.Join(err, toParent.Close())
		go p.readExports(fromShell)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", line[0], err)
	}
	p.PID = p.cmd.Process.Pid
	if now, ok := readProc(p.PID); ok { // true even if it has exited, since it is not reaped yet
		p.Start = now.Start
	}
	go p.watch()
	if p.guard, err = startGuard(p.identity); err != nil {
		return nil, errors.Join(err, p.stop(0))
	}
	return p, nil
}

// watch waits for the leader's exit without reaping it.
func (p *process) watch() {
	defer crash.Catch()
	defer close(p.ended)
	for {
		if err := unix.Waitid(unix.P_PID, p.PID, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// largestEnviron limits the bytes read of an environment; the kernel's own limit is lower.
const largestEnviron = 8 << 20

// readExports reads the environment that the shell of pre_start passes to the server. It returns when the shell has
// executed the server or has exited.
func (p *process) readExports(from io.ReadCloser) {
	defer crash.Catch()
	defer close(p.exported)
	defer from.Close()
	b, err := io.ReadAll(io.LimitReader(from, largestEnviron))
	if err == nil && len(b) > 0 {
		changed := p.changed(strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"))
		p.learn(changed)
		p.exported <- changed
	}
}

// shellOwn lists variables that every shell sets by itself.
var shellOwn = []string{"_", "PWD", "OLDPWD", "SHLVL"}

// exports returns the variables that pre_start set or changed, to the first caller only. It blocks until the server is
// ready or has exited.
func (p *process) exports() map[string]string { return <-p.exported }

// changed returns the variables of environ that differ from the environment at the start.
func (p *process) changed(environ []string) map[string]string {
	changed := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if before, had := lookup(p.environ, name); (!had || before != value) && name != cookieName &&
			!slices.Contains(shellOwn, name) {
			changed[name] = value
		}
	}
	return changed
}

// withPreStart returns a command line of one shell that runs the commands and then executes the server, which inherits
// the variables that they export.
func withPreStart(line, environ, pre []string) ([]string, error) {
	shell, err := lookPath("bash", environ)
	if err != nil {
		if shell, err = lookPath("sh", environ); err != nil {
			return nil, fmt.Errorf("the pre_start commands need a shell: %w", err)
		}
	}
	// Descriptor 3 carries only the environment; programs that the commands leave running must not keep it open.
	script := "set -e\n{\n" + strings.Join(pre, "\n") + "\n} 3>&-\nenv -0 >&3\nexec 3>&-\nexec \"$@\"\n"
	return append([]string{shell, "-c", script, "pre_start"}, line...), nil
}

// lookPath finds a program in the absolute folders of the server's own PATH.
func lookPath(name string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		return exec.LookPath(name)
	}
	path, _ := lookup(environ, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // the working folder may hold a program of that name from anyone
		}
		file := filepath.Join(dir, name)
		if s, err := os.Stat(file); err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("the program %q is not in the absolute folders of PATH (%s): activate its environment, or "+
		"write its path in binary_path or launch_command", name, path)
}

// members returns the live processes of the server. It must not be called concurrently.
func (p *process) members() ([]proc, error) {
	found, err := family(p.identity, p.cookie, p.known)
	for _, m := range found {
		if !slices.Contains(p.known, m.identity) {
			p.known = append(p.known, m.identity)
		}
	}
	return found, err
}

// stop ends the server and all processes that it started. The leader receives SIGTERM and has grace to exit; the
// remaining processes receive SIGTERM, then SIGKILL. A process that survives is an error.
func (p *process) stop(grace time.Duration) error {
	var failed []error
	if grace > 0 {
		_, err := p.members() // children are found through their parent while it lives
		failed = append(failed, err, signalOne(p.identity, syscall.SIGTERM))
		select {
		case <-p.ended:
		case <-time.After(grace):
		}
	}
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, min(grace, groupGrace)}, {syscall.SIGKILL, killGrace}} {
		members, err := p.signalAll(step.signal)
		if err == nil && len(members) > 0 {
			members, err = p.awaitEnd(step.signal, step.wait)
		}
		if failed = append(failed, err); len(members) == 0 {
			break
		}
		if step.signal == syscall.SIGKILL {
			return errors.Join(append(failed, unkillable(members), p.guard.end())...)
		}
	}
	// The leader is not reaped yet, so its number cannot belong to another group, even if reading /proc failed above.
	failed = append(failed, signalGroup(p.PID, syscall.SIGKILL), p.guard.end())
	<-p.ended
	// The status of a stopped server does not matter; exitText describes one that exited by itself.
	_ = p.cmd.Wait()
	return errors.Join(failed...)
}

func unkillable(members []proc) error {
	return fmt.Errorf("processes of the server survived SIGKILL: %v; check what they are waiting for", members)
}

func (p *process) signalAll(s syscall.Signal) ([]proc, error) {
	members, err := p.members()
	if err != nil || len(members) == 0 {
		return members, err
	}
	failed := []error{signalGroup(p.PID, s)}
	for _, m := range members {
		if m.group != p.PID {
			failed = append(failed, signalOne(m.identity, s))
		}
	}
	return members, errors.Join(failed...)
}

// awaitEnd waits for the members to end. After SIGKILL it also kills processes that a member started just before its
// end.
func (p *process) awaitEnd(sent syscall.Signal, limit time.Duration) (left []proc, err error) {
	for deadline := time.Now().Add(limit); ; time.Sleep(poll) {
		if left, err = p.members(); err != nil || len(left) == 0 || time.Now().After(deadline) {
			return left, err
		}
		for i := 0; sent == syscall.SIGKILL && i < len(left); i++ {
			if err := signalOne(left[i].identity, sent); err != nil {
				return left, err
			}
		}
	}
}

// exitText describes how the leader exited. The leader must have been reaped.
func (p *process) exitText() string {
	if p.cmd.ProcessState == nil {
		return "unknown"
	}
	return p.cmd.ProcessState.String()
}

// guard kills a process group if this process ends without stopping it. It is needed because the kernel's parent-death
// signal reaches only the leader.
type guard struct {
	cmd  *exec.Cmd
	life io.WriteCloser // write end of a pipe that only this process holds; the guard acts when it closes
}

// guardScript receives the leader's PID and start time. It kills the group unless the PID now belongs to another
// process.
const guardScript = `read -r _
if read -r stat 2>/dev/null </proc/$1/stat; then
	set -- "$1" "$2" ${stat##*\) }
	[ "${22}" = "$2" ] || exit 0
fi
kill -s KILL -- "-$1"`

func startGuard(leader identity) (*guard, error) {
	shell, err := exec.LookPath("/bin/sh")
	if err != nil {
		return nil, fmt.Errorf("the guard of a server needs a shell: %w", err)
	}
	g := &guard{cmd: exec.Command(shell, "-c", guardScript, "mlperf-go-guard", strconv.Itoa(leader.PID),
		strconv.FormatUint(leader.Start, 10))}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // protects it from Ctrl-C at the terminal
	g.cmd.Env = []string{}
	if g.life, err = g.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("the guard of a server: %w", err)
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of a server: %w", err)
	}
	return g, nil
}

// end removes the guard of a group that has ended.
func (g *guard) end() error {
	if g == nil {
		return nil
	}
	if err := g.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the guard of a server: %w", err)
	}
	_ = g.cmd.Wait() // the error only reports the kill
	return nil
}
