package rehearse

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// simulator is a child process that serves the protocol of the chosen backend.
type simulator struct {
	cmd    *exec.Cmd
	url    string
	exited chan struct{}
	log    bytes.Buffer
}

// startTimeout is how long the simulator may read its data set: one of 2 GB of images takes a minute of a core.
const startTimeout = 15 * time.Minute

// startSimulator starts the simulator for a plan and waits until it serves. Its files are in folder.
func startSimulator(ctx context.Context, p *plan.Plan, program, folder string) (*simulator, error) {
	self, err := os.Executable()
	if program = cmp.Or(program, self); program == "" {
		return nil, fmt.Errorf("the simulator cannot be started: %w", err)
	}
	ready := filepath.Join(folder, "ready")
	s := &simulator{cmd: exec.Command(program, arguments(p, ready)...), exited: make(chan struct{})}
	s.cmd.Stderr = &s.log
	// A process group of its own: a Ctrl-C at the terminal is for the parent, whose death it must not survive.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the simulator cannot be started: %w", err)
	}
	go func() {
		defer crash.Catch()
		defer close(s.exited)
		_ = s.cmd.Wait() // the exit code adds nothing to its log
	}()
	if err := s.awaitURL(ctx, ready); err != nil {
		s.stop()
		return nil, exit.Environment(exit.CodeSimulator, "", "%w", err)
	}
	return s, nil
}

// Parallel is how many answers the simulator computes at once, without any of them being slower for it.
const Parallel = 256

// AnswerTime is how long the simulator takes for an answer of some tokens. A test compares it with package sim's
// defaults.
func AnswerTime(tokens int) time.Duration {
	return 5*time.Millisecond + time.Duration(tokens)*time.Millisecond
}

// dialects are the backends for which the simulator plays another server than vLLM.
var dialects = []string{"sglang", "llamacpp", "ollama"}

// arguments returns the command line of the simulator.
func arguments(p *plan.Plan, ready string) []string {
	c := p.Config
	if c.String("served-model") == "" {
		_ = c.Set("served-model", "simulated", plan.SimulatorOrigin) // a string setting accepts every text
	}
	args := []string{"sim", "--listen", "127.0.0.1:0", "--ready-file", ready, "--model", c.String("served-model")}
	if plays := c.String("backend"); slices.Contains(dialects, plays) {
		args = append(args, "--dialect", plays)
	}
	if path := c.String("dataset"); path != "" {
		args = append(args, "--dataset", path, "--benchmark", p.Row.Name, "--quality", c.Text("sim-quality"))
		if template := c.String("prompt-template"); template != "" {
			args = append(args, "--prompt-template", template)
		}
	}
	return args
}

// awaitURL waits until the simulator has written its address into the file ready.
func (s *simulator) awaitURL(ctx context.Context, ready string) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	for {
		text, err := os.ReadFile(ready)
		if s.url = strings.TrimSpace(string(text)); err == nil && s.url != "" {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-s.exited:
			return fmt.Errorf("the simulator ended before it served: %s", strings.TrimSpace(s.log.String()))
		case <-deadline.C:
			return fmt.Errorf("the simulator did not serve within %v", startTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stop ends the simulator with SIGTERM, or with SIGKILL if it does not react.
func (s *simulator) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-s.exited:
	case <-time.After(2 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}
