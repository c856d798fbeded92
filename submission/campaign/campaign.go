package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Task is a step with what it is set to.
type Task struct {
	Step
	Settings Settings
	Load     Load
}

// Campaign is what is to be done in a folder.
type Campaign struct {
	Of
	Folder     string
	SystemType string
	Submitter  string
	All        []Step // of the whole campaign; Tasks may be some of them
	Tasks      []Task
	Real       bool // a rehearsal counts for nothing here
	AnyScore   bool // a score below its target is no failure: the open division
	Resume     bool // go on in a folder that was used
	Force      bool // do everything again
	Attempts   int  // how often a step that ends INVALID is tried; 0: once
	// Place is a step's folder; nil: as submission/layout says.
	Place func(Step) string

	// Command makes the process of a task; the campaign sets its group, its output and its end.
	Command func(Task) *exec.Cmd
	// Ready says whether the endpoints answer; nil: nobody asks. It is asked before every step. ErrEnded in its error:
	// they never will.
	Ready func(context.Context) error
	// Wait is how long endpoints that do not answer are waited for.
	Wait time.Duration
	// Log gets a line for each thing that happens, with the fields step, scenario and code where they apply; nil: none.
	Log *zap.Logger

	state *State
	lock  *Lock
	kept  map[string]bool // steps that were done before
	grace time.Duration   // for a child to end after a signal; 0: killGrace
}

// folder of a step; a score lies in that of the accuracy run.
func (c *Campaign) folder(s Step) string {
	test := s.Test
	if test == Score {
		test = layout.Accuracy
	}
	if c.Place != nil {
		return c.Place(Step{s.Scenario, test})
	}
	return layout.Leaf{System: c.System, Benchmark: c.Model, Scenario: s.Scenario, Test: test}.Folder(c.Folder)
}

// Path is where a step's run lies.
func (c *Campaign) Path(s Step) string { return c.folder(s) }

// report logs what happens to a step. code is empty or the word for why.
func (c *Campaign) report(s Step, code, format string, args ...any) {
	if c.Log == nil {
		return
	}
	fields := []zap.Field{zap.String("step", s.ID()), zap.String("scenario", string(s.Scenario))}
	if code != "" {
		fields = append(fields, zap.String("code", code))
	}
	c.Log.Info(fmt.Sprintf(format, args...), fields...)
}

// Open takes the folder's lock and its state. A folder without campaign.json is taken by its runs, one of another
// campaign is an error.
func (c *Campaign) Open(ctx context.Context) error {
	lock, err := Acquire(ctx, c.Folder)
	if err != nil {
		return err
	}
	if err := c.adopt(); err != nil {
		lock.Release()
		return err
	}
	c.lock = lock
	return nil
}

// Close gives the folder up.
func (c *Campaign) Close() { c.lock.Release() }

func (c *Campaign) adopt() error {
	s, err := ReadState(c.Folder)
	switch {
	case errors.Is(err, ErrNoState):
		s = &State{}
	case err != nil:
		if c.Log != nil {
			c.Log.Info(fmt.Sprintf("%v; the runs' own records show what is done", err))
		}
		s = &State{}
	case s.Of != c.Of:
		return run.UsageError("other_campaign", "Choose another --output-dir for "+c.Of.String(),
			"the folder %s holds the campaign of %s", c.Folder, s.Of)
	}
	s.Schema, s.Of, s.SystemType, s.Submitter = Schema, c.Of, c.SystemType, c.Submitter
	c.state = s
	for _, step := range c.All {
		s.Entry(step)
	}
	if c.Resume || c.Force {
		return nil
	}
	for _, t := range c.Tasks {
		if t.IsRun() && !untouched(c.folder(t.Step)) {
			return run.UsageError("output_used", "Choose another --output-dir, or give --resume or --force",
				"the output folder %s holds an earlier run (%s)", c.Folder, t.ID())
		}
	}
	return nil
}

func (o Of) String() string {
	return fmt.Sprintf("%s on %s, round %s, %s division", o.Model, o.System, o.Round, o.Division)
}

// Look says how a task stands, from what its folder holds.
func (c *Campaign) Look(t Task) Finding {
	t = c.follow(t)
	entry := c.state.Entry(t.Step)
	switch {
	case t.Test == Preflight:
		return Finding{Status: Pending}
	case t.Test == Score:
		return lookScored(c.folder(t.Step), c.AnyScore)
	}
	f := Want{Model: c.Model, Step: t.Step, Settings: t.Settings, Real: c.Real}.Judge(c.folder(t.Step))
	// what a folder does not tell
	if f.Status == Done && entry.Settings != nil && len(changes(entry.Settings, t.Settings)) > 0 {
		f.Changes = changes(entry.Settings, t.Settings)
		f.Status, f.Code, f.Why = Pending, "settings_changed", sentence(f.Changes)
	}
	return f
}

