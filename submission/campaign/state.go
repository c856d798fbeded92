package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Schema names the form of campaign.json; docs/how-to/campaigns.md describes it.
const Schema = "mlperf-go/campaign/1"

// Status says what became of a step.
type Status string

// The states of a step.
const (
	Pending Status = "pending" // to be done; Why tells what it waits for, or why it is done again
	Active  Status = "running"
	Done    Status = "done"    // valid, or of no verdict and well
	Invalid Status = "invalid" // ended with a verdict that is not valid
	Failed  Status = "failed"  // ended without a verdict, or was interrupted
	Crashed Status = "crashed" // left a folder without a record
)

// Of says whose campaign a folder is. It never changes in a folder.
type Of struct {
	Model    string `json:"model"` // checker name
	System   string `json:"system"`
	Round    string `json:"round"`
	Division string `json:"division"`
}

// State is campaign.json.
type State struct {
	Schema string `json:"schema"`
	Of
	SystemType string    `json:"system_type"`
	Submitter  string    `json:"submitter,omitempty"`
	Updated    time.Time `json:"updated"`
	Steps      []*Entry  `json:"steps"`
}

// Entry is one step in campaign.json.
type Entry struct {
	ID       string    `json:"id"`
	Status   Status    `json:"state"`
	Code     string    `json:"code,omitempty"` // a word for Why: a verdict's first reason, an error's, or ours
	Why      string    `json:"why,omitempty"`
	Exit     int       `json:"exit"`
	Attempts int       `json:"attempts"`
	Started  time.Time `json:"started,omitzero"`
	TookS    float64   `json:"took_s,omitempty"`
	Hash     string    `json:"settings_hash,omitempty"`
	Settings Settings  `json:"settings,omitempty"`
	// TakesS is how long the step was expected to take before the campaign's last step was started, and AtLeast that it
	// may be longer. A step that was never reckoned has 0.
	TakesS  float64  `json:"takes_s,omitempty"`
	AtLeast bool     `json:"at_least,omitempty"`
	Aside   []string `json:"aside,omitempty"` // where earlier folders of the step were moved, below the campaign's
}

// maxState bounds campaign.json: a benchmark has a few dozen steps.
const maxState = 16 << 20

// ErrNoState: the folder has no campaign.json.
var ErrNoState = errors.New("there is no " + layout.StateName)

// ReadState reads a folder's campaign.json.
func ReadState(folder string) (*State, error) {
	path := filepath.Join(folder, layout.StateName)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", folder, ErrNoState)
	case err != nil:
		return nil, err
	case info.Size() > maxState:
		return nil, fmt.Errorf("%s has %d bytes, and a campaign's state at most %d", path, info.Size(), maxState)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseState(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func parseState(text []byte) (*State, error) {
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("it is no JSON of a campaign: %w", err)
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("it has the schema %q, and %q is known", s.Schema, Schema)
	}
	for i, e := range s.Steps {
		if e == nil || e.ID == "" {
			return nil, fmt.Errorf("its step %d has no id", i)
		}
	}
	return s, nil
}

// Entry gives a step's entry, a new one where there is none.
func (s *State) Entry(step Step) *Entry {
	for _, e := range s.Steps {
		if e.ID == step.ID() {
			return e
		}
	}
	e := &Entry{ID: step.ID(), Status: Pending}
	s.Steps = append(s.Steps, e)
	return e
}

// write makes the state last: file and folder are synced before it returns.
func (s *State) write(folder string) error {
	s.Updated = time.Now()
	return atomicfile.WriteJSON(filepath.Join(folder, layout.StateName), s)
}
