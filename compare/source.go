package compare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/sweep"
	"github.com/mlperf-go/mlperf-go/tune"
)

// Kind is what a folder contains.
type Kind string

// The kinds of folders.
const (
	RunKind      Kind = "run"
	CampaignKind Kind = "campaign"
	TuneKind     Kind = "tune"
	SweepKind    Kind = "sweep"
	TreeKind     Kind = "tree"
)

// Source is one folder of a comparison.
type Source struct {
	Label   string    `json:"label"` // A, B, C
	Folder  string    `json:"folder"`
	Kind    Kind      `json:"kind"`
	Notes   []string  `json:"notes"`
	Results []*Result `json:"results"`
}

func (s *Source) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// State is how a result ended.
type State string

// The states of a result in addition to the verdicts of a run.
const (
	Valid        State = State(record.Valid)
	Invalid      State = State(record.Invalid)
	Crashed      State = "CRASHED"       // a folder without a readable record
	NotConfirmed State = "NOT CONFIRMED" // of a tune
)

// Result is one result of a source. Empty texts are unknown.
type Result struct {
	Folder    string   `json:"folder"`
	State     State    `json:"state"`
	Reasons   []string `json:"reasons"` // of a state other than VALID
	Benchmark string   `json:"benchmark"`
	Scenario  string   `json:"scenario"`
	Mode      string   `json:"mode"`
	Round     string   `json:"round"`
	Division  string   `json:"division"`
	Submitter string   `json:"submitter"`
	System    string   `json:"system"`
	// Rehearsal: "yes" or "no"
	Rehearsal string `json:"rehearsal"`
	Dataset   string `json:"dataset"`  // SHA-256; "": of a sweep of an earlier version
	Rows      string `json:"rows"`     // of the data set that LoadGen uses
	Sampling  string `json:"sampling"` // tokens and temperature
	Limits    string `json:"limits"`

	Value        *float64 `json:"value"` // the figure that a submission reports
	Unit         string   `json:"unit"`
	Low          float64  `json:"low,omitempty"` // of a tune: the interval of Value
	High         float64  `json:"high,omitempty"`
	Accelerator  string   `json:"accelerator"`
	Accelerators int      `json:"accelerators"` // 0: unknown
	Accuracy     string   `json:"accuracy"`     // of a tree's or an accuracy test's

	served   string           // name of the model at the servers
	file     string           // of a sweep: the name of the file of its data set
	tails    map[tail]float64 // seconds
	settings []setting        // in the order of their files
	requests *ledger.Test     // nil: no request log
	loadgen  map[string]any   // result_ and effective_ keys
	point    *point           // nil: not of a sweep
}

// setting is a named value.
type setting struct{ group, name, value string }

// Options of Read.
type Options struct {
	Submitter string // of a tree: only this one's results
	Round     string // of a tree: its rules; "": found by its seeds
}

// Read reads as much of one folder as possible: a missing or damaged part becomes a note or a state. Only a folder
// of another kind is an error.
func Read(ctx context.Context, folder string, o Options) (*Source, error) {
	s := &Source{Folder: filepath.Clean(folder), Notes: []string{}, Results: []*Result{}}
	for _, kind := range kinds {
		is, err := kind.is(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("there is no folder %s", folder)
		case err != nil:
			return nil, fmt.Errorf("the folder %s cannot be read: %w", folder, err)
		}
		if is {
			s.Kind = kind.kind
			return s, kind.read(ctx, s, folder, o)
		}
	}
	return nil, fmt.Errorf("%s is not the folder of a run, a campaign, a tune, a sweep or a submission tree", folder)
}

// kinds are the kinds of folders with the entries that identify them.
var kinds = []struct {
	kind Kind
	is   func(folder string) (bool, error)
	read func(ctx context.Context, s *Source, folder string, o Options) error
}{
	{TuneKind, has(tune.FileName), readTune},
	{SweepKind, has(sweep.FileName), readSweep},
	{CampaignKind, has(layout.StateName), readCampaign},
	{TreeKind, has(layout.Divisions()...), readTree},
	{RunKind, has(record.FileName, record.LogFolder, record.ConfigName), readRunFolder},
}

// has returns the test whether a folder has one of the entries.
func has(names ...string) func(folder string) (bool, error) {
	return func(folder string) (bool, error) {
		if info, err := os.Stat(folder); err != nil {
			return false, err
		} else if !info.IsDir() {
			return false, errors.New("it is not a folder")
		}
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
				return true, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return false, err
			}
		}
		return false, nil
	}
}

// readCampaign reads the runs of a campaign, and the scores of its accuracy tests. Audits are only named.
func readCampaign(_ context.Context, s *Source, folder string, _ Options) error {
	state, outcomes, err := campaign.Inspect(folder)
	if err != nil {
		s.note("the state of the campaign cannot be read: %v", err)
		return nil
	}
	var audits []string
	for _, o := range outcomes {
		switch {
		case o.Score != nil && len(s.Results) > 0: // the score follows its accuracy test
			last := s.Results[len(s.Results)-1]
			if last.Scenario == string(o.Step.Scenario) && last.Mode == string(o.Step.Mode()) {
				last.Accuracy = scores(o.Score.Metrics, o.Score.Rehearsal)
			}
		case o.Step.Audit():
			audits = append(audits, o.Step.ID())
		}
		if !o.Step.IsRun() || o.Step.Audit() {
			continue
		}
		if o.Entry.Status == campaign.Pending {
			s.note("%s is not done", o.Step.ID())
			continue
		}
		r := readRun(s, o.Folder)
		r.Benchmark, r.Scenario, r.Mode = state.Model, string(o.Step.Scenario), string(o.Step.Mode())
		r.Round, r.Division, r.System, r.Submitter = state.Round, state.Division, state.System, state.Submitter
		s.Results = append(s.Results, r)
	}
	if len(audits) > 0 {
		s.note("audits are not compared: %s", strings.Join(audits, ", "))
	}
	return nil
}

// readTune reads the rate that a tune found, and the tails of the run that confirmed it.
func readTune(_ context.Context, s *Source, folder string, _ Options) error {
	state, err := tune.ReadState(folder)
	if err != nil {
		s.note("the state of the tune cannot be read: %v", err)
		return nil
	}
	r := &Result{Folder: folder, State: NotConfirmed, Reasons: []string{}}
	if found := state.Result; found != nil {
		if found.Run != "" && filepath.IsLocal(found.Run) {
			r = readRun(s, filepath.Join(folder, found.Run))
		}
		rate := found.TargetQPS
		r.Value, r.Low, r.High = &rate, found.Low, found.High
		switch {
		case !found.Confirmed:
			r.State, r.Reasons = NotConfirmed, []string{found.Why}
		case r.State != Valid: // the run was removed, replaced or damaged since
			r.Reasons = append([]string{"the run that confirmed the rate is not valid, or not there"}, r.Reasons...)
			r.State = NotConfirmed
		}
	} else {
		r.Reasons = append(r.Reasons, "the tune has no result yet")
	}
	r.Folder, r.Benchmark, r.Scenario, r.Mode = folder, state.Model, state.Scenario, "tune"
	r.Unit = "queries/s"
	limits := map[string]time.Duration{}
	for _, l := range state.Goal.Limits {
		limits[string(l.Metric)] = l.Limit
	}
	r.Limits = limitText(limits)
	s.Results = append(s.Results, r)
	return nil
}
