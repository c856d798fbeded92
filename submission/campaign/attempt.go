package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/tune"
)

// attempt runs one task of a campaign, and records the result in its entry.
type attempt struct {
	c     *Campaign
	task  Task
	entry *Entry
}

// report logs what happens to the task. code is the reason's code, or empty.
func (a attempt) report(code Code, format string, args ...any) {
	a.c.report(a.task.Step, code, format, args...)
}

// regained limits how often a step is run again because its endpoint disappeared.
const regained = 5

// run runs the task until it is done or its attempts are used up. A task that fails because the endpoints disappeared
// is run again once they answer, if Wait allows for it.
func (a attempt) run(ctx context.Context) error {
	t, entry := a.task, a.entry
	lost := 0
	for n := 1; ; n++ {
		err := a.once(ctx)
		gone := entry.Status != Done && a.c.Wait > 0 && lost < regained && ctx.Err() == nil && t.Test != Score &&
			a.c.Ready != nil && a.away(ctx)
		switch {
		case gone && (err == nil || entry.Status == Failed):
			lost, n = lost+1, n-1
			a.report(entry.Code, "%s is %s, and its endpoint is gone: %s", t.ID(), entry.Status, entry.Why)
		case err != nil:
			return err
		case entry.Status != Invalid && entry.Status != Crashed || n >= a.c.Attempts || entry.scoredLow(t.Step):
			return nil
		default:
			a.report(entry.Code, "%s is %s and is tried again: %s", t.ID(), entry.Status, entry.Why)
		}
	}
}

// once runs the task's process and judges its result.
func (a attempt) once(ctx context.Context) error {
	t, entry := a.task, a.entry
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := a.ready(ctx); err != nil {
		return err
	}
	if begin := a.c.Begin; begin != nil && t.Test != Score {
		a.c.Begin = nil
		if err := begin(ctx); err != nil {
			return err
		}
	}
	if taken, err := a.takeConfirmed(); taken || err != nil {
		return err
	}
	if err := a.moveAside(); err != nil {
		return err
	}
	entry.Status, entry.Code, entry.Why, entry.Exit, entry.TookS = Active, "", "", 0, 0
	entry.Started, entry.Settings, entry.Hash = time.Now(), t.Settings, t.Settings.Hash()
	entry.Attempts++
	if err := a.c.save(); err != nil {
		return err
	}
	started := time.Now()
	end, err := child.Run(ctx, a.c.Command(t), a.c.lock, a.c.grace)
	if err != nil {
		return fmt.Errorf("cannot start the process of %s: %w", t.ID(), err)
	}
	entry.TookS, entry.Exit = time.Since(started).Seconds(), end.Exit
	a.read(end)
	if t.Test == Score && entry.Status == Done && entry.Why != "" { // the score is shown but not judged
		a.report(entry.Code, "%s is only shown: %s", t.ID(), entry.Why)
	}
	if err := a.c.save(); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.Test != Score && entry.Status == Failed && (end.Exit == run.ExitUsage || end.Exit == run.ExitEnvironment):
		return &run.Error{Exit: end.Exit, Code: exit.CodeStep,
			Err: fmt.Errorf("%s could not be run: %s", t.ID(), entry.Why)}
	}
	return nil
}

// read judges the task, whose process has ended. The exit code can only make the judgement worse, never better.
func (a attempt) read(end child.Ended) {
	t, entry := a.task, a.entry
	f := Finding{Status: Done}
	switch {
	case t.IsRun():
		f = a.c.want(t).Judge(a.c.folder(t.Step))
	case t.Test == Tune:
		f = a.c.lookTuned(t)
	case t.Test == Score:
		f = lookScored(a.c.folder(t.Step), a.c.AnyScore)
		switch {
		case f.Status != Pending && end.Exit == run.ExitInvalid:
			// The exit code adds nothing to accuracy.json.
			end.Exit, entry.Exit = 0, map[Status]int{Invalid: run.ExitInvalid}[f.Status]
		// For example, without a tokenizer the log exists but has no score.
		case f.Status == Pending && end.Exit == run.ExitUsage:
			f = Finding{Status: Invalid, Code: codeNotScored, Why: "the answers were not scored: " + end.Why}
			end = child.Ended{}
			entry.Exit = run.ExitInvalid
		}
	}
	switch {
	case f.Status == Pending: // the folder contains no result of this test
		f.Status = Failed
	case f.Status == Done && end.Exit != 0:
		f.Status, f.Code, f.Why = Failed, Code(end.Code), end.Why
	}
	if f.Status != Done && f.Status != Invalid && end.Why != "" {
		f.Code, f.Why = Code(end.Code), end.Why
	}
	if f.Status != Done && f.Why == "" {
		f.Code, f.Why = CodeExit, "its process ended with exit code "+strconv.Itoa(end.Exit)
	}
	if f.Status == Crashed && (end.Exit == run.ExitUsage || end.Exit == run.ExitEnvironment) {
		f.Status = Failed
	}
	entry.Status, entry.Code, entry.Why = f.Status, f.Code, f.Why
}

