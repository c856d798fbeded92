package submission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
)

// The test binary starts itself as each step's process: what that does comes in this variable, as ACT FOLDER SCENARIO MODE.
const jobVariable = "MLPERF_GO_CAMPAIGN_TEST_STEP"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(child(strings.Split(text, "\n")))
	}
	goleak.VerifyTestMain(m)
}

// child is a step that leaves a record without measuring anything.
func child(words []string) int {
	act, folder := words[0], words[1]
	record := &run.Record{Schema: run.Schema, Model: "llama3.1-8b", Scenario: words[2], Mode: words[3], Verdict: run.Valid}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "started"), []byte(strconv.Itoa(os.Getpid())), 0o644)); err != nil {
		return run.ExitEnvironment
	}
	exit := 0
	switch act {
	case "valid":
	case "invalid":
		record.Verdict, record.Reasons = run.Invalid, []run.Cause{{Code: "failed_samples"}}
		exit = run.ExitInvalid
	case "crash":
		return run.ExitBug
	case "silent crash":
		return 0
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "crash after the record":
		exit = run.ExitBug
	case "usage":
		return run.ExitUsage
	case "environment":
		return run.ExitEnvironment
	case "no JSON":
		return exitOf(os.WriteFile(filepath.Join(folder, run.RecordName), []byte("{"), 0o644), 0)
	case "other schema":
		record.Schema = "mlperf-go/run/99"
	case "waits":
		got := (<-signals).(syscall.Signal)
		record.Verdict = run.Interrupted
		exit = 128 + int(got)
	case "deaf":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		time.Sleep(time.Minute)
	}
	return exitOf(atomicfile.WriteJSON(filepath.Join(folder, run.RecordName), record), exit)
}

func exitOf(err error, otherwise int) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return run.ExitEnvironment
	}
	return otherwise
}

// stage is a campaign over both modes of two scenarios, whose steps do what acts says: one for all, or one each.
func stage(t *testing.T, acts ...string) (*Campaign, *[]Step) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	started := &[]Step{}
	c := &Campaign{Steps: Steps([]models.Scenario{models.Offline, models.Server}, t.TempDir())}
	act := func(s Step) string {
		for i, other := range c.Steps {
			if other == s {
				return acts[min(i, len(acts)-1)]
			}
		}
		return ""
	}
	c.Command = func(s Step, _ bool) *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), jobVariable+"="+strings.Join([]string{act(s), s.Folder, string(s.Scenario), string(s.Mode)}, "\n"))
		return cmd
	}
	c.Before = func(i int, s Step) { *started = append(*started, s) }
	return c, started
}

func states(outcomes []Outcome) []State {
	var list []State
	for _, o := range outcomes {
		list = append(list, o.State)
	}
	return list
}

func leave(t *testing.T, s Step, r run.Record) {
	t.Helper()
	require.NoError(t, os.MkdirAll(s.Folder, 0o755))
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, run.RecordName), text, 0o644))
}

func TestStepsInOrder(t *testing.T) {
	c, started := stage(t, "valid")
	out, err := c.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, []State{Done, Done, Done, Done}, states(out))
	require.Equal(t, c.Steps, *started)
	for i, want := range []string{"Offline/performance", "Offline/accuracy", "Server/performance", "Server/accuracy"} {
		require.True(t, strings.HasSuffix(out[i].Step.Folder, want))
		require.Equal(t, run.Valid, out[i].Record.Verdict)
		require.Equal(t, string(c.Steps[i].Mode), out[i].Record.Mode)
		require.Positive(t, out[i].Took)
	}
	require.Equal(t, run.ExitValid, ExitCode(out))
}

