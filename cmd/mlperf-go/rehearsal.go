package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// synthSeed makes every synthetic set of this program the same.
const synthSeed = 1

var forced = config.Origin{Layer: config.FromFlag, Where: "--resume"}

// rehearse gives a plan what the user left out: a synthetic data set, and the simulator in a process of its own. The
// data set is made in keep, or where that is empty in a temporary folder, from which the run takes its copy. The
// function that rehearse returns ends what it started; the channel is closed when a simulator of ours has ended, and
// nil where there is none.
func (p *program) rehearse(ctx context.Context, plan *run.Plan, keep string) (stop func(), gone <-chan struct{},
	err error) {
	stop = func() {}
	if plan.HasDataset() && plan.HasEndpoint() {
		return stop, nil, nil
	}
	dir, err := os.MkdirTemp("", "mlperf-go-")
	if err != nil {
		return nil, nil, err
	}
	stop = func() { _ = os.RemoveAll(dir) } // what stays behind is in the system's temporary folder
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if !plan.HasDataset() {
		hint := "Choose another --output-dir"
		if keep == "" {
			keep, hint = dir, "Make room there, or name another folder for temporary files with TMPDIR"
		}
		if err := makeDataset(plan, filepath.Join(keep, record.DatasetName), hint); err != nil {
			return stop, nil, err
		}
	}
	if plan.HasEndpoint() {
		return stop, nil, nil
	}
	s, err := startSimulator(ctx, dir, plan)
	if err != nil {
		return stop, nil, err
	}
	remove := stop
	stop = func() { s.stop(); remove() }
	origin := run.SimulatorOrigin
	return stop, s.exited, errors.Join(plan.Config.Set("endpoint", s.url, origin),
		plan.Config.Set("backend", "sim", origin))
}

// synthSet is the synthetic data set of a plan. Programs are among its answers where they can be judged.
func synthSet(plan *run.Plan) datasets.SynthSet {
	return datasets.SynthSet{Row: plan.Row, Samples: plan.Samples(), Seed: synthSeed, Code: plan.Config.Bool("run-code")}
}

func makeDataset(plan *run.Plan, path, hint string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = atomicfile.Write(path, func(w io.Writer) error { return synthSet(plan).Write(w) })
	}
	if err != nil {
		return run.EnvironmentError("output_dir", hint, "the synthetic data set can not be written: %w", err)
	}
	return plan.Config.Set("dataset", path, run.SyntheticDataset)
}

// simulator is a child process of ours that serves the wire of vLLM.
type simulator struct {
	cmd    *exec.Cmd
	url    string
	exited chan struct{}
	log    bytes.Buffer
}

// simulatorStart is how long the simulator has to read its data set, as long as it lives: one of 2 GB of images takes a
// minute of a core.
const simulatorStart = 15 * time.Minute

func startSimulator(ctx context.Context, dir string, plan *run.Plan) (*simulator, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the simulator can not be started: %w", err)
	}
	ready := filepath.Join(dir, "ready")
	args := []string{"sim", "--listen", "127.0.0.1:0", "--ready-file", ready, "--model", servedModel(plan)}
	if path := plan.Config.String("dataset"); path != "" {
		args = append(args, "--dataset", path, "--benchmark", plan.Row.Name, "--quality", plan.Config.Text("sim-quality"))
		if template := plan.Config.String("prompt-template"); template != "" {
			args = append(args, "--prompt-template", template)
		}
	}
	s := &simulator{cmd: exec.Command(self, args...), exited: make(chan struct{})}
	s.cmd.Stderr = &s.log
	// A group of its own: a Ctrl-C at the terminal is for us. And it must not outlive us, however we end.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the simulator can not be started: %w", err)
	}
	go func() {
		defer crash.Catch()
		defer close(s.exited)
		_ = s.cmd.Wait() // its exit code says nothing that its silence does not
	}()
	deadline := time.NewTimer(simulatorStart)
	defer deadline.Stop()
	for {
		text, err := os.ReadFile(ready)
		if url := strings.TrimSpace(string(text)); err == nil && url != "" {
			s.url = url
			return s, nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
			continue
		case <-s.exited:
			err = fmt.Errorf("the simulator ended before it served: %s", strings.TrimSpace(s.log.String()))
		case <-deadline.C:
			err = fmt.Errorf("the simulator did not serve within %v", simulatorStart)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		s.stop()
		return nil, run.EnvironmentError("simulator", "", "%w", err)
	}
}

func servedModel(plan *run.Plan) string {
	if name := plan.Config.String("served-model"); name != "" {
		return name
	}
	_ = plan.Config.Set("served-model", "simulated", run.SimulatorOrigin) // a string setting takes every text
	return "simulated"
}

// stop ends the simulator: it answers SIGTERM, and SIGKILL is for the case that it does not.
func (s *simulator) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-s.exited:
	case <-time.After(2 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}