// readyPause is the time between two calls of Ready.
const readyPause = 500 * time.Millisecond

// away reports whether endpoints do not answer now but may answer later.
func (a attempt) away(ctx context.Context) bool {
	err := a.c.Ready(ctx)
	return err != nil && !errors.Is(err, ErrEnded)
}

// ready waits for endpoints that do not answer.
func (a attempt) ready(ctx context.Context) error {
	t, entry := a.task, a.entry
	if a.c.Ready == nil || t.Test == Score {
		return nil
	}
	err := a.c.Ready(ctx)
	wait := a.c.Wait
	if errors.Is(err, ErrEnded) {
		wait = 0
	}
	if err != nil && wait > 0 {
		a.report("endpoint", "%s waits up to %v (--wait-endpoint; Ctrl-C ends it): %v", t.ID(), a.c.Wait, err)
	}
	for deadline := time.Now().Add(wait); err != nil && !errors.Is(err, ErrEnded) && time.Now().Before(deadline) &&
		ctx.Err() == nil; err = a.c.Ready(ctx) {
		select {
		case <-ctx.Done():
		case <-time.After(readyPause):
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return nil
	}
	entry.Status, entry.Code, entry.Why, entry.Exit = Pending, codeEndpoint, err.Error(), run.ExitEnvironment
	return exit.Environment(exit.CodeEndpoint, "Start the server again and continue with --resume, or pass "+
		"--wait-endpoint D to wait for it", "%s was not started: %w", t.ID(), err)
}

// AsideName is the folder of a campaign for earlier runs of steps that were run again.
const AsideName = "aside"

// moveAside moves a step's earlier folder out of the way. It is kept, because it may hold an hour of measurement.
func (a attempt) moveAside() error {
	t, entry := a.task, a.entry
	from := a.c.folder(t.Step)
	if !t.IsRun() && t.Test != Tune || untouched(from) || t.Test == Tune && !a.c.Force && a.continues() {
		return nil
	}
	for n := 1; ; n++ {
		name := filepath.Join(AsideName, string(t.Scenario), t.Test+"-"+strconv.Itoa(n))
		to := filepath.Join(a.c.Folder, name)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.Rename(from, to)
		}
		if err != nil {
			return exit.Environment(exit.CodeOutputDir, "Choose another --output-dir, or change its permissions",
				"cannot move the earlier run of %s aside: %w", t.ID(), err)
		}
		entry.Aside = append(entry.Aside, name)
		return nil
	}
}

// continues reports whether the next process of a tune continues the one in the folder, which was interrupted or has
// lost its confirming run.
func (a attempt) continues() bool {
	folder := a.c.folder(a.task.Step)
	s, err := tune.ReadState(folder)
	if err != nil || a.entry.Settings != nil && len(changes(a.entry.Settings, a.task.Settings)) > 0 {
		return false
	}
	return s.Result == nil || s.Result.Confirmed && len(s.Recheck(folder)) > 0 && !s.Result.Confirmed
}

// takeConfirmed makes the run that confirmed a scenario's tune its performance run, and reports whether there is one
// that counts. It copies the run: the tune's folder stays whole.
func (a attempt) takeConfirmed() (bool, error) {
	t, entry := a.task, a.entry
	tuned := Step{t.Scenario, Tune}
	again := a.c.Force && !slices.ContainsFunc(a.c.Tasks, func(t Task) bool { return t.Step == tuned })
	if !t.Tuned || t.Test != layout.Performance || again {
		return false, nil
	}
	s, err := tune.ReadState(a.c.folder(tuned))
	if err != nil || s.Result == nil || !s.Result.Confirmed {
		return false, nil // blocked reports the reason
	}
	from := filepath.Join(a.c.folder(tuned), s.Result.Run)
	f := a.c.want(t).Judge(from)
	if f.Status != Done {
		return false, nil
	}
	if err := a.moveAside(); err != nil {
		return false, err
	}
	copied := filepath.Join(a.c.folder(tuned), "performance") // a complete copy, before it is renamed
	err = errors.Join(os.RemoveAll(copied), copyRun(from, copied))
	if err == nil {
		err = os.Rename(copied, a.c.folder(t.Step))
	}
	if err != nil {
		return false, exit.Environment(exit.CodeOutputDir, "Free some space, and continue with --resume",
			"cannot copy the run that confirmed %s: %w", tuned.ID(), err)
	}
	entry.Status, entry.Code, entry.Why, entry.Exit = Done, "", "", 0
	entry.Started, entry.TookS = f.Record.Started, f.Record.DurationS
	entry.Settings, entry.Hash = t.Settings, t.Settings.Hash()
	a.report("", "%s is the run that confirmed %s", t.ID(), tuned.ID())
	return true, a.c.state.write(a.c.Folder)
}