// Run does the tasks in order. It goes on after a step that is not valid: the others' results are worth having. After
// ctx ends, the running child gets the signal and the rest is not run. An error is one of environment or input, which
// the other steps would meet too; a score that can not be made is none: it takes a second, and can be made later.
func (c *Campaign) Run(ctx context.Context) error {
	own := map[string]bool{} // done by this process, or found done
	for i, t := range c.Tasks {
		t = c.follow(t)
		entry := c.state.Entry(t.Step)
		if !c.Force || own[t.ID()] {
			f := c.Look(t)
			if f.Status == Done {
				own[t.ID()] = true
				c.keep(entry, t, f)
				continue
			}
			c.announce(entry, t, f)
		}
		if why := c.blocked(t); why != "" {
			*entry = Entry{ID: entry.ID, Status: Pending, Code: "blocked", Why: why, Attempts: entry.Attempts,
				TakesS: entry.TakesS, AtLeast: entry.AtLeast, Aside: entry.Aside}
			c.report(t.Step, "blocked", "%s is left out: %s", t.ID(), why)
			continue
		}
		if t.Test == Preflight && !c.wanted(t) {
			continue
		}
		c.report(t.Step, "", "[%d/%d] %s%s%s", i+1, len(c.Tasks), t.ID(), c.where(t), c.left(i))
		c.reckon(i)
		if err := c.attempt(ctx, t, entry); err != nil {
			return errors.Join(err, c.state.write(c.Folder))
		}
		if entry.Status == Done {
			own[t.ID()] = true
		}
	}
	return c.state.write(c.Folder)
}

// where says in which folder a test is run.
func (c *Campaign) where(t Task) string {
	if !t.IsRun() {
		return ""
	}
	return " -> " + c.folder(t.Step)
}

// keep notes a step that was done before.
func (c *Campaign) keep(entry *Entry, t Task, f Finding) {
	if c.kept == nil {
		c.kept = map[string]bool{}
	}
	c.kept[t.ID()] = true
	entry.Status, entry.Code, entry.Exit = Done, "", 0
	entry.Why = f.Why
	entry.Settings, entry.Hash = t.Settings, t.Settings.Hash()
	if entry.Started.IsZero() && f.Record != nil {
		entry.Started, entry.TookS = f.Record.Started, f.Record.DurationS
	}
	c.report(t.Step, "", "%s is done already", t.ID())
}

// announce says why a step that had a result is done again.
func (c *Campaign) announce(entry *Entry, t Task, f Finding) {
	if f.Why == "" || entry.Code == f.Code && entry.Status == f.Status && f.Status == Pending {
		return
	}
	c.report(t.Step, f.Code, "%s is done again: %s", t.ID(), f.Why)
}

// blocked says which step a task needs and has not.
func (c *Campaign) blocked(t Task) string {
	for _, test := range t.Needs() {
		s := Step{t.Scenario, test}
		for _, other := range c.Tasks {
			if e := c.state.Entry(s); other.Step == s && e.Status != Done {
				return fmt.Sprintf("it needs %s, which is %s", s.ID(), e.Status)
			}
		}
		if f := (Want{Model: c.Model, Step: s, Real: c.Real}).Judge(c.folder(s)); f.Status != Done {
			return fmt.Sprintf("it needs %s, which is %s", s.ID(), f.Status)
		}
	}
	return ""
}

// wanted says whether a scenario has anything to do for which its endpoints must be asked.
func (c *Campaign) wanted(preflight Task) bool {
	for _, t := range c.Tasks {
		if t.Scenario == preflight.Scenario && t.IsRun() && (c.Force || c.Look(t).Status != Done) {
			return true
		}
	}
	e := c.state.Entry(preflight.Step)
	e.Status, e.Code, e.Why = Done, "", ""
	return false
}

// ErrEnded is in the error of endpoints that are not waited for: nobody will start them again while the campaign runs.
var ErrEnded = errors.New("the server of an endpoint has ended")

// regained is how often a step is done again because its endpoint was gone meanwhile.
const regained = 5

// attempt does a task until it is done, or its attempts are used up. What fails because the endpoints are gone is done
// again once they answer, where they are waited for at all.
func (c *Campaign) attempt(ctx context.Context, t Task, entry *Entry) error {
	lost := 0
	for n := 1; ; n++ {
		err := c.once(ctx, t, entry)
		gone := entry.Status != Done && c.Wait > 0 && lost < regained && ctx.Err() == nil && t.Test != Score &&
			c.Ready != nil && c.away(ctx)
		switch {
		case gone && (err == nil || entry.Status == Failed):
			lost, n = lost+1, n-1
			c.report(t.Step, entry.Code, "%s is %s, and its endpoint is gone: %s", t.ID(), entry.Status, entry.Why)
		case err != nil:
			return err
		case entry.Status != Invalid && entry.Status != Crashed || n >= c.Attempts:
			return nil
		default:
			c.report(t.Step, entry.Code, "%s is %s and is tried again: %s", t.ID(), entry.Status, entry.Why)
		}
	}
}

