package servers

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Schema identifies the format of the state file.
const Schema = "mlperf-go/server/1"

// StateName is the name of the state file in a plan's folder.
const StateName = "server.json"

const (
	lockName     = "server.lock"
	largestState = 16 << 20
)

// Health is the condition of a replica.
type Health string

// A replica goes from Starting to Ready to Stopped. It is Unhealthy while it does not answer, and Dead after it failed
// or exited by itself.
const (
	Starting  Health = "starting"
	Ready     Health = "ready"
	Unhealthy Health = "unhealthy"
	Dead      Health = "dead"
	Stopped   Health = "stopped"
)

// State is the content of the state file, which the supervisor writes at each change.
type State struct {
	Schema     string    `json:"schema"`
	ID         string    `json:"id"`            // of this start; every process of it carries the ID
	Space      string    `json:"process_space"` // in which the PIDs below are valid; see pidSpace
	Supervisor identity  `json:"supervisor"`
	Started    time.Time `json:"started"`
	Plan       *Plan     `json:"plan"`

	Environment       map[string]string `json:"environment"` // of every replica, secrets hidden
	HeartbeatInterval time.Duration     `json:"heartbeat_interval_ns"`
	HeartbeatTimeout  time.Duration     `json:"heartbeat_timeout_ns"`

	StopLimit time.Duration  `json:"stop_limit_ns"` // longest time that the supervisor needs to stop the servers
	Replicas  []ReplicaState `json:"replicas"`
}

// ReplicaState is the last known state of one server.
type ReplicaState struct {
	Index     int      `json:"index"`
	URL       string   `json:"url"`
	Leader    identity `json:"leader"` // its PID also identifies session and group; 0 before the start
	Health    Health   `json:"health"`
	Unhealthy int      `json:"unhealthy_spells"` // number of times that it stopped answering
	Gaps      []Gap    `json:"gaps,omitempty"`   // the first maxGaps of these times
	Exit      string   `json:"exit,omitempty"`   // how it exited

	ReadyAfter time.Duration     `json:"ready_after_ns,omitempty"`
	Exported   map[string]string `json:"exported,omitempty"` // by the pre_start commands, secrets hidden
	Died       *time.Time        `json:"died,omitempty"`     // when it was found to have exited by itself
	LogTail    []string          `json:"log_tail,omitempty"` // only if it died

	Processes []Process `json:"processes,omitempty"`  // when it became ready; only with debug_mode
	AfterStop *Leftover `json:"after_stop,omitempty"` // only with debug_mode
}

// Process is a process of a replica, recorded by debug_mode.
type Process struct {
	identity
	Parent int    `json:"parent"`
	Group  int    `json:"group"`
	Name   string `json:"name"`
}

func (p Process) String() string { return fmt.Sprintf("%s (%d)", p.Name, p.PID) }

// Leftover is what debug_mode finds after a stop. After a clean stop nothing is alive or listening.
type Leftover struct {
	Checked   int       `json:"checked"`   // processes recorded before the stop
	Alive     []Process `json:"alive"`     // those that are still alive
	Listening bool      `json:"listening"` // whether the port is still in use
}

// maxGaps limits the gaps recorded per replica.
const maxGaps = 1000

// Running reports whether the supervisor that wrote the state is alive.
func (s *State) Running() bool { return s.here() && s.Supervisor.alive() }

// here reports whether the state's PIDs are valid on this machine, in this container and since this boot.
func (s *State) here() bool {
	space, err := pidSpace()
	return err == nil && s.Space == space
}

// AllReady reports whether the supervisor is alive and every replica was ready at its last check.
func (s *State) AllReady() bool {
	return s.Running() && !slices.ContainsFunc(s.Replicas, func(r ReplicaState) bool { return r.Health != Ready })
}

// ReadState reads the state file in a plan's folder. The error is os.ErrNotExist if the file is missing.
func ReadState(dir string) (*State, error) {
	path := filepath.Join(dir, StateName)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the state of the servers: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largestState))
	if err != nil {
		return nil, fmt.Errorf("state of the servers %s: %w", path, err)
	}
	return parseState(path, b)
}