func TestAnInvalidOrCrashedStepCostsNoOther(t *testing.T) {
	for act, want := range map[string]struct {
		state State
		exit  int
	}{
		"invalid":                {Done, run.ExitInvalid},
		"crash":                  {Crashed, run.ExitBug},
		"silent crash":           {Crashed, run.ExitInvalid},
		"killed":                 {Crashed, 128 + int(syscall.SIGKILL)},
		"crash after the record": {Done, run.ExitBug},
		"no JSON":                {Crashed, run.ExitInvalid},
		"other schema":           {Crashed, run.ExitInvalid},
	} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			c, started := stage(t, "valid", act, "valid")
			out, err := c.Run(context.Background())
			require.NoError(t, err)
			require.Equal(t, []State{Done, want.state, Done, Done}, states(out))
			require.Len(t, *started, 4)
			require.Equal(t, want.exit, ExitCode(out))
		})
	}
}

// What is wrong with input or machine is so for every step.
func TestBadInputEndsTheCampaign(t *testing.T) {
	for act, exit := range map[string]int{"usage": run.ExitUsage, "environment": run.ExitEnvironment} {
		t.Run(act, func(t *testing.T) {
			c, started := stage(t, "valid", act)
			out, err := c.Run(context.Background())
			require.Equal(t, exit, run.Classify(err).Exit)
			require.EqualError(t, err, "Offline accuracy could not be run; the reason stands above")
			require.Equal(t, []State{Done, Crashed, NotRun, NotRun}, states(out))
			require.Len(t, *started, 2)
			require.Equal(t, exit, ExitCode(out))
		})
	}
}

func TestResume(t *testing.T) {
	c, started := stage(t, "valid")
	c.Resume, c.Wanted = true, Wanted{Model: "llama3.1-8b", Real: true}
	of := func(i int) run.Record {
		return run.Record{Schema: run.Schema, Model: c.Wanted.Model, Scenario: string(c.Steps[i].Scenario), Mode: string(c.Steps[i].Mode), Verdict: run.Valid}
	}
	force := map[string]bool{}
	command := c.Command
	c.Command = func(s Step, f bool) *exec.Cmd {
		force[s.Folder] = f
		return command(s, f)
	}
	leave(t, c.Steps[0], of(0))
	invalid, other, rehearsal := of(1), of(2), of(3)
	invalid.Verdict, other.Model, rehearsal.Rehearsal = run.Invalid, "llama2-70b", true
	leave(t, c.Steps[1], invalid)
	leave(t, c.Steps[2], other)
	leave(t, c.Steps[3], rehearsal)
	out, err := c.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, []State{Skipped, Done, Done, Done}, states(out))
	require.Equal(t, c.Steps[1:], *started, "an invalid run, one of another benchmark and a rehearsal are done again")
	require.Equal(t, map[string]bool{c.Steps[1].Folder: true, c.Steps[2].Folder: true, c.Steps[3].Folder: true}, force)
	require.NoFileExists(t, filepath.Join(c.Steps[0].Folder, "started"))
	require.Equal(t, run.ExitValid, ExitCode(out))

	*started = nil
	out, err = c.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, []State{Skipped, Skipped, Skipped, Skipped}, states(out))
	require.Empty(t, *started)
	require.Equal(t, run.ExitValid, ExitCode(out))
}

func TestForceRunsEveryStep(t *testing.T) {
	c, started := stage(t, "valid")
	for range 2 {
		*started = nil
		out, err := c.Run(context.Background())
		require.NoError(t, err)
		require.Equal(t, []State{Done, Done, Done, Done}, states(out))
		require.Len(t, *started, 4)
		c.Force = true
	}
}

// The valid record of an earlier run must not speak for a process that died before it wrote its own.
func TestAnEarlierRecordIsNotTheCrashedStepsOwn(t *testing.T) {
	c, _ := stage(t, "valid", "valid", "valid", "killed")
	c.Force = true
	leave(t, c.Steps[3], run.Record{Schema: run.Schema, Scenario: "Server", Mode: "accuracy", Verdict: run.Valid})
	out, err := c.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, []State{Done, Done, Done, Crashed}, states(out))
	require.Nil(t, out[3].Record)
	require.Equal(t, 128+int(syscall.SIGKILL), ExitCode(out))
}

