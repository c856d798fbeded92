package servers

import (
	"maps"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// settleLimit is how long a record waits for the exit status of a server that has died.
const settleLimit = 10 * time.Second

// Settle reads the state of the servers in dir as ReadState does. Before, it waits until the exit status of every dead
// one has arrived, which takes up to ten seconds.
func Settle(dir string) (*State, error) {
	deadline := time.Now().Add(settleLimit)
	for {
		s, err := ReadState(dir)
		if err != nil || s.Settled() || time.Now().After(deadline) {
			return s, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Facts describes the servers of a test for its record: how they were started, and what happened to them during it.
type Facts struct {
	Config      string   `json:"config"` // the file, or the model's folder
	Backend     string   `json:"backend"`
	Model       string   `json:"model"`
	ServedModel string   `json:"served_model"`
	Dir         string   `json:"dir"` // folder of their logs
	Notes       []string `json:"notes"`
	Profiler    string   `json:"profiler,omitempty"`
	// includes profilers outside the profile block; results with one must not be published
	Profilers          []string          `json:"profilers,omitempty"`
	PreStart           []string          `json:"pre_start,omitempty"`
	Environment        map[string]string `json:"environment"` // of every replica, secrets hidden
	HeartbeatIntervalS float64           `json:"heartbeat_interval_s"`
	HeartbeatTimeoutS  float64           `json:"heartbeat_timeout_s"`
	Replicas           []ReplicaFacts    `json:"replicas"`
}

// ReplicaFacts describes one server of a test.
type ReplicaFacts struct {
	Index       int               `json:"index"`
	URL         string            `json:"url"`
	Version     string            `json:"version,omitempty"` // found by the preflight
	PID         int               `json:"pid"`
	GPUs        []string          `json:"gpus"` // empty: all
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"` // differences from Facts.Environment, and pre_start's exports
	Log         string            `json:"log"`
	ReadyAfterS float64           `json:"ready_after_s"` // from the start of its process until the model was listed
	Health      Health            `json:"health"`
	Heartbeat   *Beats            `json:"heartbeat,omitempty"` // during the test
	Gaps        []Gap             `json:"gaps"`                // during the test
	Died        *time.Time        `json:"died,omitempty"`
	Exit        string            `json:"exit,omitempty"`
	LogTail     []string          `json:"log_tail,omitempty"` // only if it died
}

// Gap is a period in which a ready server did not answer heartbeats.
type Gap struct {
	From  time.Time  `json:"from"`            // its last answer
	Until *time.Time `json:"until,omitempty"` // its next answer, if there was one
	Error string     `json:"error"`
}

// within reports whether a gap overlaps a span of time.
func (g Gap) within(from, to time.Time) bool {
	return g.From.Before(to) && (g.Until == nil || g.Until.After(from))
}

// beginGap marks a ready server as unhealthy; since is the time of its last answer.
func (r *ReplicaState) beginGap(since time.Time, err error) {
	r.Health = Unhealthy
	if r.Unhealthy++; r.Unhealthy <= maxGaps {
		r.Gaps = append(slices.Clone(r.Gaps), Gap{From: since, Error: foreign.Line(err.Error(), longestError)})
	}
}

// endGap marks a server as ready again.
func (r *ReplicaState) endGap(at time.Time) {
	r.Health = Ready
	if r.Unhealthy <= maxGaps {
		r.Gaps = slices.Clone(r.Gaps) // copies of the state share the old list
		r.Gaps[len(r.Gaps)-1].Until = &at
	}
}

// Facts returns the facts for the record of a test that ran from one time to another.
func (s *State) Facts(from, to time.Time) *Facts {
	p := s.Plan
	f := &Facts{
		Config: p.Config, Backend: p.Backend, Model: p.Model, ServedModel: p.Served, Dir: p.Dir, Notes: p.Notes,
		Profiler: p.Profiler, Profilers: s.profilers(), PreStart: p.PreStart,
		Environment: s.Environment, HeartbeatIntervalS: s.HeartbeatInterval.Seconds(),
		HeartbeatTimeoutS: s.HeartbeatTimeout.Seconds(),
	}
	for i, r := range s.Replicas {
		of := p.Replicas[i]
		facts := ReplicaFacts{
			Index: r.Index, URL: r.URL, PID: r.Leader.PID, GPUs: append([]string{}, of.GPUs...), Command: of.Command,
			Environment: map[string]string{}, Log: of.Log,
			ReadyAfterS: r.ReadyAfter.Seconds(), Health: r.Health, Gaps: []Gap{}, Died: r.Died, Exit: r.Exit, LogTail: r.LogTail,
		}
		maps.Copy(facts.Environment, of.Env)
		maps.Copy(facts.Environment, r.Exported)
		for _, g := range r.Gaps {
			if g.within(from, to) {
				facts.Gaps = append(facts.Gaps, g)
			}
		}
		f.Replicas = append(f.Replicas, facts)
	}
	return f
}

// Settled reports whether the exit status of every dead replica is known. It arrives shortly after the death is
// noticed.
func (s *State) Settled() bool {
	return !slices.ContainsFunc(s.Replicas, func(r ReplicaState) bool { return r.Died != nil && r.Exit == "" })
}
