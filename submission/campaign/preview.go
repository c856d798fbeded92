package campaign

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// State returns the campaign's current state.
func (c *Campaign) State() *State { return c.state }

// Planned is what Run would do with a step.
type Planned struct {
	ID     string   `json:"id"`
	Action string   `json:"action"` // to do, to do again or done
	Why    string   `json:"why"`    // or Task.Notice
	Takes  string   `json:"takes"`
	Change []Change `json:"changes"`
}

// Preview returns what Run would do. It changes no file.
func (c *Campaign) Preview() []Planned {
	c.peek()
	var list []Planned
	kept := map[string]bool{}
	for _, t := range c.Tasks {
		f := c.Look(t)
		took := c.estimate(t)
		p := Planned{ID: t.ID(), Action: "to do", Takes: needs.About(took.takes, took.sure), Why: f.Why, Change: f.Changes}
		switch {
		case f.Status == Done && !c.Force || t.Test == Preflight && !c.Force && !c.wanted(t):
			p.Action, p.Takes, kept[t.ID()] = "done", "-", true
		case f.Record != nil || f.Status == Crashed:
			p.Action = "to do again"
		}
		if p.Action != "done" && p.Why == "" {
			p.Why = t.Notice
		}
		if p.Change == nil {
			p.Change = []Change{}
		}
		list = append(list, p)
	}
	return list
}

// peek reads the state without the lock.
func (c *Campaign) peek() {
	c.state = &State{}
	if s, err := ReadState(c.Folder); err == nil && s.Of == c.Of {
		c.state = s
	}
}

// Running reports whether a campaign works in a folder.
func Running(folder string) bool { return owner.Running(folder) }

// Inspect reads a campaign's folder, whether or not the campaign is running. Without campaign.json it reads the runs'
// records.
func Inspect(folder string) (*State, []Outcome, error) {
	s, err := ReadState(folder)
	if errors.Is(err, statefile.ErrNone) {
		s, err = fromRuns(folder)
	}
	var other *statefile.OtherVersion
	if errors.As(err, &other) {
		s, _ = other.Value.(*State)
	}
	if s == nil {
		return nil, nil, err
	}
	c := &Campaign{Runs: Runs{Of: s.Of, Folder: folder}, state: s}
	running := owner.Running(folder)
	for _, e := range s.Steps {
		scenario, test, _ := strings.Cut(e.ID, "/")
		t := Task{Step: Step{models.Scenario(scenario), test}}
		c.Tasks = append(c.Tasks, t)
		c.refresh(e, t, running)
	}
	return s, c.Outcomes(), err
}

// refresh corrects an entry from the step's folder.
func (c *Campaign) refresh(e *Entry, t Task, running bool) {
	switch {
	case e.Status == Active && running:
		return
	case e.Status == Active && !t.IsRun() && t.Test != Tune:
		e.Status, e.Code, e.Why = Crashed, CodeCrashed, "the campaign ended while this step ran"
		return
	case !t.IsRun() && t.Test != Tune, t.IsRun() && e.Status == Pending && e.Code == codeUnreached:
		return
	}
	f := c.lookAlone(t.Step)
	if e.Status == Active || f.Status == Done || f.Status == Crashed || e.Status == Done {
		e.Status, e.Code, e.Why = f.Status, f.Code, f.Why
	}
}

// fromRuns builds a state from the runs in a folder.
func fromRuns(folder string) (*State, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*", "*", "*", "*", record.FileName))
	if err != nil {
		return nil, err
	}
	s := &State{Schema: Schema}
	for _, path := range paths {
		words := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
		system, model, scenario, test := words[len(words)-4], words[len(words)-3], words[len(words)-2], words[len(words)-1]
		if system == AsideName || system == layout.TreeName || s.Model != "" && (model != s.Model || system != s.System) {
			continue
		}
		s.Model, s.System = model, system
		s.Entry(Step{models.Scenario(scenario), test})
	}
	if len(s.Steps) == 0 {
		return nil, fmt.Errorf("%s holds no campaign: it has neither %s nor a run", folder, layout.StateName)
	}
	ordering.Sort(s.Steps, func(a, b *Entry) int { return strings.Compare(a.ID, b.ID) })
	return s, nil
}
