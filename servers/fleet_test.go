package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/secret"
)

// notes collects the lines that a fleet reports.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, text)
}

func (n *notes) has(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.list, "\n"), text)
}

// leftovers returns the live processes that a plan's children started.
func leftovers(t *testing.T, p *Plan) []string {
	t.Helper()
	var left []string
	all, err := processes()
	require.NoError(t, err)
	for _, q := range all {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", q.PID))
		if err == nil && !q.gone() && strings.Contains(string(b), "SICK="+p.Dir+"/") {
			left = append(left, q.String())
		}
	}
	return left
}

func requireNothingLeft(t *testing.T, p *Plan) {
	t.Helper()
	require.Empty(t, leftovers(t, p))
	for _, r := range p.Replicas {
		require.NoError(t, portFree(r.address))
	}
}

func TestFourReplicasAtOnce(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "7") // inherited; a replica must see only its own GPUs
	t.Setenv("FLEET_TEST_OURS", "ours")
	p := childPlan(t, "env,slow,fork,serve", 4, "debug_mode: true", "gpus: [g0, g1, g2, g3]", "gpus_per_replica: 1")
	var n notes
	f, err := Start(t.Context(), p, n.add)
	require.NoError(t, err)
	s, err := ReadState(p.Dir)
	require.NoError(t, err)
	require.True(t, s.AllReady())
	require.Len(t, s.Replicas, 4)
	leaders := map[int]bool{}
	for i, r := range s.Replicas {
		leaders[r.Leader.PID] = true
		require.GreaterOrEqual(t, len(r.Processes), 2, "the leader and what it forked")
		require.True(t, n.has(fmt.Sprintf("replica %d (%s) is ready after", i, r.URL)))
		log, err := os.ReadFile(p.Replicas[i].Log)
		require.NoError(t, err)
		require.NotContains(t, string(log), "MLPERF_GO_")
		require.Contains(t, string(log), "env FLEET_TEST_OURS=ours\n")
		require.Contains(t, string(log), "env SICK="+p.Dir+"/sick\n", "of env_vars")
		require.Equal(t, 1, strings.Count(string(log), "CUDA_VISIBLE_DEVICES="))
		require.Contains(t, string(log), fmt.Sprintf("env CUDA_VISIBLE_DEVICES=g%d\n", i))
		require.Contains(t, string(log), fmt.Sprintf("env TRITON_CACHE_DIR=%s/cache/replica-%d/triton_cache_dir\n", p.Dir, i))
		now, ok := readProc(r.Leader.PID)
		require.True(t, ok)
		require.Equal(t, []int{r.Leader.PID, r.Leader.PID}, []int{now.group, now.session})
	}
	require.Len(t, leaders, 4)
	require.Len(t, f.URLs(), 4)

	_, err = Start(t.Context(), p, nil)
	require.ErrorContains(t, err, "stop them with `mlperf-go server down`")

	require.NoError(t, f.Stop())
	require.NoError(t, f.Stop())
	requireNothingLeft(t, p)
	for i, r := range f.State().Replicas {
		require.Equal(t, Stopped, r.Health)
		require.Equal(t, &Leftover{Checked: len(s.Replicas[i].Processes), Alive: []Process{}}, r.AfterStop)
		require.Equal(t, r.Leader, r.Processes[slices.IndexFunc(r.Processes,
			func(m Process) bool { return m.PID == r.Leader.PID })].identity)
	}
}

// debug_mode checks the recorded processes itself and does not trust the stop: here nothing was stopped.
func TestDebugModeReportsRemainingProcesses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	self, ok := readProc(os.Getpid())
	require.True(t, ok)
	alive, ended := Process{identity: self.identity, Name: "alive"},
		Process{identity: identity{self.PID, self.Start + 1}, Name: "ended"}
	r := Replica{URL: "http://" + l.Addr().String(), address: l.Addr().String()}
	var n notes
	f := &Fleet{plan: &Plan{Dir: t.TempDir(), Debug: true, Replicas: []Replica{r}}, notify: n.add,
		state: State{Replicas: []ReplicaState{{Processes: []Process{ended, alive}}}}}
	f.lookBack(r)
	require.Equal(t, &Leftover{Checked: 2, Alive: []Process{alive}, Listening: true}, f.State().Replicas[0].AfterStop)
	require.True(t, n.has("left 1 of its 2 processes running"))
	require.ErrorContains(t, errors.Join(f.errs...), "left processes running after its stop: [alive")
}

