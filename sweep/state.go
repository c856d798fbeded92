package sweep

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// The files of a sweep's folder.
const (
	FileName  = "sweep.json"
	TableName = "sweep.txt"
	CSVName   = "sweep.csv"
	PlotName  = "sweep.svg"
	PointName = "probe.json"
)

// Schema names the form of sweep.json, which schema/sweep.schema.json describes.
const Schema = "mlperf-go/sweep/1"

// State is sweep.json.
type State struct {
	Schema       string    `json:"schema"`
	Kind         string    `json:"kind"` // always "sweep"
	Model        string    `json:"model"`
	Scenario     string    `json:"scenario"`
	Dataset      string    `json:"dataset_sha256"` // "": an earlier version did not write it
	Settings     []string  `json:"settings"`       // of the client, as flags
	Load         Kind      `json:"load"`           // what varies
	Auto         bool      `json:"auto"`
	Values       []float64 `json:"values"` // to measure; empty with auto
	Length       Length    `json:"length"`
	Limits       Limits    `json:"limits"`
	Accelerators int       `json:"accelerators"` // 0: not known
	Rehearsal    []string  `json:"rehearsal"`    // why no run with these settings could be submitted
	Started      time.Time `json:"started"`
	Updated      time.Time `json:"updated"`
	IdleAnswerS  float64   `json:"idle_answer_s"` // median time of a whole answer of the idle server; 0: not measured yet
	Points       []Point   `json:"points"`        // in the order of their loads
	Result       *Result   `json:"result"`        // null while the sweep goes on
}

// Length is how long each point is measured.
type Length struct {
	WarmupS  float64 `json:"warmup_s"`   // at least, before the window
	Duration float64 `json:"duration_s"` // of the window, at least
	Queries  int     `json:"queries"`    // in the window, at least
	Longest  float64 `json:"longest_s"`  // of the window, even if it has fewer queries
}

// Point is the measurement of one load.
type Point struct {
	Load    float64        `json:"load"`
	Folder  string         `json:"folder"` // below the sweep's
	Started time.Time      `json:"started"`
	TookS   float64        `json:"took_s"`
	Spoiled []record.Cause `json:"spoiled"` // why it does not count; empty: it does
	Front   bool           `json:"front"`   // it is on the Pareto front
	// start of the window after the first issue; null: an earlier version did not write it
	WindowFromNS *int64 `json:"window_from_ns"`
	Figures
}

// Result is how a sweep ended.
type Result struct {
	Stopped string   `json:"stopped"` // why no further load was measured
	Counted int      `json:"counted"` // points
	Spoiled int      `json:"spoiled"`
	Front   []int    `json:"front"`        // indices of points on the Pareto front
	Best    *Goodput `json:"best_goodput"` // null: there are no limits, or no query met them
	// the highest load at which 99 % of the queries met the limits; null: no load
	Within *Goodput `json:"highest_within_limits"`
}

// Goodput is how many queries of a point met the limits.
type Goodput struct {
	Load  float64 `json:"load"`
	PerS  float64 `json:"goodput_per_s"`
	Share float64 `json:"met_share"`
}

func (p *Point) goodput() *Goodput {
	if p == nil {
		return nil
	}
	return &Goodput{p.Load, *p.GoodputPerS, *p.Met}
}

// stateFile is sweep.json.
var stateFile = statefile.File[State]{Name: FileName, Of: "sweep", Schema: Schema,
	SchemaOf: func(s *State) string { return s.Schema }, Check: (*State).check}

// ReadState reads a folder's sweep.json. Without one, the error is statefile.ErrNone.
func ReadState(folder string) (*State, error) { return stateFile.Read(folder) }

// check rejects a state that no sweep can have.
func (s *State) check() error {
	if len(s.Points) > MaxPoints || len(s.Values) > MaxPoints {
		return fmt.Errorf("it has more than %d points", MaxPoints)
	}
	for _, p := range s.Points {
		if !(p.Load > 0 && p.Load <= MaxRate) || p.PerAccelerator < 0 || p.PerUser < 0 ||
			(p.Met == nil) != (p.GoodputPerS == nil) {
			return fmt.Errorf("its point at %v is impossible", p.Load)
		}
	}
	return nil
}

// continues takes over what an earlier sweep measured. Its spoiled points are measured again.
func (s *State) continues(before *State) {
	s.Started, s.IdleAnswerS = before.Started, before.IdleAnswerS
	s.Points = slices.DeleteFunc(slices.Clone(before.Points), func(p Point) bool { return !p.counts() })
}

// same reports whether two sweeps have the same terms.
func (s *State) same(o *State) bool {
	return s.Model == o.Model && s.Scenario == o.Scenario && s.Dataset == o.Dataset &&
		slices.Equal(s.Settings, o.Settings) && s.Load == o.Load && s.Length == o.Length && s.Limits == o.Limits &&
		s.Accelerators == o.Accelerators
}

// terms returns the settings that same compares, as flags.
func (s *State) terms() []string {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	list := append(slices.Clone(s.Settings), "--model="+s.Model, "--scenario="+s.Scenario, "--load="+string(s.Load),
		fmt.Sprintf("--point-warmup=%v", seconds(s.Length.WarmupS)),
		fmt.Sprintf("--point-duration=%v", seconds(s.Length.Duration)),
		fmt.Sprintf("--point-queries=%d", s.Length.Queries),
		fmt.Sprintf("--point-longest=%v", seconds(s.Length.Longest)), fmt.Sprintf("--accelerators=%d", s.Accelerators))
	if s.Dataset != "" {
		list = append(list, "SHA-256 of the data set="+s.Dataset)
	}
	for _, l := range []struct {
		name  string
		limit time.Duration
	}{{"--ttft-limit", s.Limits.TTFT}, {"--tpot-limit", s.Limits.TPOT}, {"limit of the answer", s.Limits.Answer}} {
		if l.limit > 0 {
			list = append(list, fmt.Sprintf("%s=%v", l.name, l.limit))
		}
	}
	return list
}

// add adds a measured point at its place.
func (s *State) add(p *Point) {
	at := 0
	for at < len(s.Points) && s.Points[at].Load < p.Load {
		at++
	}
	s.Points = slices.Insert(s.Points, at, *p)
	markFront(s.Points)
}

// at returns the point of a load; nil: the load was not measured.
func (s *State) at(load float64) *Point {
	for i := range s.Points {
		if math.Abs(s.Points[i].Load-load) <= load*sameLoad {
			return &s.Points[i]
		}
	}
	return nil
}

// sameLoad is the largest relative difference of two loads that count as the same.
const sameLoad = 1e-9

// finish records how the sweep ended.
func (s *State) finish(why string) {
	r := &Result{Stopped: why, Front: []int{}}
	for i := range s.Points {
		p := &s.Points[i]
		if p.Front {
			r.Front = append(r.Front, i)
		}
		if p.counts() {
			r.Counted++
		} else {
			r.Spoiled++
		}
	}
	r.Best, r.Within = bestGoodput(s.Points).goodput(), highestWithin(s.Points).goodput()
	s.Result = r
}

// write replaces sweep.json in a folder.
func (s *State) write(folder string, access atomicfile.Access) error {
	s.Updated = time.Now()
	return access.WriteJSON(filepath.Join(folder, FileName), s)
}
