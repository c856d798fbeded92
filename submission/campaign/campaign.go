package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Task is a step with its settings.
type Task struct {
	Step
	Settings Settings
	Load     needs.Load
	// MostPerS limits the target QPS, which is then a share of the Offline run's rate; 0: the settings have it.
	MostPerS float64
	Tuned    bool   // a tune finds the target QPS
	Notice   string // explanation of an expected result in the step's logs that looks like a failure; empty: none
}

// Campaign is the work to do in a folder.
type Campaign struct {
	Runs
	SystemType string
	Submitter  string
	All        []Step // steps of the whole campaign; Tasks may be some of them
	Tasks      []Task
	Resume     bool // continue in a folder that was used before
	Force      bool // run everything again
	Attempts   int  // how often a step that ends INVALID is tried; 0: once

	// Command returns the process of a task, not yet started. The campaign sets its group and its output, and ends it.
	Command func(Task) *exec.Cmd
	// Ready returns an error while the endpoints do not answer; nil: they are not asked. It is called before every step.
	// An error with ErrEnded means that they never will.
	Ready func(context.Context) error
	// Begin is called once, after Ready and before the first step that uses the endpoints; nil: nothing is.
	Begin func(context.Context) error
	// Wait is how long to wait for endpoints that do not answer.
	Wait time.Duration
	// Log receives a line for each event, with the fields step, scenario and code where they apply; nil: no log.
	Log *zap.Logger
	// Changed is called when the state of a step has changed; nil: nothing is.
	Changed func()

	fresh bool // whether the folder is new
	named bool // whether the user named the folder
	state *State
	lock  *child.Lock
	speed speed
	kept  map[string]bool             // steps that an earlier process has done
	loads map[models.Scenario]float64 // loads that have been reported
	grace time.Duration               // for a child to end after a signal; 0: killGrace
}

// report logs what happens to a step. code is the reason's code, or empty.
func (c *Campaign) report(s Step, code Code, format string, args ...any) {
	if c.Log == nil {
		return
	}
	fields := []zap.Field{zap.String("step", s.ID()), zap.String("scenario", string(s.Scenario))}
	if code != "" {
		fields = append(fields, zap.String("code", string(code)))
	}
	c.Log.Info(fmt.Sprintf(format, args...), fields...)
}

// owner is a campaign as the owner of its folder.
var owner = child.Owner{What: "campaign", File: ".campaign.lock", Busy: exit.CodeCampaignRunning,
	Access: atomicfile.Shared,
	Hint:   "Wait for its end, or choose another --output-dir; `mlperf-go submission status` shows its progress"}

// Open takes the folder's lock and reads its state. Without campaign.json the runs in the folder are the state. The
// folder of another campaign is an error, and is left as it is.
func (c *Campaign) Open(ctx context.Context) error {
	if !owner.Running(c.Folder) { // the lock's message is better
		if err := c.refuseFolder(); err != nil {
			return err
		}
	}
	lock, err := child.Acquire(ctx, c.Folder, owner)
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

// Close releases the folder. A new folder disappears if no test was begun in it; with --output-dir it stays if it has a
// state.
func (c *Campaign) Close() {
	defer c.lock.Release()
	if !c.fresh {
		return
	}
	known := []string{owner.File, record.DatasetName}
	if !c.named {
		known = append(known, layout.StateName)
	}
	entries, err := os.ReadDir(c.Folder)
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !slices.Contains(known, e.Name()) }) {
		return
	}
	for _, name := range known {
		_ = os.Remove(filepath.Join(c.Folder, name)) // other files keep the folder
	}
	if c.named {
		_ = os.Remove(c.Folder)
	}
	results.Discard(c.Folder)
}

// point makes the link latest point to a folder without --output-dir.
func (c *Campaign) point() {
	if err := results.Point(c.Folder); err != nil && c.Log != nil {
		c.Log.Warn(err.Error())
	}
}

