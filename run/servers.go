package run

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/servers"
)

// servers returns the supervisor's account of the endpoints during the test from --server-dir, and notes for the user.
// It is nil without a supervisor.
func (e *evidence) servers() (*servers.Facts, []string) {
	dir := e.plan.Config.String("server-dir")
	if dir == "" {
		return nil, nil
	}
	ended := time.Now()
	state, err := servers.Settle(dir)
	if err == nil {
		err = matches(state, e.config.Endpoints)
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("no servers were started in %s", dir)
		}
		return nil, []string{fmt.Sprintf("the record has no servers: %v", err)}
	}
	facts := state.Facts(e.started, ended)
	var notes []string
	for i, r := range facts.Replicas {
		if facts.Replicas[i].Heartbeat, err = servers.ReadBeats(dir, r.Index, e.started, ended); err != nil {
			notes = append(notes, fmt.Sprintf("the record has no count of heartbeats: %v", err))
		}
		for _, p := range e.pre.Endpoints {
			if sameServer(p.URL, r.URL) {
				facts.Replicas[i].Version = p.Version
			}
		}
	}
	return facts, append(notes, gapNotes(facts, e.started, ended)...)
}

// addProfiled makes the run a rehearsal if a profiler watches its servers, by their own report or by their command
// lines in --server-dir.
func (e *evidence) addProfiled() {
	for _, p := range e.pre.Endpoints {
		if len(p.Profilers) > 0 {
			e.plan.AddRehearsal(fmt.Sprintf("profiled: the server %s has a profiler (%s)", p.URL,
				strings.Join(p.Profilers, ", ")))
		}
	}
	dir := e.plan.Config.String("server-dir")
	if dir == "" {
		return
	}
	// The record reports a state that cannot be read or that belongs to other servers.
	if state, err := servers.ReadState(dir); err == nil && matches(state, e.config.Endpoints) == nil {
		e.plan.AddRehearsal(plan.Profiled(state.Facts(e.started, time.Now()).Profilers))
	}
}

// matches returns an error unless every endpoint is one of the supervisor's servers.
func matches(s *servers.State, endpoints []backends.Endpoint) error {
	if s.Plan == nil {
		return errors.New("their state does not tell how they were started")
	}
	for _, e := range endpoints {
		found := false
		for _, r := range s.Replicas {
			found = found || sameServer(e.URL, r.URL)
		}
		if !found {
			return fmt.Errorf("%s is not one of the servers of --server-dir", e.URL)
		}
	}
	return nil
}

// sameServer compares base URLs. An endpoint may have the path of its API.
func sameServer(endpoint, base string) bool {
	rest, ok := strings.CutPrefix(endpoint, base)
	return ok && (rest == "" || rest[0] == '/')
}

// gapNotes returns a note for each time that a server stopped answering during the test.
func gapNotes(f *servers.Facts, from, to time.Time) []string {
	var notes []string
	for _, r := range f.Replicas {
		for _, g := range r.Gaps {
			until, end := to, "and had not answered again at the end"
			if g.Until != nil {
				until, end = *g.Until, "and answered again"
			}
			notes = append(notes, fmt.Sprintf("replica %d (%s) did not answer its heartbeat for %.1f s, from %.1f s after the "+
				"start of the test on, %s: %s",
				r.Index, r.URL, until.Sub(g.From).Seconds(), g.From.Sub(from).Seconds(), end, g.Error))
		}
	}
	return notes
}