func TestServersThatDoNotServe(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	for _, c := range []struct {
		name, mode string
		more       []string
		want       []string
	}{
		{"dies at once", "die", nil, []string{"replica 0 (http://127.0.0.1:", "exited (exit status 7)", "the end of its log",
			"\nline 10 before the end\n", "line 59 before the end"}},
		{"hangs", "hang", []string{"startup_timeout: 0.5"},
			[]string{"did not serve some-llm: not ready within startup_timeout (a large model may need longer); " +
				"the last answer was:", "connection refused", "is empty"}},
		{"hangs and ignores SIGTERM", "ignore,hang", []string{"startup_timeout: 0.5", "stop_timeout: 0.2"},
			[]string{"not ready within startup_timeout"}},
		{"goes to the background", "fork=session,env", nil,
			[]string{"exited (exit status 0): a server must stay in the foreground", "the end of its log"}},
		{"dies and leaves a child", "fork=session,fork,die", nil, []string{"exit status 7"}},
		{"another model", "model=other,serve", nil,
			[]string{"another model is served", "lists other but not some-llm; correct model or served_model"}},
		{"is sick", "serve", []string{"startup_timeout: 5"}, []string{"/health: status 503"}},
		{"wants a key", "serve=key", []string{"startup_timeout: 5"}, []string{"/v1/models: status 401"}},
		{"pre_start fails", "serve", []string{"pre_start: ['echo preparing', 'false']"},
			[]string{"its pre_start commands exited (exit status 1)", "preparing"}},
		{"no such program", "serve", []string{"launch_command: [no-such-server]"},
			[]string{"was not started", `the program "no-such-server" is not in the absolute folders of PATH`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The server must start on the busiest machine, so it gets much time.
			if strings.HasPrefix(c.mode, "serve") && c.more != nil {
				t.Parallel()
			}
			p := childPlan(t, c.mode, 1, c.more...)
			if c.name == "is sick" {
				require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "sick"), nil, 0o644))
			}
			_, err := Start(t.Context(), p, nil)
			require.Error(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "line 9 before the end", "50 lines are enough")
			requireNothingLeft(t, p)
			s, err := ReadState(p.Dir)
			require.NoError(t, err)
			require.False(t, s.AllReady())
			require.Equal(t, Dead, s.Replicas[0].Health)
		})
	}
	t.Run("port taken", func(t *testing.T) {
		p := childPlan(t, "serve", 1)
		p.Replicas[0].address = busy.Addr().String()
		_, err := Start(t.Context(), p, nil)
		require.ErrorContains(t, err, "replica 0 cannot listen on "+busy.Addr().String())
		require.ErrorContains(t, err, "address already in use; stop the program that listens there")
	})
}

func TestOneOfFourDiesAtOnce(t *testing.T) {
	p := childPlan(t, "slow,serve", 4)
	p.Replicas[2].Env[modeName] = "die"
	_, err := Start(t.Context(), p, nil)
	require.ErrorContains(t, err, "replica 2 ")
	requireNothingLeft(t, p)
}