// refuseFolder returns why the campaign must not use its folder.
func (c *Campaign) refuseFolder() error {
	s, err := ReadState(c.Folder)
	switch {
	case errors.Is(err, statefile.ErrNone):
		if other := results.Holds(c.Folder, "campaign"); other != "" {
			return exit.Usage(exit.CodeOutputUsed, "Choose another --output-dir (with make: OUT=folder)",
				"the output folder %s is the folder of %s", c.Folder, plural.Article(other))
		}
	case err == nil && s.Of != c.Of:
		return exit.Usage(exit.CodeOtherCampaign, "Choose another --output-dir for "+c.Of.String(),
			"the folder %s holds another campaign: %s", c.Folder, s.Of)
	}
	if c.Resume || c.Force {
		return nil
	}
	for _, t := range c.Tasks {
		if (t.IsRun() || t.Test == Tune) && !untouched(c.folder(t.Step)) {
			return exit.Usage(exit.CodeOutputUsed, "Choose another --output-dir, or pass --resume or --force",
				"the output folder %s holds an earlier run (%s)", c.Folder, t.ID())
		}
	}
	return nil
}

// adopt makes the folder's state the campaign's.
func (c *Campaign) adopt() error {
	if err := c.refuseFolder(); err != nil {
		return err
	}
	s, err := ReadState(c.Folder)
	if err != nil {
		if !errors.Is(err, statefile.ErrNone) && c.Log != nil {
			c.Log.Info(fmt.Sprintf("%v; the runs' own records show what is done", err))
		}
		s = &State{}
	}
	s.Schema, s.Of, s.SystemType, s.Submitter = Schema, c.Of, c.SystemType, c.Submitter
	c.state, s.Chosen = s, nil
	for _, step := range c.All {
		s.Entry(step)
	}
	if len(c.Tasks) < len(c.All) {
		for _, t := range c.Tasks {
			s.Chosen = append(s.Chosen, t.ID())
		}
	}
	return nil
}

// save writes the state.
func (c *Campaign) save() error {
	if c.Changed != nil {
		c.Changed()
	}
	return c.state.write(c.Folder)
}

func (o Of) String() string {
	return fmt.Sprintf("%s on %s, round %s, %s division", o.Model, o.System, o.Round, o.Division)
}

// Look judges a task by its folder.
func (c *Campaign) Look(t Task) Finding {
	t = c.follow(t)
	entry := c.state.Entry(t.Step)
	switch {
	case t.Test == Preflight:
		return Finding{Status: Pending}
	case t.Test == Score:
		return lookScored(c.folder(t.Step), c.AnyScore)
	case t.Test == Tune:
		return c.lookTuned(t)
	}
	f := c.want(t).Judge(c.folder(t.Step))
	// Only campaign.json has the settings that are in no folder.
	if f.Status == Done && entry.Settings != nil && len(changes(entry.Settings, t.Settings)) > 0 {
		f.Changes = changes(entry.Settings, t.Settings)
		f.Status, f.Code, f.Why = Pending, CodeSettingsChanged, sentence(f.Changes)
	}
	return f
}

// Run runs the tasks in order. It continues after a step that is not valid, because the other results are still useful.
// When ctx ends, the running child gets the signal and the remaining steps are not run. Run returns an error only for
// faults of the environment or the input, which the other steps would have too. A score that fails is not such an
// error: it takes a second and can be repeated later.
func (c *Campaign) Run(ctx context.Context) error {
	own := map[string]bool{} // steps that this process ran or found done
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
			*entry = Entry{ID: entry.ID, Status: Pending, Code: CodeBlocked, Why: why, Attempts: entry.Attempts,
				TakesS: entry.TakesS, AtLeast: entry.AtLeast, Aside: entry.Aside}
			c.report(t.Step, CodeBlocked, "%s is skipped: %s", t.ID(), why)
			continue
		}
		if t.Test == Preflight && !c.wanted(t) {
			continue
		}
		c.report(t.Step, "", "[%d/%d] %s%s%s", i+1, len(c.Tasks), t.ID(), c.where(t), c.left(i))
		c.reportLoad(t)
		if t.Notice != "" {
			c.report(t.Step, "", "%s: %s", t.ID(), t.Notice)
		}
		c.reckon(i)
		if t.IsRun() || t.Test == Tune {
			c.point()
		}
		entry.Status, entry.Code, entry.Why, entry.Exit = Pending, "", "", 0 // in case the campaign ends before the test
		if err := (attempt{c, t, entry}).run(ctx); err != nil {
			c.unreached(c.Tasks[i+1:], own)
			return errors.Join(err, c.save())
		}
		if entry.Status == Done {
			own[t.ID()] = true
		}
	}
	return c.save()
}

