package submission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
)

// Step is one test of a campaign.
type Step struct {
	Scenario models.Scenario
	Mode     models.Mode
	Folder   string
}

// Steps are performance, then accuracy, of each scenario, each in a folder of its own under folder.
func Steps(scenarios []models.Scenario, folder string) []Step {
	var steps []Step
	for _, s := range scenarios {
		for _, m := range []models.Mode{models.Performance, models.Accuracy} {
			steps = append(steps, Step{Scenario: s, Mode: m, Folder: filepath.Join(folder, string(s), string(m))})
		}
	}
	return steps
}

// State says what became of a step.
type State string

// The states of a step.
const (
	Done    State = "done"    // ran, and left a record
	Skipped State = "skipped" // was done and valid before
	Crashed State = "crashed" // left no record
	NotRun  State = "not run" // the campaign ended before it
)

// Outcome is a step and what became of it.
type Outcome struct {
	Step   Step
	State  State
	Record *run.Record // nil unless Done or Skipped
	Exit   int         // of the step's process
	Took   time.Duration
}

// Campaign runs steps.
type Campaign struct {
	Wanted Wanted // whose records count as done
	Steps  []Step
	Resume bool // skip what is done and valid
	Force  bool // replace what is there
	// Command makes the process of a step; the campaign sets its group and its end.
	Command func(Step, bool) *exec.Cmd
	// Before is told of each step that starts; nil: nobody.
	Before func(i int, s Step)
}

// killGrace is how long a child may take to end after a signal: its own early end takes up to 3 s.
const killGrace = 5 * time.Second

// Run does the steps in order. It goes on after an invalid one: the others' results are worth having. After ctx ends the running
// child gets the signal and the rest is not run. An error is one of the environment or input, which the other steps would meet too.
func (c *Campaign) Run(ctx context.Context) ([]Outcome, error) {
	out := make([]Outcome, len(c.Steps))
	for i, s := range c.Steps {
		out[i] = Outcome{Step: s, State: NotRun}
	}
	for i, s := range c.Steps {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if c.Resume {
			if r, ok := c.Wanted.Done(s); ok {
				out[i] = Outcome{Step: s, State: Skipped, Record: r}
				continue
			}
		}
		if c.Before != nil {
			c.Before(i, s)
		}
		started, before := time.Now(), stat(s)
		exit, err := c.child(ctx, s)
		if err != nil {
			return out, err
		}
		out[i] = read(s, before, exit, time.Since(started))
		if exit == run.ExitUsage || exit == run.ExitEnvironment {
			return out, &run.Error{Exit: exit, Code: "step", Err: fmt.Errorf("%s %s could not be run; the reason stands above", s.Scenario, s.Mode)}
		}
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	return out, nil
}

// Wanted tells which earlier records a resumed campaign may count as done: a folder may have been used for another benchmark, and a
// rehearsal is no part of a real submission.
type Wanted struct {
	Model   string // benchmark; empty: any
	Backend string // empty: any
	Real    bool   // a rehearsal does not count
}

// Done gives the record of a step's folder when it is VALID and of that very test.
func (w Wanted) Done(s Step) (*run.Record, bool) {
	r, err := ReadRecord(s.Folder)
	if err != nil || r.Verdict != run.Valid || r.Scenario != string(s.Scenario) || r.Mode != string(s.Mode) {
		return nil, false
	}
	same := (w.Model == "" || r.Model == w.Model) && (w.Backend == "" || r.Backend == w.Backend)
	return r, same && !(w.Real && r.Rehearsal)
}

// child runs one step's process to its end. It has a group of its own, so that a Ctrl-C at the terminal reaches it once, through us.
func (c *Campaign) child(ctx context.Context, s Step) (int, error) {
	cmd := c.Command(s, c.Force || c.Resume)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("the process of %s %s can not be started: %w", s.Scenario, s.Mode, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return exitCode(cmd, err)
	case <-ctx.Done():
	}
	signal := syscall.SIGTERM
	var i run.Interrupt
	if errors.As(context.Cause(ctx), &i) {
		signal = i.Signal
	}
	_ = cmd.Process.Signal(signal) // it may have ended just now
	select {
	case err := <-ended:
		return exitCode(cmd, err)
	case <-time.After(killGrace):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return exitCode(cmd, <-ended)
	}
}

func exitCode(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, err
	}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// stat looks at a step's record; nil: there is none.
func stat(s Step) os.FileInfo {
	info, err := os.Stat(filepath.Join(s.Folder, run.RecordName))
	if err != nil {
		return nil
	}
	return info
}

// read gives what a step's process left. A record that was there before is an earlier run's, and says nothing about this one.
func read(s Step, before os.FileInfo, exit int, took time.Duration) Outcome {
	o := Outcome{Step: s, State: Crashed, Exit: exit, Took: took}
	if now := stat(s); before != nil && now != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) {
		return o
	}
	if r, err := ReadRecord(s.Folder); err == nil {
		o.State, o.Record = Done, r
	}
	return o
}

// ReadRecord reads a folder's run.json.
func ReadRecord(folder string) (*run.Record, error) {
	text, err := os.ReadFile(filepath.Join(folder, run.RecordName))
	if err != nil {
		return nil, fmt.Errorf("the record of %s can not be read: %w", folder, err)
	}
	r := &run.Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("the record of %s is no JSON: %w", folder, err)
	}
	if r.Schema != run.Schema {
		return nil, fmt.Errorf("the record of %s has the schema %q, and %q is known", folder, r.Schema, run.Schema)
	}
	return r, nil
}

// ExitCode is the campaign's: 0 when every step is valid and its process says so, else that of the first that is not.
func ExitCode(outcomes []Outcome) int {
	for _, o := range outcomes {
		switch {
		case o.Exit != 0:
			return o.Exit
		case o.Record == nil:
			return run.ExitInvalid
		case o.Record.Verdict != run.Valid:
			return o.Record.ExitCode()
		}
	}
	return run.ExitValid
}