func TestInterruption(t *testing.T) {
	for name, c := range map[string]struct {
		act    string
		cause  error
		exit   int
		within time.Duration
		state  State
	}{
		"SIGINT":                       {"waits", run.Interrupt{Signal: syscall.SIGINT}, 130, 3 * time.Second, Done},
		"SIGTERM":                      {"waits", run.Interrupt{Signal: syscall.SIGTERM}, 143, 3 * time.Second, Done},
		"the caller's own cause":       {"waits", errors.New("enough"), 143, 3 * time.Second, Done},
		"a child that hears no signal": {"deaf", run.Interrupt{Signal: syscall.SIGINT}, 128 + int(syscall.SIGKILL), killGrace + 3*time.Second, Crashed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			campaign, started := stage(t, "valid", c.act)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			var cancelled time.Time
			mark := filepath.Join(campaign.Steps[1].Folder, "started")
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				for {
					if _, err := os.Stat(mark); err == nil {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				time.Sleep(100 * time.Millisecond) // the signal's handler stands before the mark; deafness comes after it
				cancelled = time.Now()
				cancel(c.cause)
			}()
			out, err := campaign.Run(ctx)
			<-watched
			require.ErrorIs(t, err, c.cause)
			require.Less(t, time.Since(cancelled), c.within)
			require.Equal(t, []State{Done, c.state, NotRun, NotRun}, states(out))
			require.Equal(t, c.exit, out[1].Exit)
			require.Len(t, *started, 2)
			require.NotZero(t, ExitCode(out))
			if c.state == Done {
				require.Equal(t, run.Interrupted, out[1].Record.Verdict, "what was measured is kept")
			}
		})
	}
}

func TestContextThatHasEnded(t *testing.T) {
	c, started := stage(t, "valid")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, err := c.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []State{NotRun, NotRun, NotRun, NotRun}, states(out))
	require.Empty(t, *started)
}

func TestProgramThatIsNotThere(t *testing.T) {
	c, _ := stage(t, "valid")
	c.Command = func(Step, bool) *exec.Cmd { return exec.Command(filepath.Join(t.TempDir(), "missing")) }
	_, err := c.Run(context.Background())
	require.ErrorContains(t, err, "the process of Offline performance can not be started")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestExitCode(t *testing.T) {
	valid := Outcome{State: Done, Record: &run.Record{Verdict: run.Valid}}
	invalid := Outcome{State: Done, Exit: 1, Record: &run.Record{Verdict: run.Invalid}}
	full := Outcome{State: Done, Exit: 3, Record: &run.Record{Verdict: run.Invalid, Reasons: []run.Cause{{Code: "log_incomplete"}}}}
	for name, c := range map[string]struct {
		outcomes []Outcome
		want     int
	}{
		"none":                          {nil, 0},
		"valid":                         {[]Outcome{valid, {State: Skipped, Record: valid.Record}}, 0},
		"invalid":                       {[]Outcome{valid, invalid}, 1},
		"the first counts":              {[]Outcome{full, invalid}, 3},
		"crashed":                       {[]Outcome{valid, {State: Crashed, Exit: 70}}, 70},
		"crashed without a word":        {[]Outcome{{State: Crashed}}, 1},
		"not run":                       {[]Outcome{valid, {State: NotRun}}, 1},
		"a skipped one is read anew":    {[]Outcome{{State: Skipped, Record: &run.Record{Verdict: run.Interrupted}}}, 1},
		"valid, but the process is not": {[]Outcome{{State: Done, Exit: 70, Record: valid.Record}}, 70},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, ExitCode(c.outcomes)) })
	}
}

func TestReadRecord(t *testing.T) {
	folder := t.TempDir()
	_, err := ReadRecord(folder)
	require.ErrorIs(t, err, os.ErrNotExist)
	for text, want := range map[string]string{"{": "is no JSON", `{"schema":"other"}`: `has the schema "other"`} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, run.RecordName), []byte(text), 0o644))
		_, err := ReadRecord(folder)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, folder)
	}
}
