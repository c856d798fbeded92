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
	groupGrace = 5 * time.Second // for the group to end after SIGTERM, when its leader is gone
	// for the kernel to end what got SIGKILL; a process that waits for a device takes its time
	killGrace = 10 * time.Second
	poll      = 20 * time.Millisecond
)

// process is the leader of a replica's session and group.
type process struct {
	identity
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the leader has ended; its status is not collected, so that its number stays its own
	cookie string
	// what members has found so far: a child with a session and an environment of its own is found by its parent alone
	known []identity
	guard *guard

	environ  []string                // that it was started with
	learn    func(map[string]string) // gets the variables that pre_start made
	exported chan map[string]string  // them too, at most once; closed then
}

// startProcess starts a server. The thread that calls it must live as long as the server: the kernel kills the server
// with it.
func startProcess(line, environ, pre []string, cookie string, log *os.File, learn func(map[string]string)) (*process,
	error) {
	line = slices.Clone(line)
	program, err := lookPath(line[0], environ)
	if err != nil {
		return nil, err
	}
	p := &process{ended: make(chan struct{}), cookie: cookie, environ: environ, learn: learn,
		exported: make(chan map[string]string, 1)}
	var told, tell *os.File // by the shell of pre_start: its environment
	if len(pre) > 0 {
		if line, err = withPreStart(line, environ, pre); err != nil {
			return nil, err
		}
		program = line[0]
		if told, tell, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("a pipe for the pre_start commands: %w", err)
		}
	}
	p.cmd = &exec.Cmd{
		Path: program, Args: line, Env: append(slices.Clone(environ), cookieName+"="+cookie), Stdout: log, Stderr: log,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if tell != nil {
		p.cmd.ExtraFiles = []*os.File{tell} // descriptor 3
	}
	err = p.cmd.Start()
	if tell == nil {
		close(p.exported)
	} else {
		err = errors.Join(err, tell.Close())
		go p.readExports(told)
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", line[0], err)
	}
	p.PID = p.cmd.Process.Pid
	if now, ok := readProc(p.PID); ok { // a zombie has its entry too: its status is not collected yet
		p.Start = now.Start
	}
	go p.watch()
	if p.guard, err = startGuard(p.identity); err != nil {
		return nil, errors.Join(err, p.stop(0))
	}
	return p, nil
}

// watch notices the leader's end without collecting its status.
func (p *process) watch() {
	defer crash.Catch()
	defer close(p.ended)
	for {
		if err := unix.Waitid(unix.P_PID, p.PID, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// largestEnviron bounds what is read of an environment; the kernel's own limit is lower.
const largestEnviron = 8 << 20

// readExports takes the environment that the shell of pre_start hands to the server. It ends when that shell has become
// the server, or has ended.
func (p *process) readExports(from io.ReadCloser) {
	defer crash.Catch()
	defer close(p.exported)
	defer from.Close()
	b, err := io.ReadAll(io.LimitReader(from, largestEnviron))
	if err == nil && len(b) > 0 {
		made := p.made(strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"))
		p.learn(made)
		p.exported <- made
	}
}

// shellOwn are variables that every shell sets, whatever its commands export.
var shellOwn = []string{"_", "PWD", "OLDPWD", "SHLVL"}

// exports are the variables that pre_start made or changed, for the first that asks. The server must be ready, or have
// ended.
func (p *process) exports() map[string]string { return <-p.exported }

// made are the variables of an environment that differ from those that the process was started with.
func (p *process) made(environ []string) map[string]string {
	made := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if before, had := lookup(p.environ, name); (!had || before != value) && name != cookieName &&
			!slices.Contains(shellOwn, name) {
			made[name] = value
		}
	}
	return made
}

// withPreStart makes one shell run the commands and then become the server, so that variables which they export are the
// server's.
func withPreStart(line, environ, pre []string) ([]string, error) {
	shell, err := lookPath("bash", environ)
	if err != nil {
		if shell, err = lookPath("sh", environ); err != nil {
			return nil, fmt.Errorf("the pre_start commands need a shell: %w", err)
		}
	}
	// Descriptor 3 is for the environment alone: what the commands leave running must not keep it open.
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
			continue // an empty element is the working folder, where anybody may have put a program of that name
		}
		file := filepath.Join(dir, name)
		if s, err := os.Stat(file); err == nil && s.Mode().IsRegular() && s.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("the program %q is not in the PATH (%s), of which only absolute folders count: activate its "+
		"environment, or give its path as binary_path or in launch_command", name, path)
}

// members are the living processes of the server. It is asked from one goroutine at a time.
func (p *process) members() ([]proc, error) {
	found, err := family(p.identity, p.cookie, p.known)
	for _, m := range found {
		if !slices.Contains(p.known, m.identity) {
			p.known = append(p.known, m.identity)
		}
	}
	return found, err
}

// stop ends the server and everything it started: SIGTERM to the leader, which gets grace to end; SIGTERM, then
// SIGKILL, to the rest. It is an error when something is left.
func (p *process) stop(grace time.Duration) error {
	var failed []error
	if grace > 0 {
		_, err := p.members() // while the leader lives, its children are found by it
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
			failed = append(failed, fmt.Errorf("processes of the server are left after SIGKILL: %v; look at what they wait for",
				members))
			return errors.Join(append(failed, p.guard.end())...)
		}
	}
	// The number is still the leader's, whose status is not collected: nothing but it can be hit, whatever could not be
	// read above.
	failed = append(failed, signalGroup(p.PID, syscall.SIGKILL), p.guard.end())
	<-p.ended
	// how a server ends that was told to does not matter; one that ended by itself is described by exitText
	_ = p.cmd.Wait()
	return errors.Join(failed...)
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

// awaitEnd waits for the members to end. What one of them started in the moment of its own end is killed too.
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

// exitText says how the leader ended; it must have.
func (p *process) exitText() string {
	if p.cmd.ProcessState == nil {
		return "unknown"
	}
	return p.cmd.ProcessState.String()
}

// guard kills a group when this process ends without having stopped it: the kernel's parent-death signal reaches the
// leader alone.
type guard struct {
	cmd  *exec.Cmd
	life io.WriteCloser // the end of a pipe that nobody else has: when it closes, the guard acts
}

// guardScript gets the leader's number and start time. It kills the group unless the number is another process's by
// now.
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
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C at the terminal is not for it
	g.cmd.Env = []string{}
	if g.life, err = g.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("the guard of a server: %w", err)
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the guard of a server: %w", err)
	}
	return g, nil
}

// end takes the guard away; the group it stands for has ended.
func (g *guard) end() error {
	if g == nil {
		return nil
	}
	if err := g.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending the guard of a server: %w", err)
	}
	_ = g.cmd.Wait() // it was killed
	return nil
}
