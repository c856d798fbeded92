package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
)

// What a confirming run of these tests reads from its environment: its exit code, or -1 for a signal; what it writes;
// and the file for its arguments.
const (
	pretendExit = "TUNE_TEST_EXIT"
	pretendText = "TUNE_TEST_TEXT"
	pretendArgs = "TUNE_TEST_ARGS"
)

// realRun is set for a confirming run that is a run of LoadGen.
const realRun = "TUNE_TEST_RUN"

// TestMain is a confirming run if a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv(realRun) != "" {
		os.Exit(runReally(os.Args[1:]))
	}
	code, err := strconv.Atoi(os.Getenv(pretendExit))
	if err != nil {
		os.Exit(m.Run())
	}
	if err := os.WriteFile(os.Getenv(pretendArgs), []byte(strings.Join(os.Args[1:], "\n")), 0o600); err != nil {
		panic(err)
	}
	fmt.Print(os.Getenv(pretendText))
	if code < 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	os.Exit(code)
}

// runReally runs LoadGen's test, or its search, with the settings in arguments such as --json run --target-qps=5.
// It returns the exit code of the program.
func runReally(args []string) int {
	s := plan.Settings{}
	for _, arg := range args {
		name, value, valued := strings.Cut(arg, "=")
		if !valued {
			value = "true"
		}
		if name, flag := strings.CutPrefix(name, "--"); flag {
			s[name] = value
		}
	}
	peak := s["peak-process"] != ""
	delete(s, "json")
	if peak {
		delete(s, "peak-process")
		delete(s, "mode")
	}
	p, err := plan.New(s)
	if err == nil && peak {
		err = PeakProcess(context.Background(), p, s["output-dir"], silent{})
	} else if err == nil {
		var r *run.Record
		if r, err = run.Run(context.Background(), run.FromPlan(p), nil); err == nil && r.Verdict != record.Valid {
			return exit.StatusInvalid
		}
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return exit.Classify(err).Exit
}

// confirming is a tuner of the model generic, whose confirming runs are those of TestMain.
func confirming(t *testing.T, settings plan.Settings) *tuner {
	s := plan.Settings{"model": "generic", "scenario": "Server", "served-model": "m",
		"endpoint": "http://127.0.0.1:1"}
	if settings["scenario"] == "" {
		s["ttft-limit"] = "1s"
	}
	for k, v := range settings {
		s[k] = v
	}
	p, err := plan.New(s)
	require.NoError(t, err)
	tn := &tuner{Options: Options{Plan: p, Folder: filepath.Join(t.TempDir(), "tune"), Confidence: 0.95},
		state: &State{Goal: Goal{Percentile: 0.99, Limits: []Limit{{TTFT, time.Second}}}}}
	tn.lock, err = child.Acquire(t.Context(), tn.Folder, owner)
	require.NoError(t, err)
	t.Cleanup(tn.lock.Release)
	return tn
}

// pretend sets how the next confirming run ends, and its record; nil: it writes none. It returns the file of its
// arguments.
func (t *tuner) pretend(test *testing.T, run, code int, text string, r *record.Record) (args string) {
	args = filepath.Join(test.TempDir(), "args")
	t.Environ = append(os.Environ(), pretendExit+"="+strconv.Itoa(code), pretendText+"="+text, pretendArgs+"="+args)
	if r != nil {
		folder := filepath.Join(t.Folder, "confirm", strconv.Itoa(run))
		require.NoError(test, os.MkdirAll(folder, 0o700))
		require.NoError(test, atomicfile.Private.WriteJSON(filepath.Join(folder, record.FileName), r))
	}
	return args
}

// What a confirming run means follows from its exit code, the error that it wrote, and its record.
func TestEndOfAConfirmingRun(t *testing.T) {
	ran := func(verdict record.Verdict, reasons ...record.Cause) *record.Record {
		r := runtest.Record("generic", models.Server, models.Performance)
		r.Verdict, r.Reasons = verdict, reasons
		r.Tails = []record.Tail{{What: string(TPOT), Limit: time.Hour, Queries: 400}, // not limited by the tune
			{What: string(TTFT), Limit: time.Second, Queries: 500, Over: 3}}
		return r
	}
	late := record.Cause{Code: record.CodeLoadGenInvalid, Text: "LoadGen: INVALID"}
	lag := record.Cause{Code: record.CodeClientLag, Text: "the client was late"}
	said := func(code exit.Code) string {
		return fmt.Sprintf(`{"error":{"code":%q,"message":"it was so"}}`, code)
	}
	for name, c := range map[string]struct {
		exit    int
		text    string
		record  *record.Record
		valid   bool
		lag     bool
		spoiled string
		err     string
		code    exit.Code
	}{
		"VALID":     {record: ran(record.Valid), valid: true},
		"INVALID":   {exit: exit.StatusInvalid, record: ran(record.Invalid, late)},
		"too late":  {exit: exit.StatusInvalid, record: ran(record.Invalid, lag), lag: true, spoiled: "the client was late"},
		"killed":    {exit: -1, spoiled: "the confirming run: its process was killed by the signal killed"},
		"no server": {exit: 3, text: said(exit.CodeEndpoint), spoiled: "the confirming run: it was so"},
		"disk full": {exit: exit.StatusEnvironment, text: said(exit.CodeDiskFull), err: "failed: it was so",
			code: exit.CodeDiskFull},
		"crashed":                {exit: exit.StatusBug, err: "its process ended with exit code 70"},
		"VALID without a record": {err: "there is no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			tn := confirming(t, nil)
			tn.pretend(t, 1, c.exit, c.text, c.record)
			p, err := tn.confirm(t.Context(), Step{Kind: Confirm, Rate: 12.5})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				var failed *run.Error
				if errors.As(err, &failed) {
					require.Equal(t, []any{c.exit, c.code}, []any{failed.Exit, failed.Code})
				}
				return
			}
			require.NoError(t, err)
			require.Equal(t, []any{c.valid, c.lag}, []any{p.Valid, p.Lag})
			require.Contains(t, p.Spoiled, c.spoiled)
			require.Equal(t, c.spoiled == "", p.Spoiled == "")
			require.Equal(t, []any{Confirm, 12.5, filepath.Join("confirm", "1")}, []any{p.Kind, p.Rate, p.Folder})
			require.Positive(t, p.Took)
			require.Len(t, p.Counts, 1)
			if c.record != nil {
				require.Equal(t, []int{500, 3}, []int{p.Counts[0].Queries, p.Counts[0].Late})
			}
		})
	}
}

