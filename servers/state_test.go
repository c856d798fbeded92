package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	p, ok := readProc(os.Getpid())
	require.True(t, ok)
	require.Equal(t, []int{os.Getpid(), os.Getppid()}, []int{p.PID, p.parent})
	require.True(t, p.alive())
	require.False(t, identity{p.PID, p.Start + 1}.alive(), "the number was used again")
	_, ok = readProc(1 << 30)
	require.False(t, ok)

	odd := "12 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 20"
	p, ok = parseStat([]byte(odd))
	require.True(t, ok)
	require.Equal(t, proc{identity: identity{12, 99}, parent: 1, group: 2, session: 3, state: 'S', name: "a (b) c"}, p)
	for _, bad := range []string{"", "12", "(a) S", "12 (a S", "12 )a( S 1",
		"x (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", "12 (a) S 1 2"} {
		_, ok := parseStat([]byte(bad))
		require.False(t, ok, bad)
	}
}

func TestFamilyOfUnknownLeaderIsEmpty(t *testing.T) {
	members, err := family(identity{}, cookie("there-is-no-such-fleet", 0), nil)
	require.NoError(t, err)
	require.Empty(t, members, "leader 0 is neither the kernel's group nor the parent of init")
}

func TestInvalidStates(t *testing.T) {
	id := strings.Repeat("A", 26)
	for text, want := range map[string]string{
		`{`:                "remove the file if none of its servers is running",
		`{"schema":"x/1"}`: `has the schema "x/1"`,
		`{"schema":"mlperf-go/server/1","supervisor":{"pid":9}}`: "has the invalid id",
		`{"schema":"mlperf-go/server/1","id":"` + id +
			`","supervisor":{"pid":9},"replicas":[{"leader":{"pid":-1}}]}`: "lists process -1, which cannot be a server",
		`{"schema":"mlperf-go/server/1","id":"` + id +
			`","supervisor":{"pid":9},"replicas":[{"leader":{"pid":1}}]}`: "lists process 1",
		`{"schema":"mlperf-go/server/1","id":"` + id +
			`","supervisor":{"pid":1},"replicas":[{"leader":{"pid":5}}]}`: "cannot be a server",
		`{"schema":"mlperf-go/server/1","id":"` + id +
			`","supervisor":{"pid":5},"replicas":[{"leader":{"pid":5}}]}`: "lists process 5",
		`{"schema":"mlperf-go/server/1","id":"` + id +
			`","supervisor":{"pid":5},"replicas":[{"processes":[{"pid":0}]}]}`: "lists process 0",
		`{"schema":"mlperf-go/server/1","id":"` + id +
			`","supervisor":{"pid":5},"replicas":[{"processes":[{"pid":5}]}]}`: "lists process 5",
	} {
		_, err := parseState("state", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, err := Down(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestDownSweepsWhatADeadSupervisorLeft(t *testing.T) {
	dir := t.TempDir()
	id := strings.Repeat("B", 26)
	file := filepath.Join(dir, "pids")
	// The leader has ended, and its child has another session: only the cookie identifies the child.
	leader := exec.Command("sh", "-c", "setsid sh -c 'echo $$ > "+file+"; trap \"\" TERM; while :; do sleep 0.1; done' &")
	leader.Env = append(os.Environ(), cookieName+"="+cookie(id, 0))
	require.NoError(t, leader.Run())
	var left proc
	require.Eventually(t, func() bool {
		b, _ := os.ReadFile(file) // the file may not exist yet
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil {
			left, _ = readProc(pid)
		}
		return left.PID > 0
	}, 5*time.Second, 10*time.Millisecond)
	s := State{Schema: Schema, ID: id, Supervisor: identity{PID: 1 << 22, Start: 1},
		Replicas: []ReplicaState{{Leader: identity{PID: leader.Process.Pid, Start: 1}}, {}}}
	s.Space = "another start, another container"
	writeState(t, dir, s)
	_, err := Down(dir)
	require.ErrorContains(t, err, "before this machine's last boot")
	require.True(t, left.alive())

	s.Space, err = pidSpace()
	require.NoError(t, err)
	writeState(t, dir, s)
	got, err := Down(dir)
	require.NoError(t, err)
	require.Len(t, got.Replicas, 2)
	require.False(t, left.alive())
}

// stranger starts a process that belongs to no server: a session whose leader has exited, with a remaining child. It
// returns the leader's PID, which only that session still uses, and the child.
func stranger(t *testing.T) (leader int, child proc) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command("sh", "-c", "sleep 60 & echo $! > "+file+".new; mv "+file+".new "+file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, cmd.Run())
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	require.NoError(t, err)
	child, ok := readProc(pid)
	require.True(t, ok)
	require.Equal(t, cmd.Process.Pid, child.session)
	t.Cleanup(func() { _ = signalOne(child.identity, syscall.SIGKILL) })
	return cmd.Process.Pid, child
}

// A reused number belongs to another process, group or session. Down leaves those alone, whatever a state file
// contains.
func TestDownSparesReusedNumbers(t *testing.T) {
	space, err := pidSpace()
	require.NoError(t, err)
	leader, child := stranger(t)
	_, other := stranger(t)
	reused := func(p proc) identity { return identity{PID: p.PID, Start: p.Start - 1} }
	for name, s := range map[string]State{
		"the leader's number is a session's": {Replicas: []ReplicaState{{Leader: identity{PID: leader, Start: 1}}}},
		"the leader's number is a process's": {Replicas: []ReplicaState{{Leader: reused(child)}}},
		"a noted number is a session's": {Replicas: []ReplicaState{{Leader: identity{PID: 1 << 22, Start: 1},
			Processes: []Process{{identity: identity{PID: leader, Start: 1}}}}}},
		"a noted number is a process's": {Replicas: []ReplicaState{{Leader: identity{PID: 1 << 22, Start: 1},
			Processes: []Process{{identity: reused(child)}}}}},
		"the supervisor's number is a process's": {Supervisor: reused(other), Replicas: []ReplicaState{{}}},
	} {
		dir := t.TempDir()
		s.Schema, s.ID, s.Space = Schema, strings.Repeat("C", 26), space
		if s.Supervisor.PID == 0 {
			s.Supervisor = identity{PID: 1<<22 - 1, Start: 1}
		}
		writeState(t, dir, s)
		_, err := Down(dir)
		require.NoError(t, err, name)
		require.True(t, child.alive(), name)
		require.True(t, other.alive(), name)
	}
	require.NoError(t, signalOne(reused(child), syscall.SIGKILL))
	require.True(t, child.alive())
	require.NoError(t, signalOne(child.identity, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !child.alive() }, 5*time.Second, time.Millisecond)
}

// If one process of a session proves that it belongs to a replica, the whole session does, even processes that
// overwrote their environment.
func TestDownEndsASessionWithAWitness(t *testing.T) {
	space, err := pidSpace()
	require.NoError(t, err)
	leader, child := stranger(t)
	s := State{Schema: Schema, ID: strings.Repeat("D", 26), Space: space, Supervisor: identity{PID: 1 << 22, Start: 1}}
	s.Replicas = []ReplicaState{{Leader: identity{PID: leader, Start: 1},
		Processes: []Process{{identity: child.identity}}}}
	dir := t.TempDir()
	writeState(t, dir, s)
	_, err = Down(dir)
	require.NoError(t, err)
	require.False(t, child.alive())
}

func TestDownRejectsStatesOfOtherUsers(t *testing.T) {
	_, child := stranger(t)
	space, err := pidSpace()
	require.NoError(t, err)
	s := State{Schema: Schema, ID: strings.Repeat("E", 26), Space: space, Supervisor: child.identity,
		Replicas: []ReplicaState{{}}}
	dir := t.TempDir()
	path := filepath.Join(dir, StateName)
	writeState(t, dir, s)
	require.NoError(t, os.Chmod(path, 0o666))
	_, err = Down(dir)
	require.ErrorContains(t, err, "stop the servers as the user who started them")
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.Rename(path, path+".real"))
	require.NoError(t, os.Symlink(path+".real", path))
	_, err = Down(dir)
	require.ErrorContains(t, err, "stop the servers as the user who started them")
	require.True(t, child.alive())
}

// The guard checks again that the PID belongs to the leader.
func TestGuardSparesAnotherProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // the process is killed
	}()
	self, ok := readProc(cmd.Process.Pid)
	require.True(t, ok)
	for _, start := range []uint64{self.Start + 1, self.Start} {
		g, err := startGuard(identity{PID: self.PID, Start: start})
		require.NoError(t, err)
		require.NoError(t, g.life.Close()) // as happens when this process ends
		require.NoError(t, g.cmd.Wait())
		if start != self.Start {
			require.True(t, self.alive())
		}
	}
	require.Eventually(t, func() bool { return !self.alive() }, 5*time.Second, time.Millisecond)
}

