package servers

import (
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
)

// Facts are what the record of a test says of the servers behind it: how they were started, and what happened to them
// meanwhile.
type Facts struct {
	Config      string   `json:"config"` // the file, or the folder of the model
	Backend     string   `json:"backend"`
	Model       string   `json:"model"`
	ServedModel string   `json:"served_model"`
	Dir         string   `json:"dir"` // of their logs
	Notes       []string `json:"notes"`
	Profiler    string   `json:"profiler,omitempty"`
	// with those outside the profile block: no result of them is to be published
	Profilers          []string          `json:"profilers,omitempty"`
	PreStart           []string          `json:"pre_start,omitempty"`
	Environment        map[string]string `json:"environment"` // of every replica, secrets hidden
	HeartbeatIntervalS float64           `json:"heartbeat_interval_s"`
	HeartbeatTimeoutS  float64           `json:"heartbeat_timeout_s"`
	Replicas           []ReplicaFacts    `json:"replicas"`
}

// ReplicaFacts are one server's.
type ReplicaFacts struct {
	Index       int               `json:"index"`
	URL         string            `json:"url"`
	Version     string            `json:"version,omitempty"` // as the preflight found it
	PID         int               `json:"pid"`
	GPUs        []string          `json:"gpus"` // empty: not restricted
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"` // what differs from the others', and what pre_start exported
	Log         string            `json:"log"`
	ReadyAfterS float64           `json:"ready_after_s"` // from the start of its process to the model being listed
	Health      Health            `json:"health"`
	Heartbeat   *Beats            `json:"heartbeat,omitempty"` // during the test
	Gaps        []Gap             `json:"gaps"`                // of the heartbeat, during the test
	Died        *time.Time        `json:"died,omitempty"`
	Exit        string            `json:"exit,omitempty"`
	LogTail     []string          `json:"log_tail,omitempty"` // of one that died
}

// Gap is a time in which a server that was ready did not answer its heartbeat.
type Gap struct {
	From  time.Time  `json:"from"`            // its last answer
	Until *time.Time `json:"until,omitempty"` // its next one; null: there was none
	Error string     `json:"error"`
}

// within says whether a gap and a span of time have a moment in common.
func (g Gap) within(from, to time.Time) bool {
	return g.From.Before(to) && (g.Until == nil || g.Until.After(from))
}

// beginGap marks a server that was ready and has not answered since a moment.
func (r *ReplicaState) beginGap(since time.Time, err error) {
	r.Health = Unhealthy
	if r.Unhealthy++; r.Unhealthy <= maxGaps {
		r.Gaps = append(slices.Clone(r.Gaps), Gap{From: since, Error: foreign.Line(err.Error(), longestWhy)})
	}
}

// endGap marks a server that answers again.
func (r *ReplicaState) endGap(at time.Time) {
	r.Health = Ready
	if r.Unhealthy <= maxGaps {
		r.Gaps = slices.Clone(r.Gaps) // those who have the old list keep it
		r.Gaps[len(r.Gaps)-1].Until = &at
	}
}

// Facts of the servers as they matter to a test that ran from one moment to another.
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
		for _, set := range []map[string]string{of.Env, r.Exported} {
			for name, value := range set {
				facts.Environment[name] = value
			}
		}
		for _, g := range r.Gaps {
			if g.within(from, to) {
				facts.Gaps = append(facts.Gaps, g)
			}
		}
		f.Replicas = append(f.Replicas, facts)
	}
	return f
}

// Settled says whether of every replica that has died everything is told: how it ended comes a moment after that it
// did.
func (s *State) Settled() bool {
	return !slices.ContainsFunc(s.Replicas, func(r ReplicaState) bool { return r.Died != nil && r.Exit == "" })
}