// unreached makes steps pending that an earlier campaign has done and this one would repeat. own are the steps that are
// done for this campaign.
func (c *Campaign) unreached(tasks []Task, own map[string]bool) {
	for _, t := range tasks {
		t = c.follow(t)
		entry := c.state.Entry(t.Step)
		if entry.Status != Done || own[t.ID()] || t.Test == Preflight && !c.wanted(t) {
			continue
		}
		if c.Force || c.Look(t).Status != Done || c.blocked(t) != "" {
			entry.Status, entry.Code, entry.Why = Pending, codeUnreached, ""
		}
	}
}

// where returns the folder of a test as the end of a line.
func (c *Campaign) where(t Task) string {
	if !t.IsRun() {
		return ""
	}
	return " -> " + c.folder(t.Step)
}

// keep records a step that was done before.
func (c *Campaign) keep(entry *Entry, t Task, f Finding) {
	if c.kept == nil {
		c.kept = map[string]bool{}
	}
	c.kept[t.ID()] = true
	entry.Status, entry.Code, entry.Why, entry.Exit = Done, f.Code, f.Why, 0
	entry.Settings, entry.Hash = t.Settings, t.Settings.Hash()
	if entry.Started.IsZero() && f.Record != nil {
		entry.Started, entry.TookS = f.Record.Started, f.Record.DurationS
	}
	c.report(t.Step, "", "%s is done already", t.ID())
}

// announce reports why a step that had a result is run again.
func (c *Campaign) announce(entry *Entry, t Task, f Finding) {
	if f.Why == "" || entry.Code == f.Code && entry.Status == f.Status && f.Status == Pending {
		return
	}
	c.report(t.Step, f.Code, "%s is run again: %s", t.ID(), f.Why)
}

// blocked returns which required step of a task is not done; empty: all of them are done.
func (c *Campaign) blocked(t Task) string {
	needs := []Step{}
	for _, test := range t.Needs() {
		needs = append(needs, Step{t.Scenario, test})
	}
	if t.Tuned && t.IsRun() {
		needs = append(needs, Step{t.Scenario, Tune})
	}
	if t.MostPerS > 0 {
		needs = append(needs, offlineRun)
	}
	for _, s := range needs {
		for _, other := range c.Tasks {
			if e := c.state.Entry(s); other.Step == s && e.Status != Done {
				return fmt.Sprintf("it needs %s, which is %s", s.ID(), e.Status)
			}
		}
		if f := c.lookAlone(s); f.Status != Done {
			return fmt.Sprintf("it needs %s, which is %s", s.ID(), f.Status)
		}
	}
	return ""
}

// wanted reports whether a scenario has a test to run, so that its endpoints must be probed.
func (c *Campaign) wanted(preflight Task) bool {
	for _, t := range c.Tasks {
		if t.Scenario == preflight.Scenario && (t.IsRun() || t.Test == Tune) && (c.Force || c.Look(t).Status != Done) {
			return true
		}
	}
	e := c.state.Entry(preflight.Step)
	e.Status, e.Code, e.Why = Done, "", ""
	return false
}

// ErrEnded is in the error of endpoints that will not answer again while the campaign runs, so that waiting is useless.
var ErrEnded = errors.New("the server of an endpoint has ended")