func TestAServerThatDiesLater(t *testing.T) {
	p := childPlan(t, "later,fork,fork=stranger,serve", 2)
	p.Replicas[0].Env[modeName] = "serve"
	f, err := Start(t.Context(), p, nil)
	require.NoError(t, err)
	require.NoError(t, f.Ended())
	require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "sick.end"), nil, 0o644))
	err = f.Wait(t.Context())
	require.ErrorContains(t, err, "replica 1 ")
	for range 2 {
		require.ErrorContains(t, f.Ended(), "exited by itself; its log is "+p.Replicas[1].Log)
	}
	require.ErrorContains(t, err, "exited (exit status 9); the end of its log")
	require.ErrorContains(t, err, "out of memory")
	s := f.State()
	require.Equal(t, []Health{Ready, Dead}, []Health{s.Replicas[0].Health, s.Replicas[1].Health})
	require.NotNil(t, s.Replicas[1].Died)
	require.True(t, s.Settled())
	require.Equal(t, "out of memory", s.Replicas[1].LogTail[len(s.Replicas[1].LogTail)-1])
	require.Equal(t, "exit status 9", s.Replicas[1].Exit)
	require.NoError(t, f.Stop())
	requireNothingLeft(t, p)
}

func TestStops(t *testing.T) {
	for _, mode := range []string{"serve", "serve=nohealth", "ignore,serve", "fork,serve", "fork=session,serve",
		"fork=stranger,serve", "ignore,fork,fork=session,fork=stranger,serve"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := childPlan(t, mode, 1)
			p.StopTimeout = 300 * time.Millisecond
			f, err := Start(t.Context(), p, nil)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.NoError(t, f.Wait(ctx))
			require.NotEmpty(t, leftovers(t, p))
			require.NoError(t, f.Stop())
			requireNothingLeft(t, p)
			if strings.HasPrefix(mode, "ignore") {
				require.Equal(t, "signal: killed", f.State().Replicas[0].Exit)
			}
		})
	}
}

// While a large model loads for minutes, progress is reported at intervals.
func TestLongStartIsReported(t *testing.T) {
	p := childPlan(t, "say,hang", 1)
	p.ReportInterval = 10 * time.Millisecond
	ctx, cancel := context.WithCancelCause(t.Context())
	var n notes
	_, err := Start(ctx, p, func(text string) {
		n.add(text)
		if n.has("the last line of its log: loading weights 99%") {
			cancel(errDeadline)
		}
	})
	require.ErrorIs(t, err, errDeadline)
	require.True(t, n.has("has been starting for ") && n.has("s (limit 1m0s): Get "), n.list)
	require.True(t, n.has("connection refused"))
	requireNothingLeft(t, p)
}

func TestAStartThatIsInterrupted(t *testing.T) {
	p := childPlan(t, "fork,hang", 2)
	cause := errors.New("a signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(300*time.Millisecond, func() { cancel(cause) })
	_, err := Start(ctx, p, nil)
	require.ErrorIs(t, err, cause)
	requireNothingLeft(t, p)
}

func TestHeartbeatMarksAServerThatDoesNotAnswer(t *testing.T) {
	p := childPlan(t, "serve", 1)
	var n notes
	f, err := Start(t.Context(), p, n.add)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Stop()) }()
	began := time.Now()
	beats := func() *Beats {
		b, err := ReadBeats(p.Dir, 0, began, time.Now())
		require.NoError(t, err)
		return b
	}
	require.Eventually(t, func() bool { b := beats(); return b.Sent >= 3 && b.Failed == 0 }, 30*time.Second,
		10*time.Millisecond)
	sick := filepath.Join(p.Dir, "sick")
	require.NoError(t, os.WriteFile(sick, nil, 0o644))
	require.Eventually(t, func() bool { return f.State().Replicas[0].Health == Unhealthy }, 30*time.Second,
		10*time.Millisecond)
	require.True(t, n.has("has not answered for"))
	require.True(t, n.has("/health: status 503"))
	require.NoError(t, os.Remove(sick))
	require.Eventually(t, func() bool { return n.has("answers again") }, 30*time.Second, 10*time.Millisecond)
	s, err := ReadState(p.Dir)
	require.NoError(t, err)
	require.Equal(t, Ready, s.Replicas[0].Health)
	require.Equal(t, 1, s.Replicas[0].Unhealthy)
	require.Len(t, s.Replicas[0].Gaps, 1)
	all := beats()
	require.Positive(t, all.Failed)
	require.GreaterOrEqual(t, all.Sent, 3+all.Failed+1)
	gap := s.Replicas[0].Gaps[0]
	require.GreaterOrEqual(t, all.LongestGapS, gap.Until.Sub(gap.From).Seconds())
	require.GreaterOrEqual(t, all.LongestGapS, p.HeartbeatTimeout.Seconds())
	none, err := ReadBeats(p.Dir, 0, began.Add(-time.Hour), began.Add(-time.Minute))
	require.NoError(t, err)
	require.Equal(t, &Beats{LongestGapS: 59 * 60}, none, "of a test that was over before")
}

