package servers

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Schema names the form of the state file.
const Schema = "mlperf-go/server/1"

// StateName is the file in a plan's folder by which other processes find the servers.
const StateName = "server.json"

const (
	lockName     = "server.lock"
	largestState = 16 << 20
)

// Health is where a replica stands.
type Health string

// A replica goes from starting to ready to stopped; it is unhealthy while it does not answer, and dead when it ended by
// itself.
const (
	Starting  Health = "starting"
	Ready     Health = "ready"
	Unhealthy Health = "unhealthy"
	Dead      Health = "dead"
	Stopped   Health = "stopped"
)

// State is what the supervisor writes at each change.
type State struct {
	Schema     string    `json:"schema"`
	ID         string    `json:"id"`            // of this start, which every process of it carries
	Space      string    `json:"process_space"` // in which the numbers below are those of processes
	Supervisor identity  `json:"supervisor"`
	Started    time.Time `json:"started"`
	Plan       *Plan     `json:"plan"`

	Environment       map[string]string `json:"environment"` // of every replica, secrets hidden
	HeartbeatInterval time.Duration     `json:"heartbeat_interval_ns"`
	HeartbeatTimeout  time.Duration     `json:"heartbeat_timeout_ns"`

	StopLimit time.Duration  `json:"stop_limit_ns"` // within which the supervisor ends every server
	Replicas  []ReplicaState `json:"replicas"`
}

// ReplicaState is one server as the supervisor saw it last.
type ReplicaState struct {
	Index     int      `json:"index"`
	URL       string   `json:"url"`
	Leader    identity `json:"leader"` // also the number of its session and group; 0 before it is started
	Health    Health   `json:"health"`
	Unhealthy int      `json:"unhealthy_spells"` // times that it stopped to answer
	Gaps      []Gap    `json:"gaps,omitempty"`   // the first maxGaps of them
	Exit      string   `json:"exit,omitempty"`   // how it ended

	ReadyAfter time.Duration     `json:"ready_after_ns,omitempty"`
	Exported   map[string]string `json:"exported,omitempty"` // by the pre_start commands, secrets hidden
	Died       *time.Time        `json:"died,omitempty"`     // when it was seen to have ended by itself
	LogTail    []string          `json:"log_tail,omitempty"` // of one that died

	Processes []Process `json:"processes,omitempty"`  // when it was ready; with debug_mode
	AfterStop *Leftover `json:"after_stop,omitempty"` // with debug_mode
}

// Process is one of a replica, as debug_mode notes it.
type Process struct {
	identity
	Parent int    `json:"parent"`
	Group  int    `json:"group"`
	Name   string `json:"name"`
}

func (p Process) String() string { return fmt.Sprintf("%s (%d)", p.Name, p.PID) }

// Leftover is what debug_mode finds after a stop; of a stop as it should be, it is nothing.
type Leftover struct {
	Checked   int       `json:"checked"`   // processes that were noted before
	Alive     []Process `json:"alive"`     // of them
	Listening bool      `json:"listening"` // something still listens on the port
}

// maxGaps bounds the gaps that are kept of one replica.
const maxGaps = 1000

// Running says whether the supervisor that wrote the state still runs.
func (s *State) Running() bool { return s.here() && s.Supervisor.alive() }

// here says whether the processes of the state are, or were, among those that this process sees.
func (s *State) here() bool {
	space, err := numberSpace()
	return err == nil && s.Space == space
}

// AllReady says whether the supervisor runs and each replica was ready when it looked last.
func (s *State) AllReady() bool {
	for _, r := range s.Replicas {
		if r.Health != Ready {
			return false
		}
	}
	return s.Running()
}

// ReadState reads the state in a plan's folder. Without one it is an os.ErrNotExist.
func ReadState(dir string) (*State, error) {
	path := filepath.Join(dir, StateName)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("state of the servers: %w", err)
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
		return nil, fmt.Errorf("state of the servers %s: %w; remove it when no server of it runs", path, err)
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("state of the servers %s has the schema %q, and this program reads %q", path, s.Schema, Schema)
	}
	if len(s.ID) < len(rand.Text()) {
		return nil, fmt.Errorf("state of the servers %s has the id %q, which names no start", path, s.ID)
	}
	if s.Plan != nil && len(s.Plan.Replicas) != len(s.Replicas) {
		return nil, fmt.Errorf("state of the servers %s has %d replicas and a plan of %d", path, len(s.Replicas),
			len(s.Plan.Replicas))
	}
	for _, r := range s.Replicas {
		// What is signalled is read from here: neither all processes (-1) nor our own group (0) nor the system's first one.
		if r.Leader.PID != 0 && r.Leader.PID < 2 || s.Supervisor.PID < 2 || r.Leader.PID == s.Supervisor.PID {
			return nil, fmt.Errorf("state of the servers %s names process %d, which is no server", path, r.Leader.PID)
		}
		for _, m := range r.Processes {
			if m.PID < 2 || m.PID == s.Supervisor.PID {
				return nil, fmt.Errorf("state of the servers %s names process %d, which is no server's", path, m.PID)
			}
		}
	}
	return &s, nil
}

// lockDir keeps a second supervisor out of a folder for as long as this process, or the file, lives.
func lockDir(dir string, access atomicfile.Access) (*os.File, error) {
	if err := os.MkdirAll(dir, access.Folder()); err != nil {
		return nil, fmt.Errorf("making the servers' folder: %w", err)
	}
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, access.File())
	if err != nil {
		return nil, fmt.Errorf("locking the servers' folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("servers of %s are running already: end them with `mlperf-go server down`, or choose another "+
			"output_dir", dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Down ends the servers of a folder from any process: through their supervisor, and by force where that is gone. It
// returns when nothing is left of them.
func Down(dir string) (*State, error) {
	s, err := ReadState(dir)
	if err != nil {
		return nil, err
	}
	if err := owned(filepath.Join(dir, StateName)); err != nil {
		return s, err
	}
	if !s.here() {
		return s, fmt.Errorf("the servers of %s were started on another machine, in another container, or before the last "+
			"start of this one, so none of the processes here is theirs; end them where they run, or remove %s if they are gone",
			dir, filepath.Join(dir, StateName))
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
		return s, fmt.Errorf("the supervisor %d of %s did not end within %v of SIGTERM; look at its log, then send it "+
			"SIGKILL: its guards end the servers", s.Supervisor.PID, dir, s.StopLimit+freeGrace)
	}
	return s, s.sweep()
}

// owned refuses a state that another user wrote, or may have changed: it says which processes are to be killed.
func owned(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("state of the servers: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the state of the servers %s is no file of this user's that others can not change, and it would "+
			"name the processes to end; end them as the user who started them", path)
	}
	return nil
}

// sweep kills what a supervisor left behind that did not end as it should.
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

// killFamily kills a replica until nothing of it is left.
func killFamily(leader identity, cookie string, known []identity) error {
	for deadline := time.Now().Add(killGrace); ; time.Sleep(poll) {
		members, err := family(leader, cookie, known)
		if err != nil || len(members) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of the server are left after SIGKILL: %v; look at what they wait for", members)
		}
		for _, m := range members {
			if err := signalOne(m.identity, syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
}