// once runs a task's process and reads what it has left.
func (c *Campaign) once(ctx context.Context, t Task, entry *Entry) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.ready(ctx, t, entry); err != nil {
		return err
	}
	if err := c.moveAside(t, entry); err != nil {
		return err
	}
	entry.Status, entry.Code, entry.Why, entry.Exit, entry.TookS = Active, "", "", 0, 0
	entry.Started, entry.Settings, entry.Hash = time.Now(), t.Settings, t.Settings.Hash()
	entry.Attempts++
	if err := c.state.write(c.Folder); err != nil {
		return err
	}
	started := time.Now()
	end, err := child(ctx, c.Command(t), c.lock, c.grace)
	if err != nil {
		return fmt.Errorf("the process of %s can not be started: %w", t.ID(), err)
	}
	entry.TookS, entry.Exit = time.Since(started).Seconds(), end.exit
	c.read(t, entry, end)
	if err := c.state.write(c.Folder); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case t.Test != Score && entry.Status == Failed && (end.exit == run.ExitUsage || end.exit == run.ExitEnvironment):
		return &run.Error{Exit: end.exit, Code: "step", Err: fmt.Errorf("%s could not be run: %s", t.ID(), entry.Why)}
	}
	return nil
}

// read judges a task whose process has ended. The process's own word counts against it, never for it.
func (c *Campaign) read(t Task, entry *Entry, end ended) {
	f := Finding{Status: Done}
	switch {
	case t.IsRun():
		f = Want{Model: c.Model, Step: t.Step, Settings: t.Settings, Real: c.Real}.Judge(c.folder(t.Step))
	case t.Test == Score:
		f = lookScored(c.folder(t.Step), c.AnyScore)
		switch {
		case f.Status != Pending && end.exit == run.ExitInvalid:
			end.exit, entry.Exit = 0, map[Status]int{Invalid: run.ExitInvalid}[f.Status] // the file says what the code says
		// such as a tokenizer that is not there: the log is, and has no score
		case f.Status == Pending && end.exit == run.ExitUsage:
			f = Finding{Status: Invalid, Code: string(record.CodeNotScored), Why: "the answers were not scored: " + end.why}
			end = ended{}
			entry.Exit = run.ExitInvalid
		}
	}
	switch {
	case f.Status == Pending: // nothing of this test is there
		f.Status = Failed
	case f.Status == Done && end.exit != 0:
		f.Status, f.Code, f.Why = Failed, end.code, end.why
	}
	if f.Status != Done && f.Status != Invalid && end.why != "" {
		f.Code, f.Why = end.code, end.why
	}
	if f.Status != Done && f.Why == "" {
		f.Code, f.Why = "exit", "its process ended with exit code "+strconv.Itoa(end.exit)
	}
	if f.Status == Crashed && (end.exit == run.ExitUsage || end.exit == run.ExitEnvironment) {
		f.Status = Failed
	}
	entry.Status, entry.Code, entry.Why = f.Status, f.Code, f.Why
}

// readyPause is between two questions whether endpoints answer.
const readyPause = 500 * time.Millisecond

// away says whether endpoints do not answer now, and may answer again.
func (c *Campaign) away(ctx context.Context) bool {
	err := c.Ready(ctx)
	return err != nil && !errors.Is(err, ErrEnded)
}

// ready waits for endpoints that do not answer.
func (c *Campaign) ready(ctx context.Context, t Task, entry *Entry) error {
	if c.Ready == nil || t.Test == Score {
		return nil
	}
	err := c.Ready(ctx)
	wait := c.Wait
	if errors.Is(err, ErrEnded) {
		wait = 0
	}
	if err != nil && wait > 0 {
		c.report(t.Step, "endpoint", "%s waits up to %v: %v", t.ID(), c.Wait, err)
	}
	for deadline := time.Now().Add(wait); err != nil && !errors.Is(err, ErrEnded) && time.Now().Before(deadline) &&
		ctx.Err() == nil; err = c.Ready(ctx) {
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
	entry.Status, entry.Code, entry.Why, entry.Exit = Pending, "endpoint", err.Error(), run.ExitEnvironment
	return run.EnvironmentError("endpoint", "Start the server again, and go on with --resume; --wait-endpoint D waits "+
		"for it", "%s was not started: %w", t.ID(), err)
}

// AsideName is the folder of a campaign for what was done and is done again.
const AsideName = "aside"

// moveAside takes a step's earlier folder out of the way. It is kept: an hour of measurement is nobody's to throw away.
func (c *Campaign) moveAside(t Task, entry *Entry) error {
	from := c.folder(t.Step)
	if !t.IsRun() || untouched(from) {
		return nil
	}
	for n := 1; ; n++ {
		name := filepath.Join(AsideName, string(t.Scenario), t.Test+"-"+strconv.Itoa(n))
		to := filepath.Join(c.Folder, name)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.Rename(from, to)
		}
		if err != nil {
			return run.EnvironmentError("output_dir", "Choose another --output-dir, or change its rights",
				"the earlier run of %s can not be moved aside: %w", t.ID(), err)
		}
		entry.Aside = append(entry.Aside, name)
		return nil
	}
}
