package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
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
	Dataset      string        `json:"dataset_sha256"` // "": an earlier version did not write it
	Settings     []string      `json:"settings"`       // of the client, as flags
	Replicas     []string      `json:"replicas"`       // URLs
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

// failed reports whether a server failed at the trial, and would therefore fail again.
func (t *Trial) failed() bool {
	return slices.ContainsFunc(t.Spoiled, func(c record.Cause) bool { return c.Code == record.CodeFailedSamples })
}

// Limits of what a state may contain.
const (
	MaxArrangements = 100
	MaxRepeats      = 1000
)

// stateFile is experiment.json.
var stateFile = statefile.File[State]{Name: FileName, Of: "experiment", Schema: Schema,
	SchemaOf: func(s *State) string { return s.Schema }, Check: (*State).check}

// ReadState reads a folder's experiment.json. Without one, the error is statefile.ErrNone.
func ReadState(folder string) (*State, error) { return stateFile.Read(folder) }

// check rejects a state that no experiment can have.
func (s *State) check() error {
	if len(s.Arrangements) > MaxArrangements || s.Repeats > MaxRepeats || s.Repeats < 1 {
		return fmt.Errorf("it has %d arrangements and %d repeats; the most are %d and %d", len(s.Arrangements), s.Repeats,
			MaxArrangements, MaxRepeats)
	}
	for _, t := range s.Trials {
		if t.Arrangement < 0 || t.Arrangement >= len(s.Arrangements) || t.Round < 0 || t.Round >= s.Repeats ||
			len(t.Replicas) > len(s.Replicas) {
			return fmt.Errorf("it has a trial of arrangement %d in round %d, which it does not list", t.Arrangement, t.Round)
		}
	}
	return nil
}

// same reports whether two experiments have the same terms.
func (s *State) same(o *State) bool {
	return s.Experiment == o.Experiment && s.Model == o.Model && s.Dataset == o.Dataset &&
		slices.Equal(s.Settings, o.Settings) && s.Samples == o.Samples && s.Seed == o.Seed && s.Repeats == o.Repeats &&
		slices.Equal(s.Arrangements, o.Arrangements) && len(s.Replicas) == len(o.Replicas)
}

// terms returns the settings that same compares, as flags.
func (s *State) terms() []string {
	list := append(slices.Clone(s.Settings), "--model="+s.Model, fmt.Sprintf("experiment=%v", s.Experiment),
		fmt.Sprintf("samples=%d", s.Samples), fmt.Sprintf("seed=%v", s.Seed), fmt.Sprintf("--repeats=%d", s.Repeats),
		fmt.Sprintf("replicas=%d", len(s.Replicas)), fmt.Sprintf("arrangements=%v", s.Arrangements))
	if s.Dataset != "" {
		list = append(list, "SHA-256 of the data set="+s.Dataset)
	}
	return list
}

// continues copies the valid trials of an earlier process.
func (s *State) continues(before *State) {
	s.Started = before.Started
	s.Trials = slices.DeleteFunc(slices.Clone(before.Trials), func(t Trial) bool { return !t.counts() })
}

// next returns the next trial. Each round has every arrangement once, in changing order, so that a drift of the server
// affects all of them alike. An arrangement at which a server failed is not tried again.
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
