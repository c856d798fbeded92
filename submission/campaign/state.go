package campaign

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Schema names the form of campaign.json; docs/how-to/campaigns.md describes it.
const Schema = "mlperf-go/campaign/1"

// Status is the state of a step.
type Status string

// The states of a step.
const (
	Pending Status = "pending" // not run yet, or to be run again; Why is the reason
	Active  Status = "running"
	Done    Status = "done"    // valid, or successful without a verdict
	Invalid Status = "invalid" // ended with the verdict INVALID
	Failed  Status = "failed"  // ended without a verdict, or was interrupted
	Crashed Status = "crashed" // left a folder without a record
)

// Of identifies a campaign. It never changes in a folder.
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
	Chosen     []string  `json:"chosen,omitempty"` // steps of the last run with --only; empty: all
	Steps      []*Entry  `json:"steps"`
}

// Entry is one step in campaign.json.
type Entry struct {
	ID       string    `json:"id"`
	Status   Status    `json:"state"`
	Code     Code      `json:"code,omitempty"`
	Why      string    `json:"why,omitempty"`
	Exit     int       `json:"exit"`
	Attempts int       `json:"attempts"`
	Started  time.Time `json:"started,omitzero"`
	TookS    float64   `json:"took_s,omitempty"`
	Hash     string    `json:"settings_hash,omitempty"`
	Settings Settings  `json:"settings,omitempty"`
	// TakesS is the step's expected duration in seconds, estimated when the campaign's last step was started; 0: never
	// estimated. AtLeast marks a lower bound.
	TakesS  float64  `json:"takes_s,omitempty"`
	AtLeast bool     `json:"at_least,omitempty"`
	Aside   []string `json:"aside,omitempty"` // where earlier folders of the step were moved, below the campaign's
}

// stateFile is campaign.json.
var stateFile = statefile.File[State]{Name: layout.StateName, Of: "campaign", Schema: Schema,
	SchemaOf: func(s *State) string { return s.Schema }, Check: (*State).check}

// ReadState reads a folder's campaign.json. Without one, the error is statefile.ErrNone.
func ReadState(folder string) (*State, error) { return stateFile.Read(folder) }

// check rejects a state that no campaign can have.
func (s *State) check() error {
	for i, e := range s.Steps {
		if e == nil || e.ID == "" {
			return fmt.Errorf("its step %d has no id", i)
		}
	}
	return nil
}

// Entry returns a step's entry, and adds it if it is missing.
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

// write saves the state. File and folder are synced before it returns.
func (s *State) write(folder string) error {
	s.Updated = time.Now()
	return atomicfile.WriteJSON(filepath.Join(folder, layout.StateName), s)
}
