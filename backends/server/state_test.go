package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
	for _, bad := range []string{"", "12", "(a) S", "12 (a S", "12 )a( S 1", "x (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", "12 (a) S 1 2"} {
		_, ok := parseStat([]byte(bad))
		require.False(t, ok, bad)
	}
}

func TestFamilyOfNobodyIsEmpty(t *testing.T) {
	members, err := family(0, cookie("there-is-no-such-fleet", 0), nil)
	require.NoError(t, err)
	require.Empty(t, members, "leader 0 is neither the kernel's group nor the parent of init")
}

func TestStatesThatAreRefused(t *testing.T) {
	id := strings.Repeat("A", 26)
	for text, want := range map[string]string{
		`{`:                "remove it when no server of it runs",
		`{"schema":"x/1"}`: `has the schema "x/1"`,
		`{"schema":"mlperf-go/server/1","supervisor":{"pid":9}}`:                                                          "names no start",
		`{"schema":"mlperf-go/server/1","id":"` + id + `","supervisor":{"pid":9},"replicas":[{"leader":{"pid":-1}}]}`:     "names process -1, which is no server",
		`{"schema":"mlperf-go/server/1","id":"` + id + `","supervisor":{"pid":9},"replicas":[{"leader":{"pid":1}}]}`:      "names process 1",
		`{"schema":"mlperf-go/server/1","id":"` + id + `","supervisor":{"pid":1},"replicas":[{"leader":{"pid":5}}]}`:      "is no server",
		`{"schema":"mlperf-go/server/1","id":"` + id + `","supervisor":{"pid":5},"replicas":[{"leader":{"pid":5}}]}`:      "names process 5",
		`{"schema":"mlperf-go/server/1","id":"` + id + `","supervisor":{"pid":5},"replicas":[{"processes":[{"pid":0}]}]}`: "names process 0",
		`{"schema":"mlperf-go/server/1","id":"` + id + `","supervisor":{"pid":5},"replicas":[{"processes":[{"pid":5}]}]}`: "names process 5",
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
	// A leader that has ended, whose child is in a session of its own: the cookie alone finds it.
	leader := exec.Command("sh", "-c", "setsid sh -c 'echo $$ > "+file+"; trap \"\" TERM; while :; do sleep 0.1; done' &")
	leader.Env = append(os.Environ(), cookieName+"="+cookie(id, 0))
	require.NoError(t, leader.Run())
	var left proc
	require.Eventually(t, func() bool {
		b, _ := os.ReadFile(file) // not there yet
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil {
			left, _ = readProc(pid)
		}
		return left.PID > 0
	}, 5*time.Second, 10*time.Millisecond)
	s := State{Schema: Schema, ID: id, Supervisor: identity{PID: 1 << 22, Start: 1}, Replicas: []ReplicaState{{Leader: identity{PID: leader.Process.Pid, Start: 1}}, {}}}
	s.Space = "another start, another container"
	require.NoError(t, s.write(dir))
	_, err := Down(dir)
	require.ErrorContains(t, err, "before the last start of this one")
	require.True(t, left.alive())

	s.Space, err = numberSpace()
	require.NoError(t, err)
	require.NoError(t, s.write(dir))
	got, err := Down(dir)
	require.NoError(t, err)
	require.Len(t, got.Replicas, 2)
	require.False(t, left.alive())
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte("old run\nloading 1%\rloading 99%\r\n\x1b[31mred\x1b[2J\n"+strings.Repeat("x", 600)+"\nend\xff\n\n"), 0o644))
	got, err := tail(path, 8)
	require.NoError(t, err)
	require.Equal(t, []string{"loading 99%", "red\\u001b[2J", strings.Repeat("x", 500) + "...", "end\ufffd"}, got)
	got, err = tail(path, 1<<20)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = tail(path+"x", 0)
	require.ErrorContains(t, err, "reading the server's log")

	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("line\n", 1<<16)), 0o644))
	got, err = tail(path, 0)
	require.NoError(t, err)
	require.Len(t, got, tailLines)
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