// A suspended process still holds its port: the kernel accepts connections, but no answer comes.
func TestHeartbeatMarksASuspendedServer(t *testing.T) {
	p := childPlan(t, "serve", 2)
	f, err := Start(t.Context(), p, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Stop()) }()
	began := time.Now()
	leader := f.State().Replicas[1].Leader
	require.NoError(t, syscall.Kill(leader.PID, syscall.SIGSTOP))
	defer func() { require.NoError(t, signalOne(leader, syscall.SIGCONT)) }()
	require.Eventually(t, func() bool { return f.State().Replicas[1].Health == Unhealthy }, 30*time.Second,
		10*time.Millisecond)
	s, err := ReadState(p.Dir)
	require.NoError(t, err)
	gaps := s.Facts(began, time.Now()).Replicas[1].Gaps
	require.Len(t, gaps, 1)
	require.Nil(t, gaps[0].Until)
	require.NotEmpty(t, gaps[0].Error)
	require.NoError(t, signalOne(leader, syscall.SIGCONT))
	require.Eventually(t, func() bool { return f.State().Replicas[1].Health == Ready }, 30*time.Second,
		10*time.Millisecond)
	s, err = ReadState(p.Dir)
	require.NoError(t, err)
	until := s.Facts(began, time.Now()).Replicas[1].Gaps[0].Until
	require.NotNil(t, until)
	require.Empty(t, s.Facts(until.Add(time.Millisecond), time.Now().Add(time.Hour)).Replicas[1].Gaps, "of a later test")
	require.Empty(t, s.Facts(began, time.Now()).Replicas[0].Gaps)
}

func TestPreStartExportsReachTheServer(t *testing.T) {
	p := childPlan(t, "env,serve", 1, "pre_start: ['export MADE_BEFORE=\"two words\" HF_TOKEN=abc', 'sleep 600 &', "+
		"'echo $SICK > $SICK.seen']")
	f, err := Start(t.Context(), p, nil)
	require.NoError(t, err)
	require.NoError(t, f.Stop())
	log, err := os.ReadFile(p.Replicas[0].Log)
	require.NoError(t, err)
	require.Contains(t, string(log), "env MADE_BEFORE=two words\n")
	require.Equal(t, map[string]string{"MADE_BEFORE": secret.Hidden, "HF_TOKEN": secret.Hidden},
		f.State().Replicas[0].Exported)
	require.FileExists(t, filepath.Join(p.Dir, "sick.seen"))
}

// The kernel kills the leader when its supervisor dies; the guard kills the group, which the kernel does not.
func TestNothingOutlivesASupervisorThatIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	text := childFile(t, "ignore,fork,serve", 2)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	p := plan(t, text, Options{GPUsPerReplica: unset})
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), superviseName+"="+file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out strings.Builder
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		s, err := ReadState(p.Dir)
		return err == nil && s.AllReady()
	}, 60*time.Second, 10*time.Millisecond)
	require.GreaterOrEqual(t, len(leftovers(t, p)), 4)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(leftovers(t, p)) == 0 }, 30*time.Second, 10*time.Millisecond,
		out.String())
	requireNothingLeft(t, p)
	s, err := ReadState(p.Dir)
	require.NoError(t, err)
	require.False(t, s.Running())
	require.False(t, s.AllReady())
	_, err = Down(p.Dir)
	require.NoError(t, err)
}
