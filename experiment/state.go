package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// The files of an experiment's folder.
const (
	FileName  = "experiment.json"
	TableName = "experiment.txt"
	PlotName  = "experiment.svg"
)

// Schema names the form of experiment.json, which schema/experiment.schema.json describes.
const Schema = "mlperf-go/experiment/1"

// State is experiment.json.
type State struct {
	Schema       string        `json:"schema"`
	Kind         string        `json:"kind"` // always "experiment"
	Experiment   Of            `json:"experiment"`
	Model        string        `json:"model"`
	Settings     []string      `json:"settings"` // of the client, as flags
	Replicas     []string      `json:"replicas"` // URLs
	Samples      int           `json:"samples"`
	Seed         uint64        `json:"seed"` // of their order
	Repeats      int           `json:"repeats"`
	Arrangements []Arrangement `json:"arrangements"`
	Rehearsal    []string      `json:"rehearsal"` // why no run with these settings could be submitted
	Notes        []string      `json:"notes"`     // what a reader should know about the measurement
	Started      time.Time     `json:"started"`
	Updated      time.Time     `json:"updated"`
	Trials       []Trial       `json:"trials"` // in the order of time
	Result       *Result       `json:"result"` // null while the experiment goes on
}

// Trial is one pass over all samples.
type Trial struct {
	Round       int            `json:"round"`
	Arrangement int            `json:"arrangement"` // index
	Folder      string         `json:"folder"`      // below the experiment's
	Started     time.Time      `json:"started"`
	Spoiled     []record.Cause `json:"spoiled"` // why it does not count; empty: it does
	Figures
}

func (t *Trial) counts() bool { return len(t.Spoiled) == 0 }

// failed reports whether a server failed at the trial: it would fail again.
func (t *Trial) failed() bool {
	return slices.ContainsFunc(t.Spoiled, func(c record.Cause) bool { return c.Code == record.CodeFailedSamples })
}

// Limits of what a state may contain.
const (
	MaxArrangements = 100
	MaxRepeats      = 1000
	maxState        = 64 << 20 // bytes
)

// ErrNoState reports that a folder has no experiment.json.
var ErrNoState = errors.New("there is no " + FileName)

// ReadState reads a folder's experiment.json.
func ReadState(folder string) (*State, error) {
	text, err := atomicfile.ReadBelow(folder, FileName, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", folder, ErrNoState)
	case err != nil:
		return nil, err
	}
	s, err := parseState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(folder, FileName), err)
	}
	return s, nil
}

func parseState(text []byte) (*State, error) {
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("not the JSON of an experiment: %w", err)
	}
	switch {
	case s.Schema != Schema:
		return nil, fmt.Errorf("it has the schema %q; this program reads %q", s.Schema, Schema)
	case len(s.Arrangements) > MaxArrangements || s.Repeats > MaxRepeats || s.Repeats < 1:
		return nil, fmt.Errorf("it has %d arrangements and %d repeats; the most are %d and %d", len(s.Arrangements),
			s.Repeats, MaxArrangements, MaxRepeats)
	}
	for _, t := range s.Trials {
		if t.Arrangement < 0 || t.Arrangement >= len(s.Arrangements) || t.Round < 0 || t.Round >= s.Repeats ||
			len(t.Replicas) > len(s.Replicas) {
			return nil, fmt.Errorf("it has a trial of arrangement %d in round %d, which it does not list", t.Arrangement,
				t.Round)
		}
	}
	return s, nil
}

// same reports whether two experiments measure the same.
func (s *State) same(o *State) bool {
	return s.Experiment == o.Experiment && s.Model == o.Model && slices.Equal(s.Settings, o.Settings) &&
		s.Samples == o.Samples && s.Seed == o.Seed && s.Repeats == o.Repeats &&
		slices.Equal(s.Arrangements, o.Arrangements) && len(s.Replicas) == len(o.Replicas)
}

// continues takes over the trials of an earlier process that count.
func (s *State) continues(before *State) {
	s.Started = before.Started
	s.Trials = slices.DeleteFunc(slices.Clone(before.Trials), func(t Trial) bool { return !t.counts() })
}

// next returns the next trial. Each round has every arrangement once. Its order changes from round to round, so that a
// drift of the server meets all of them alike. An arrangement at
// which a server failed is not tried again.
func (s *State) next() (round, arrangement int, more bool) {
	for round := range s.Repeats {
		for _, a := range s.order(round) {
			if !slices.ContainsFunc(s.Trials, func(t Trial) bool {
				return t.Arrangement == a && (t.Round == round || t.failed())
			}) {
				return round, a, true
			}
		}
	}
	return 0, 0, false
}

// write replaces experiment.json in a folder.
func (s *State) write(folder string, access atomicfile.Access) error {
	s.Updated = time.Now()
	return access.WriteJSON(filepath.Join(folder, FileName), s)
}
