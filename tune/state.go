package tune

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
)

// The files of a tune's folder.
const (
	FileName  = "tune.json"
	PlotName  = "tune.svg"
	ProbeName = "probe.json"
)

// Schema names the form of tune.json; docs/explanation/tuning.md describes it.
const Schema = "mlperf-go/tune/1"

// probeSchema names the form of probe.json.
const probeSchema = "mlperf-go/tune-probe/1"

// probeKind is the kind of a probe's folder. Readers of runs do not accept it as a run.
const probeKind = "probe"

// State is tune.json.
type State struct {
	Schema   string    `json:"schema"`
	Kind     string    `json:"kind"` // always "tune"
	Model    string    `json:"model"`
	Scenario string    `json:"scenario"`
	Dataset  string    `json:"dataset_sha256"` // "": an earlier version did not write it
	Settings []string  `json:"settings"`       // of the runs, as flags
	Goal     Goal      `json:"goal"`
	Started  time.Time `json:"started"`
	Updated  time.Time `json:"updated"`
	SpentS   float64   `json:"spent_s"` // time spent measuring, over all processes
	Probes   []Probe   `json:"probes"`
	Result   *Result   `json:"result"` // null while the tune goes on
}

// Probe is one step in tune.json.
type Probe struct {
	Measured
	Folder  string    `json:"folder"` // below the tune's
	Started time.Time `json:"started"`
	Spoiled string    `json:"spoiled,omitempty"`    // why it does not count
	Lag     bool      `json:"client_lag,omitempty"` // whether the client was too late: its limit, not the server's
	Low     float64   `json:"low,omitempty"`        // of the highest valid rate, after this step
	High    float64   `json:"high,omitempty"`
	ByPace  bool      `json:"by_pace,omitempty"` // whether the server's pace determined them, not the late queries
}

// Result is what a tune found.
type Result struct {
	TargetQPS float64 `json:"target_qps"`          // the confirmed rate, or the best guess
	Low       float64 `json:"low"`                 // interval of the highest valid rate
	High      float64 `json:"high"`                // 0: unknown, for example if the server was never saturated
	InFlight  int     `json:"in_flight,omitempty"` // in Offline: the --concurrency of the run
	Confirmed bool    `json:"confirmed"`
	Run       string  `json:"run,omitempty"`         // folder of the confirming run, below the tune's
	RunS      float64 `json:"run_seconds,omitempty"` // its duration
	Why       string  `json:"why,omitempty"`         // if not confirmed
}

// stateFile is tune.json.
var stateFile = statefile.File[State]{Name: FileName, Of: "tune", Schema: Schema,
	SchemaOf: func(s *State) string { return s.Schema }, Check: (*State).check}

// ReadState reads a folder's tune.json. Without one, the error is statefile.ErrNone.
func ReadState(folder string) (*State, error) { return stateFile.Read(folder) }

// check rejects a state that no tune can have.
func (s *State) check() error {
	if err := s.Goal.check(); err != nil {
		return err
	}
	if s.Result != nil && s.Result.Run != "" && !filepath.IsLocal(s.Result.Run) {
		return fmt.Errorf("its run %q is not below its folder", s.Result.Run)
	}
	for i, p := range s.Probes {
		if p.Spoiled != "" {
			continue // a spoiled probe may have measured nothing, and the search does not use it
		}
		if err := p.check(len(s.Goal.Limits)); err != nil {
			return fmt.Errorf("its probe %d: %w", i, err)
		}
	}
	return nil
}

// check rejects a measurement that no step can have made, because a search computes with it.
func (m *Measured) check(limits int) error {
	known := false
	for _, k := range []Kind{Idle, Saturate, Reference, Rate, Confirm} {
		known = known || k == m.Kind
	}
	closed := m.Kind == Idle || m.Kind == Saturate
	switch {
	case !known:
		return fmt.Errorf("the kind %q is unknown", m.Kind)
	case (m.Answers < 0 || m.Answers >= maxRate) || math.IsNaN(m.Answers):
		return fmt.Errorf("%v answers per second are impossible", m.Answers)
	case len(m.Counts) != limits || m.Kind != Confirm && (len(m.Medians) != limits || len(m.Tails) != limits):
		return fmt.Errorf("it has not a count, a median and a tail for each of %d limits", limits)
	case !closed && !(m.Rate > 0 && m.Rate < maxRate):
		return fmt.Errorf("the rate %v is not between 0 and %v", m.Rate, maxRate)
	case m.Kind == Saturate && !(m.Answers > 0 && m.Answers < maxRate && m.Concurrency > 0 &&
		m.Concurrency <= mostConcurrency):
		return fmt.Errorf("a closed loop of %d queries with %v answers per second", m.Concurrency, m.Answers)
	}
	if len(m.Paces) > mostWindows || !(math.Abs(m.Extra) < mostTokens) ||
		!(m.First >= 0 && m.First < maxDuration.Seconds()) {
		return errors.New("its windows are impossible")
	}
	for _, p := range m.Paces {
		if !(p.InFlight >= 0 && p.InFlight < maxQueries && p.PerToken > 0 && p.PerToken < maxDuration.Seconds()) {
			return fmt.Errorf("the pace %+v is impossible", p)
		}
	}
	for _, c := range m.Counts {
		if c.Queries < 0 || c.Late < 0 || !(c.Full >= 0 && c.Full < 1e12) {
			return fmt.Errorf("the count %+v is impossible", c)
		}
	}
	return nil
}

// maxRate bounds the rates of a tune in queries per second.
const maxRate = 1e7

// write replaces tune.json in a folder.
func (s *State) write(folder string, access atomicfile.Access) error {
	s.Updated = time.Now()
	return access.WriteJSON(filepath.Join(folder, FileName), s)
}