func parseState(path string, b []byte) (*State, error) {
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("state of the servers %s: %w; remove the file if none of its servers is running", path, err)
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("state of the servers %s has the schema %q, but this program reads %q", path, s.Schema, Schema)
	}
	if len(s.ID) < len(rand.Text()) {
		return nil, fmt.Errorf("state of the servers %s has the invalid id %q", path, s.ID)
	}
	if s.Plan != nil && len(s.Plan.Replicas) != len(s.Replicas) {
		return nil, fmt.Errorf("state of the servers %s has %d replicas, but a plan of %d", path, len(s.Replicas),
			len(s.Plan.Replicas))
	}
	for _, r := range s.Replicas {
		// Processes are signalled by these PIDs: never all processes (-1), the own group (0) or init (1).
		if r.Leader.PID != 0 && r.Leader.PID < 2 || s.Supervisor.PID < 2 || r.Leader.PID == s.Supervisor.PID {
			return nil, fmt.Errorf("state of the servers %s lists process %d, which cannot be a server", path, r.Leader.PID)
		}
		for _, m := range r.Processes {
			if m.PID < 2 || m.PID == s.Supervisor.PID {
				return nil, fmt.Errorf("state of the servers %s lists process %d, which cannot belong to a server", path, m.PID)
			}
		}
	}
	return &s, nil
}

// lockDir prevents a second supervisor from using a folder. The lock lasts as long as the returned file is open.
func lockDir(dir string, access atomicfile.Access) (*os.File, error) {
	if err := os.MkdirAll(dir, access.Folder()); err != nil {
		return nil, fmt.Errorf("create the servers' folder: %w", err)
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, access.File())
	if err != nil {
		return nil, fmt.Errorf("lock the servers' folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("servers are already running in %s: stop them with `mlperf-go server down`, or choose another "+
			"output_dir", dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Down stops the servers of a folder from any process: through their supervisor, or by SIGKILL if the supervisor is
// gone. It returns when all their processes have ended.
func Down(dir string) (*State, error) {
	s, err := ReadState(dir)
	if err != nil {
		return nil, err
	}
	if err := owned(filepath.Join(dir, StateName)); err != nil {
		return s, err
	}
	if !s.here() {
		return s, fmt.Errorf("the servers of %s were started on another machine, in another container, or before this "+
			"machine's last boot; stop them where they run, or remove %s if they are gone", dir, filepath.Join(dir, StateName))
	}
	if s.Running() {
		if err := signalOne(s.Supervisor, syscall.SIGTERM); err != nil {
			return s, err
		}
		for deadline := time.Now().Add(s.StopLimit + freeGrace); s.Running() && time.Now().Before(deadline); {
			time.Sleep(poll)
		}
	}
	if s.Running() {
		return s, fmt.Errorf("the supervisor %d of %s did not exit within %v after SIGTERM; check its log, then send it "+
			"SIGKILL: its guards will end the servers", s.Supervisor.PID, dir, s.StopLimit+freeGrace)
	}
	return s, s.sweep()
}

// owned rejects a state file that another user may have written, because Down kills the processes it lists.
func owned(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("read the state of the servers: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the state of the servers %s does not belong to this user, or others can change it, so the "+
			"processes it lists are not stopped; stop the servers as the user who started them", path)
	}
	return nil
}

// sweep kills the processes that a crashed supervisor left behind.
func (s *State) sweep() error {
	var failed []error
	for _, r := range s.Replicas {
		if r.Leader.PID == 0 {
			continue
		}
		var known []identity
		for _, m := range r.Processes {
			known = append(known, m.identity)
		}
		failed = append(failed, killFamily(r.Leader, cookie(s.ID, r.Index), known))
	}
	return errors.Join(failed...)
}

// killFamily sends SIGKILL to the processes of a replica until all have ended.
func killFamily(leader identity, cookie string, known []identity) error {
	for deadline := time.Now().Add(killGrace); ; time.Sleep(poll) {
		members, err := family(leader, cookie, known)
		if err != nil || len(members) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return unkillable(members)
		}
		for _, m := range members {
			if err := signalOne(m.identity, syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
}
