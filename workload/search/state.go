package search

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// The files of a search's folder.
const (
	FileName  = "search.json"
	TableName = "search.txt"
	PlotName  = "search.svg"
	probesDir = "probes" // a folder for each run
)

// Schema names the form of search.json, which schema/search.schema.json describes.
const Schema = "mlperf-go/search/1"

// State is search.json.
type State struct {
	Schema    string          `json:"schema"`
	Kind      string          `json:"kind"` // always "search"
	Profile   string          `json:"profile"`
	SHA256    string          `json:"profile_sha256"`
	Model     string          `json:"model"`     // that the requests name; empty until the first run
	Rehearsal string          `json:"rehearsal"` // why the runs are rehearsals; empty: they are not
	Settings  []string        `json:"settings"`  // of the client, as flags
	Load      Kind            `json:"load"`      // what varies
	Limits    []measure.Limit `json:"limits"`
	Terms     Terms           `json:"terms"`
	Started   time.Time       `json:"started"`
	Updated   time.Time       `json:"updated"`
	Probes    []Probe         `json:"probes"` // in the order of their measurement
	Result    *Result         `json:"result"` // null while the search goes on
}

// Terms are how a search measures.
type Terms struct {
	From       float64       `json:"from"` // first load
	To         float64       `json:"to"`   // highest load
	Probe      time.Duration `json:"probe_ns"`
	Confirm    time.Duration `json:"confirm_ns"` // length of the confirming run
	Confidence float64       `json:"confidence"`
	Precision  float64       `json:"precision"` // largest relative difference of the loads that meet and miss the limits
	Budget     time.Duration `json:"budget_ns"` // of all measurements together; 0: no limit
}

// Defaults returns terms of a search whose loads follow from the profile.
func Defaults() Terms {
	return Terms{Probe: 30 * time.Second, Confirm: 2 * time.Minute, Confidence: 0.95, Precision: 0.02}
}

// Probe is one measurement.
type Probe struct {
	Load         float64        `json:"load"`
	Confirm      bool           `json:"confirm"` // it is a run of the full length
	Folder       string         `json:"folder"`  // below the search's
	Started      time.Time      `json:"started"`
	TookS        float64        `json:"took_s"`
	Requests     int64          `json:"requests"` // counted ones
	Missed       []int64        `json:"missed"`   // of them, by limit
	Met          bool           `json:"met"`      // the run is VALID, and each limit is met by the share that it requires
	Verdict      record.Verdict `json:"verdict"`
	Reasons      []record.Cause `json:"reasons"`
	Broken       bool           `json:"broken"` // spoiled by neither the load nor the client, so it does not count
	Client       bool           `json:"client"` // the client was too slow for the load
	RequestsPerS float64        `json:"requests_per_s"`
	TokensPerS   float64        `json:"output_tokens_per_s"`
}

// Result is how a search ended.
type Result struct {
	Confirmed   bool    `json:"confirmed"`
	Load        float64 `json:"load"`         // confirmed one; 0: none
	Met         float64 `json:"met"`          // highest load that met the limits; 0: none
	Missed      float64 `json:"missed"`       // lowest load above it that missed one; 0: none
	ClientLimit bool    `json:"client_limit"` // the client was too slow for the load in Missed
	Why         string  `json:"why"`          // no load is confirmed, or none missed the limits
}

// stateFile is search.json.
var stateFile = statefile.File[State]{Name: FileName, Of: "search", Schema: Schema,
	SchemaOf: func(s *State) string { return s.Schema }, Check: (*State).check}

// ReadState reads a folder's search.json. Without one, the error is statefile.ErrNone.
func ReadState(folder string) (*State, error) { return stateFile.Read(folder) }

// check rejects a state that no search can have.
func (s *State) check() error {
	if s.Load != Rate && s.Load != Concurrency {
		return fmt.Errorf("a search does not vary %.20q", s.Load)
	}
	for _, p := range s.Probes {
		if !(p.Load > 0 && p.Load <= math.Max(mostRate, mostConcurrency)) || len(p.Missed) != len(s.Limits) {
			return fmt.Errorf("its measurement at %v is impossible", p.Load)
		}
	}
	return s.Terms.check(s.Load)
}

// check rejects terms that no search can have.
func (t *Terms) check(k Kind) error {
	for _, bad := range []struct {
		is   bool
		text string
	}{
		{!(t.From >= k.least() && t.From <= t.To && t.To <= k.most()),
			fmt.Sprintf("a search from %v to %v: expected two loads between %v and %v, the lower one first", t.From, t.To,
				k.least(), k.most())},
		{t.Probe < time.Second || t.Probe > longest || t.Confirm < t.Probe || t.Confirm > longest,
			fmt.Sprintf("measurements of %v, and %v for the last: expected a second to a day, the last one at least as long",
				t.Probe, t.Confirm)},
		{!(t.Confidence >= 0.5 && t.Confidence < 1), fmt.Sprintf("the confidence %v is not between 0.5 and 1",
			t.Confidence)},
		{!(t.Precision >= 0.001 && t.Precision <= 1), fmt.Sprintf("the precision %v is not between 0.001 and 1",
			t.Precision)},
		{t.Budget < 0, fmt.Sprintf("the budget %v is negative", t.Budget)},
	} {
		if bad.is {
			return errors.New(bad.text)
		}
	}
	return nil
}

// longest is the length of the longest run.
const longest = 24 * time.Hour

// terms returns what a continued search must share with the earlier one, as flags where possible.
func (s *State) terms() []string {
	t := &s.Terms
	list := append([]string{}, s.Settings...)
	for _, l := range s.Limits {
		list = append(list, "--slo="+l.String())
	}
	return append(list, "SHA-256 of the profile="+s.SHA256, fmt.Sprintf("--from=%v", t.From), fmt.Sprintf("--to=%v", t.To),
		fmt.Sprintf("--probe-duration=%v", t.Probe), fmt.Sprintf("--confirm-duration=%v", t.Confirm),
		fmt.Sprintf("--confidence=%v", t.Confidence), fmt.Sprintf("--precision=%v", t.Precision))
}

// took returns how long the measurements took together.
func (s *State) took() (total time.Duration) {
	for _, p := range s.Probes {
		total += time.Duration(p.TookS * float64(time.Second))
	}
	return total
}

// write replaces search.json and the views of it in a folder.
func (s *State) write(folder string, access atomicfile.Access) error {
	s.Updated = time.Now()
	return errors.Join(access.WriteJSON(filepath.Join(folder, FileName), s),
		access.Write(filepath.Join(folder, TableName), s.WriteTable),
		access.Write(filepath.Join(folder, PlotName), s.WritePlot))
}
