package rehearse

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

// Simulator is a child process that serves the protocol of a backend.
type Simulator struct {
	URL    string        // base URL
	Exited chan struct{} // closed when the process has ended
	cmd    *exec.Cmd
	folder string
	log    bytes.Buffer
}

// startTimeout is how long the simulator may take to read its data set: 2 GB of images take a minute of a core.
const startTimeout = 15 * time.Minute

// StartSimulator starts the command sim with arguments (SimulatorArguments) and waits until it serves. program is the
// path of mlperf-go; empty: the running program. The caller must call Stop.
func StartSimulator(ctx context.Context, program string, arguments []string) (*Simulator, error) {
	self, err := os.Executable()
	if program = cmp.Or(program, self); program == "" {
		return nil, fmt.Errorf("the simulator cannot be started: %w", err)
	}
	folder, err := os.MkdirTemp("", "mlperf-go-sim-")
	if err != nil {
		return nil, err
	}
	ready := filepath.Join(folder, "ready")
	s := &Simulator{cmd: exec.Command(program, append(arguments, "--ready-file", ready)...), folder: folder,
		Exited: make(chan struct{})}
	s.cmd.Stderr = &s.log
	// A process group of its own: a Ctrl-C at the terminal must reach only the parent. If the parent dies, the simulator
	// dies.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("the simulator cannot be started: %w", err), os.RemoveAll(folder))
	}
	go func() {
		defer crash.Catch()
		defer close(s.Exited)
		_ = s.cmd.Wait() // the log explains more than the exit code
	}()
	if err := s.awaitURL(ctx, ready); err != nil {
		s.Stop()
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

// SimulatedModel is the name of the simulator's model if the user gave none.
const SimulatedModel = "simulated"

// SimulatorArguments returns the command line of a simulator that serves a model as a server of the given backend.
func SimulatorArguments(model, backend string) []string {
	args := []string{"sim", "--listen", "127.0.0.1:0", "--model", cmp.Or(model, SimulatedModel)}
	if slices.Contains(dialects, backend) {
		args = append(args, "--dialect", backend)
	}
	return args
}

// arguments returns the command line of the simulator for a plan.
func arguments(p *plan.Plan) []string {
	c := p.Config
	if c.String("served-model") == "" {
		_ = c.Set("served-model", SimulatedModel, plan.SimulatorOrigin) // a string setting accepts every text
	}
	args := SimulatorArguments(c.String("served-model"), c.String("backend"))
	if path := c.String("dataset"); path != "" {
		args = append(args, "--dataset", path, "--benchmark", p.Row.Name, "--quality", c.Text("sim-quality"))
		if template := c.String("prompt-template"); template != "" {
			args = append(args, "--prompt-template", template)
		}
	}
	return args
}

// awaitURL waits until the simulator has written its address into the file ready.
func (s *Simulator) awaitURL(ctx context.Context, ready string) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	for {
		text, err := os.ReadFile(ready)
		if s.URL = strings.TrimSpace(string(text)); err == nil && s.URL != "" {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-s.Exited:
			return fmt.Errorf("the simulator ended before it served: %s", strings.TrimSpace(s.log.String()))
		case <-deadline.C:
			return fmt.Errorf("the simulator did not serve within %v", startTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Stop ends the simulator with SIGTERM, or with SIGKILL if it does not react.
func (s *Simulator) Stop() {
	defer os.RemoveAll(s.folder)              // the rest stays in the system's temporary folder
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-s.Exited:
	case <-time.After(2 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.Exited
	}
}
