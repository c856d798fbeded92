package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// outcome of a mutant's tests.
type outcome int

const (
	survived outcome = iota
	killed
	timedOut
	tooLarge // it needs more memory than allowed
	unviable // it does not compile
)

func (o outcome) String() string {
	return [...]string{"SURVIVED", "killed", "timed out", "exceeded the memory limit", "does not compile"}[o]
}

// tester runs tests against one mutant at a time.
type tester struct {
	root     string // folder for overlays
	work     string // a folder of its own for overlays
	goflags  string
	run      string              // -run of go test
	short    bool                // -short of go test
	more     map[string][]string // by package: those whose tests run after its own
	isolated bool
	memory   int64 // bytes that the processes of the tests may use; 0: no limit
	patience int
	limits   map[string]time.Duration // by test package
}

// namespaces are commands that start another one as the first process of a new process namespace. A mutant may signal
// any process, and its processes may outlive the test. In the namespace it reaches only its own, and all of them end
// with the first. Root needs no namespace of users, in which it would lack rights that tests use.
var namespaces = [][]string{
	{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--"},
	{"unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc", "--kill-child", "--"},
}

// namespace returns the first of the namespaces that this machine lets this user create; nil: none.
var namespace = sync.OnceValue(func() []string {
	for _, n := range namespaces {
		if exec.Command(n[0], slices.Concat(n[1:], []string{"true"})...).Run() == nil {
			return n
		}
	}
	return nil
})

// packages are the test packages of a mutant's package: its own, then the others.
func (t *tester) packages(of string) []string {
	list := []string{of}
	for _, p := range t.more[of] {
		if p != of {
			list = append(list, p)
		}
	}
	return list
}

// buildSlack is for compiling and linking, which the limit of the tests does not cover.
const buildSlack = 10 * time.Minute

// killSlack is how long a program with -timeout gets to stop by itself.
const killSlack = 10 * time.Second

// failsAlone words why a package is not measured.
const failsAlone = "the tests of %s fail without a mutant (%v); repair them, choose tests with -run, leave the " +
	"namespace with -isolate=false, or raise -memory:\n%s"

// goTest runs a package's tests with an overlay (empty: without), and returns how they ended and their output.
func (t *tester) goTest(ctx context.Context, pkg, overlay string, limit time.Duration) (outcome, string, error) {
	args := []string{"go", "test", "-count=1", "-failfast", "-vet=off", "-ldflags=-w", "-timeout=" + limit.String()}
	if t.run != "" {
		args = append(args, "-run="+t.run)
	}
	if t.short {
		args = append(args, "-short")
	}
	return t.command(ctx, t.root, overlay, limit+buildSlack, append(args, pkg))
}

// environ is the environment of a command with an overlay (empty: without). A test that builds a program builds the
// mutant, too.
func (t *tester) environ(overlay string) []string {
	if overlay == "" {
		return os.Environ()
	}
	return append(os.Environ(), "GOFLAGS="+strings.TrimSpace(t.goflags+" -overlay="+overlay))
}

// command runs tests in a folder, and returns how they ended and their output.
func (t *tester) command(ctx context.Context, dir, overlay string, limit time.Duration, args []string) (outcome, string,
	error) {
	ctx, cancel := context.WithTimeout(ctx, limit+killSlack)
	defer cancel()
	if t.isolated {
		args = slices.Concat(namespace(), args)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, t.environ(overlay)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	exceeded, err := t.hold(ctx, cmd)
	var exit *exec.ExitError
	switch {
	case exceeded:
		return tooLarge, out.String(), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || strings.Contains(out.String(), "panic: test timed out after"):
		return timedOut, out.String(), nil
	case ctx.Err() != nil:
		return 0, "", context.Cause(ctx)
	case strings.Contains(out.String(), "[build failed]") || strings.Contains(out.String(), "[setup failed]"):
		return unviable, out.String(), nil
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return survived, out.String(), nil
	case errors.As(err, &exit):
		return killed, out.String(), nil
	}
	return 0, "", err
}

// hold runs a command under the limit of memory, and reports whether it exceeded that.
func (t *tester) hold(ctx context.Context, cmd *exec.Cmd) (exceeded bool, err error) {
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if t.memory <= 0 {
		return false, cmd.Wait()
	}
	ctx, stop := context.WithCancel(ctx)
	held := make(chan bool)
	go func() { held <- holdMemory(ctx, cmd.Process.Pid, t.memory) }()
	err = cmd.Wait()
	stop()
	return <-held, err
}

// Limits of the tests: a mutant, or a busy machine, may take longer.
const (
	firstLimit  = 20 * time.Minute
	limitFactor = 3
)

// limitSlack is added to every limit; the tests shorten it. A mutant that loops for ever costs five times as much
// (patience), so the slack of quick tests is short.
var limitSlack = 10 * time.Second

// testTime is the time of a package's tests in the output of go test, without that of compiling them.
var testTime = regexp.MustCompile(`(?m)^ok\s+\S+\s+(\S+s)\b`)

// baseline runs a package's tests without a mutant, and derives the limit for mutants from their time.
func (t *tester) baseline(ctx context.Context, pkg string) (time.Duration, error) {
	o, out, err := t.goTest(ctx, pkg, "", firstLimit)
	if err != nil {
		return 0, err
	}
	if o != survived {
		return 0, fmt.Errorf(failsAlone, pkg, o, out)
	}
	var took time.Duration
	if m := testTime.FindStringSubmatch(out); m != nil {
		if took, err = time.ParseDuration(m[1]); err != nil {
			return 0, fmt.Errorf("the time that go test reports: %w", err)
		}
	}
	t.limits[pkg] = limitFactor*took + limitSlack
	return took, nil
}

// measure runs the tests of a mutant's package, and of the others, without a mutant, unless they ran before. Tests that
// fail once run a second time, because the machine may be busy.
func (t *tester) measure(ctx context.Context, of string, progress io.Writer) error {
	for _, pkg := range t.packages(of) {
		if _, ok := t.limits[pkg]; ok {
			continue
		}
		took, err := t.baseline(ctx, pkg)
		if err != nil && ctx.Err() == nil {
			took, err = t.baseline(ctx, pkg)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(progress, "tests of %s: %.1f s without a mutant, at most %.0f s with one\n", pkg, took.Seconds(),
			t.limits[pkg].Seconds())
	}
	return nil
}

// failed returns the name of the first failed test in the output of go test.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// by names the test that noticed a mutant, where the output shows it.
func by(o outcome, out string) string {
	if f := failed.FindStringSubmatch(out); o == killed && f != nil {
		return " by " + f[1]
	}
	return ""
}

// try compiles a mutant alone and runs the tests until one fails, and names that test where it can.
func (t *tester) try(ctx context.Context, m *mutant, source string) (outcome, string, error) {
	file := filepath.Join(t.work, "mutant"+filepath.Ext(m.path))
	overlay := filepath.Join(t.work, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(t.root, m.path): file}})
	if err != nil {
		return 0, "", err
	}
	if err := errors.Join(os.WriteFile(file, []byte(m.apply(source)), 0o644),
		os.WriteFile(overlay, text, 0o644)); err != nil {
		return 0, "", err
	}
	for _, pkg := range t.packages(m.pkg()) {
		o, out, err := t.goTest(ctx, pkg, overlay, t.limits[pkg])
		if err == nil && o == timedOut && t.patience > 1 {
			o, out, err = t.goTest(ctx, pkg, overlay, time.Duration(t.patience)*t.limits[pkg])
		}
		if err != nil || o != survived {
			return o, by(o, out), err
		}
	}
	return survived, "", nil
}

// apply returns the source with the mutant in it.
func (m *mutant) apply(source string) string { return source[:m.start] + m.text + source[m.end:] }

// pkg is the mutant's package as the go command accepts it.
func (m *mutant) pkg() string { return "./" + filepath.ToSlash(filepath.Dir(m.path)) }