// Empty and relative elements of PATH may be writable by others.
func TestProgramsComeFromAbsoluteFolders(t *testing.T) {
	folder, good := t.TempDir(), t.TempDir()
	t.Chdir(folder)
	for _, at := range []string{folder, filepath.Join(folder, "bin"), good} {
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(at, "bash"), []byte("#!/bin/sh\n"), 0o755))
	}
	for _, path := range []string{"", ":", ".", "bin", ":" + "bin" + ":.:"} {
		_, err := lookPath("bash", []string{"PATH=" + path})
		require.ErrorContains(t, err, "is not in the absolute folders of PATH", "%q", path)
		got, err := lookPath("bash", []string{"PATH=" + path + ":" + good})
		require.NoError(t, err)
		require.Equal(t, filepath.Join(good, "bash"), got)
	}
	c := Config{Venv: "/venv"}
	for _, ours := range [][]string{nil, {"PATH="}, {"PATH=/bin"}} {
		path, _ := lookup(c.environ(ours, GPUs{}, 0), "PATH")
		require.NotContains(t, filepath.SplitList(path), "", path)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte("old run\nloading 1%\rloading 99%\r\n\x1b[31mred\x1b[2J\n"+
		strings.Repeat("x", 600)+"\nend\xff\n\n"), 0o644))
	got, err := tail(path, 8, strings.ToUpper)
	require.NoError(t, err)
	require.Equal(t, []string{"LOADING 99%", "RED\\u001b[2J", strings.Repeat("X", 500) + "...", "END\ufffd"}, got)
	got, err = tail(path, 1<<20, strings.ToUpper)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = tail(path+"x", 0, strings.ToUpper)
	require.ErrorContains(t, err, "read the server's log")

	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("line\n", 1<<16)), 0o644))
	got, err = tail(path, 0, strings.ToUpper)
	require.NoError(t, err)
	require.Len(t, got, tailLines)
}

func writeState(t *testing.T, dir string, s State) {
	t.Helper()
	f := Fleet{plan: &Plan{Dir: dir}, state: s}
	require.NoError(t, f.write())
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 20"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseStat(b) })
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"schema":"mlperf-go/server/1","id":"AAAAAAAAAAAAAAAAAAAAAAAAAA","supervisor":{"pid":9},"replicas":[{"leader":{"pid":12}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState("fuzz", b)
		if err != nil {
			return
		}
		for _, r := range s.Replicas {
			require.True(t, r.Leader.PID == 0 || r.Leader.PID > 1)
			for _, m := range r.Processes {
				require.Greater(t, m.PID, 1)
			}
		}
	})
}

func FuzzLastState(f *testing.F) {
	f.Add("a\rb\x1b[0m\r")
	f.Fuzz(func(t *testing.T, line string) {
		got := lastState(line)
		require.LessOrEqual(t, len(got), lineBytes+len("..."))
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x1b")
		require.NotContains(t, got, "\r")
	})
}