// A confirming run has the settings of the tune, the rate and the number in flight of its step, and its own folder.
func TestArgumentsOfAConfirmingRun(t *testing.T) {
	step := Step{Kind: Confirm, Rate: 12.5, InFlight: 7}
	tn := confirming(t, plan.Settings{"max-tokens": "8", "output-dir": "x", "resume": "true", "force": "false"})
	tn.state.Probes = []Probe{{Measured: Measured{Kind: Rate}}, {Measured: Measured{Kind: Confirm}},
		{Measured: Measured{Kind: Confirm}}}
	args := func() []string {
		file := tn.pretend(t, 3, 0, "", runtest.Record("generic", models.Server, models.Performance))
		_, err := tn.confirm(t.Context(), step)
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Split(string(text), "\n")
	}
	tn.Global = []string{"--quiet"}
	got := args()
	require.Equal(t, []string{"--json", "--quiet", "run"}, got[:3])
	require.Subset(t, got, []string{"--max-tokens=8", "--ttft-limit=1s", "--target-qps=12.5", "--force",
		"--output-dir=" + filepath.Join(tn.Folder, "confirm", "3"), "--concurrency=7"})
	line := strings.Join(got, " ")
	for name, times := range map[string]int{"--live": 0, "--resume": 0, "--mode=": 0, "--force": 1, "--output-dir": 1,
		"--target-qps": 1, "--serve-metrics": 0} {
		require.Equal(t, times, strings.Count(line, name), name)
	}
	tn.Live, tn.state.Goal.InFlight = "127.0.0.1:0", 9
	got = args()
	require.Contains(t, got, "--live=127.0.0.1:0")
	require.NotContains(t, got, "--concurrency=7", "the user's own number is among the settings")
	tn.state.Goal.InFlight, step.InFlight = 0, 0
	require.NotContains(t, strings.Join(args(), " "), "--concurrency")

	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	_, err := tn.confirm(ctx, step)
	require.ErrorIs(t, err, stopped)
}

// The folder of an earlier tune is continued with --resume alone, and no folder of something else is.
func TestFoldersOfEarlierTunes(t *testing.T) {
	earlier := &State{Schema: Schema, Kind: "tune", Goal: *statedGoal(), Probes: []Probe{}, Settings: []string{}}
	for name, c := range map[string]struct {
		state  any // nil: none
		other  string
		resume bool
		code   exit.Code
	}{
		"continued":              {earlier, "", true, exit.CodeEndpoint}, // no server
		"not continued":          {earlier, "", false, exit.CodeOutputUsed},
		"a new folder":           {nil, "", false, exit.CodeEndpoint},
		"nothing to continue":    {nil, "", true, exit.CodeEndpoint},
		"unreadable":             {"text", "", true, exit.CodeTuneState},
		"unreadable, without it": {"text", "", false, exit.CodeOutputUsed},
		"the folder of a sweep":  {nil, "sweep.json", true, exit.CodeOutputUsed},
		"of a sweep, without it": {nil, "sweep.json", false, exit.CodeOutputUsed},
	} {
		t.Run(name, func(t *testing.T) {
			tn := confirming(t, nil)
			tn.lock.Release()
			require.NoError(t, os.MkdirAll(tn.Folder, 0o700))
			tn.Resume, tn.Observer = c.resume, silent{}
			if c.state != nil {
				require.NoError(t, atomicfile.Private.WriteJSON(filepath.Join(tn.Folder, FileName), c.state))
			}
			if c.other != "" {
				require.NoError(t, os.WriteFile(filepath.Join(tn.Folder, c.other), []byte("{}"), 0o600))
			}
			_, err := Run(t.Context(), tn.Options)
			require.Equal(t, c.code, exit.Classify(err).Code, err)
		})
	}
}

// silent observes nothing.
type silent struct{}

func (silent) Waiting(string)                       {}
func (silent) Preflighted(*run.Preflight, []string) {}
func (silent) Progress(run.Progress)                {}
func (silent) Begins(Step, time.Duration)           {}
func (silent) Measured(*Probe, time.Duration)       {}
func (silent) Repeats(string)                       {}
