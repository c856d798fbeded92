package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// The test binary starts itself as each step's process. This variable contains the behaviour of the process: ACT,
// FOLDER, SCENARIO, TEST, LIMIT.
const jobVariable = "MLPERF_GO_CAMPAIGN_TEST_STEP"

func TestMain(m *testing.M) {
	if text := os.Getenv(jobVariable); text != "" {
		os.Exit(job(strings.Split(text, "\n")))
	}
	goleak.VerifyTestMain(m)
}

// job is a step's process. It writes the files of its kind of step, without a measurement.
func job(words []string) int {
	act, folder, step, limit := words[0], words[1], Step{models.Scenario(words[2]), words[3]}, words[4]
	switch step.Test {
	case Preflight:
		return map[string]int{"usage": run.ExitUsage, "environment": run.ExitEnvironment}[act]
	case Score:
		if act == "no tokenizer" {
			fmt.Println(`{"error":{"code":"tokenizer","message":"there is no tokenizer"}}`)
			return run.ExitUsage
		}
		reached := act != "low score" && act != "half scored"
		text := fmt.Sprintf(`{"pass":%t,"metrics":[{"name":"rouge1","text":"1.10","min":38.3917,"pass":%[1]t}]}`, reached)
		if act == "half scored" {
			text = `{"pass":null,"metrics":[],"entries":9,"unscored":[{"subset":"a","samples":3,"why":"x"},{"subset":"b","samples":1,"why":"y"}]}`
		}
		err := errors.Join(os.WriteFile(filepath.Join(folder, ScoreRecord), []byte(text), 0o644),
			os.WriteFile(filepath.Join(folder, layout.ScoreFile), nil, 0o644))
		return exitOf(err, map[bool]int{false: run.ExitInvalid}[reached])
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	log := filepath.Join(folder, record.LogFolder, "mlperf_log_detail.txt")
	if err := errors.Join(os.MkdirAll(filepath.Dir(log), 0o755), os.WriteFile(log, []byte("a line\n"), 0o644),
		os.WriteFile(filepath.Join(folder, record.ConfigName), []byte("tpot-limit: "+limit+"\n"), 0o644)); err != nil {
		return exitOf(err, 0)
	}
	sum, err := atomicfile.SHA256(log)
	r := runtest.Record("llama3.1-8b", step.Scenario, step.Mode())
	r.Files["mlperf/mlperf_log_detail.txt"] = sum
	exit := exitOf(err, 0)
	switch act {
	case "invalid":
		r.Verdict, r.Reasons = record.Invalid, []record.Cause{{Code: "failed_samples", Text: "three"}}
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
	case "usage", "environment":
		fmt.Println(`{"error":{"code":"word","message":"the reason"}}`)
		_ = os.RemoveAll(folder)
		return map[string]int{"usage": run.ExitUsage, "environment": run.ExitEnvironment}[act]
	case "no JSON":
		return exitOf(os.WriteFile(filepath.Join(folder, record.FileName), []byte("{"), 0o644), 0)
	case "rehearsal":
		r.Rehearsal, r.RehearsalReasons = true, []string{"a part"}
	case "audit in its place":
		r.Files[record.AuditName] = sum
	case "waits":
		r.Reasons = []record.Cause{{Code: "interrupted", Text: "a signal"}}
		r.Verdict, exit = record.Interrupted, 128+int((<-signals).(syscall.Signal))
	case "deaf":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
		time.Sleep(time.Minute)
	}
	if step.Audit() {
		r.Files[record.AuditName] = sum
		v := compliance.Verdict{Test: step.Test, Pass: act != "audit fails", OK: act != "audit fails"}
		if err := v.Keep(filepath.Join(folder, layout.VerifyFolder)); err != nil {
			return exitOf(err, 0)
		}
		exit = map[bool]int{false: run.ExitInvalid}[v.OK]
	}
	return exitOf(errors.Join(atomicfile.WriteJSON(filepath.Join(folder, record.FileName), r),
		schematest.Check(folder, nil)), exit)
}

func exitOf(err error, otherwise int) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return run.ExitEnvironment
	}
	return otherwise
}

// stage is a campaign over two scenarios with one audit. acts is the behaviour of steps, by Scenario/test or by test;
// all other steps succeed.
type stage struct {
	*Campaign
	t     *testing.T
	acts  map[string]string
	limit string // what tpot-limit is set to
	ran   []string
	logs  *observer.ObservedLogs
}

func newStage(t *testing.T, acts map[string]string) *stage {
	t.Helper()
	s := &stage{t: t, acts: acts, limit: "100ms"}
	s.again(t.TempDir())
	return s
}

// messages returns the messages that the campaign logged.
func (s *stage) messages() []string {
	var texts []string
	for _, e := range s.logs.All() {
		texts = append(texts, e.Message)
	}
	return texts
}

// again returns the campaign of another process in the same folder.
func (s *stage) again(folder string) {
	s.ran = nil
	core, logs := observer.New(zap.InfoLevel)
	s.logs = logs
	steps := Steps([]models.Scenario{models.Offline, models.Server}, []string{"TEST06"}, nil)
	s.Campaign = &Campaign{Runs: Runs{Of: Of{"llama3.1-8b", "sys", "v6.1", "closed"}, Folder: folder}, All: steps,
		Log: zap.New(core)}
	for _, step := range steps {
		t := Task{Step: step}
		if step.IsRun() {
			t.Settings = s.settings(step.Scenario)
		}
		s.Tasks = append(s.Tasks, t)
	}
	self, err := os.Executable()
	require.NoError(s.t, err)
	s.Command = func(t Task) *exec.Cmd {
		s.ran = append(s.ran, t.ID())
		act := s.acts[t.ID()]
		if act == "" {
			act = s.acts[t.Test]
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), jobVariable+"="+
			strings.Join([]string{act, s.folder(t.Step), string(t.Scenario), t.Test, s.limit}, "\n"))
		return cmd
	}
}

// settings returns the settings of a job's config.yaml, as FolderSettings reads them.
func (s *stage) settings(scenario models.Scenario) Settings {
	folder := s.t.TempDir()
	require.NoError(s.t, os.WriteFile(filepath.Join(folder, record.ConfigName), []byte("tpot-limit: "+s.limit+"\n"),
		0o644))
	settings, err := FolderSettings(folder, &record.Record{Scenario: string(scenario)})
	require.NoError(s.t, err)
	return settings
}

func (s *stage) do(ctx context.Context) ([]Outcome, error) {
	s.t.Helper()
	require.NoError(s.t, s.Open(ctx))
	defer s.Close()
	err := s.Run(ctx)
	return s.Outcomes(), err
}

// resume runs the campaign again as another process would, with Resume.
func (s *stage) resume() []Outcome {
	s.t.Helper()
	s.again(s.Folder)
	s.Resume = true
	out, err := s.do(context.Background())
	require.NoError(s.t, err)
	return out
}

// states returns the states of the steps that are not done.
func undone(outcomes []Outcome) map[string]Status {
	states := map[string]Status{}
	for _, o := range outcomes {
		if o.Entry.Status != Done {
			states[o.Step.ID()] = o.Entry.Status
		}
	}
	return states
}

// tests returns the steps of a list that have a run.
func tests(ids []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return strings.HasSuffix(id, "/"+Preflight) ||
			strings.HasSuffix(id, "/"+Score)
	})
}

func TestEveryStepInOrder(t *testing.T) {
	s := newStage(t, nil)
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{
		"Offline/preflight", "Offline/performance", "Offline/accuracy", "Offline/score", "Offline/TEST06",
		"Server/preflight", "Server/performance", "Server/accuracy", "Server/score", "Server/TEST06",
	}, s.ran)
	require.Empty(t, undone(out))
	require.Equal(t, run.ExitValid, ExitCode(out))
	state, err := ReadState(s.Folder)
	require.NoError(t, err)
	require.Equal(t, "llama3.1-8b on sys, round v6.1, closed division", state.Of.String())
	for _, e := range state.Steps {
		require.Equal(t, Done, e.Status, e.ID)
		require.Equal(t, 1, e.Attempts, e.ID)
		require.Positive(t, e.TookS, e.ID)
	}

	require.Empty(t, undone(s.resume()))
	require.Empty(t, s.ran, "what is done and valid is not repeated")
	require.Equal(t, run.ExitValid, ExitCode(s.Outcomes()))
}

func TestInvalidStepSkipsOnlyDependentSteps(t *testing.T) {
	for name, c := range map[string]struct {
		acts map[string]string
		want map[string]Status
		exit int
		code Code
	}{
		"invalid performance": {map[string]string{"Offline/performance": "invalid"},
			map[string]Status{"Offline/performance": Invalid, "Offline/TEST06": Pending}, 1, "failed_samples"},
		"crash": {map[string]string{"Offline/accuracy": "crash"},
			map[string]Status{"Offline/accuracy": Crashed, "Offline/score": Pending}, 70, "crashed"},
		"silent crash": {map[string]string{"Offline/accuracy": "silent crash"},
			map[string]Status{"Offline/accuracy": Crashed, "Offline/score": Pending}, 1, "crashed"},
		"killed": {map[string]string{"Server/performance": "killed"},
			map[string]Status{"Server/performance": Crashed, "Server/TEST06": Pending}, 128 + 9, "killed"},
		"crash after the record": {map[string]string{"Server/performance": "crash after the record"},
			map[string]Status{"Server/performance": Failed, "Server/TEST06": Pending}, 70, "exit"},
		"no JSON": {map[string]string{"Server/performance": "no JSON"},
			map[string]Status{"Server/performance": Crashed, "Server/TEST06": Pending}, 1, "crashed"},
		"score below target": {map[string]string{"Server/score": "low score"}, map[string]Status{"Server/score": Invalid},
			1, "accuracy_below_target"},
		"half scored": {map[string]string{"Server/score": "half scored"},
			map[string]Status{"Server/score": Invalid}, 1, "not_scored"},
		"no tokenizer": {map[string]string{"Server/score": "no tokenizer"},
			map[string]Status{"Server/score": Invalid}, 1, "not_scored"},
		"audit fails": {map[string]string{"Server/TEST06": "audit fails"},
			map[string]Status{"Server/TEST06": Invalid}, 1, "compliance_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, c.acts)
			out, err := s.do(context.Background())
			require.NoError(t, err)
			require.Equal(t, c.want, undone(out))
			require.Equal(t, c.exit, ExitCode(out))
			first := slices.IndexFunc(out, func(o Outcome) bool { return o.Entry.Status != Done })
			require.Equal(t, c.code, out[first].Entry.Code)
			require.NotEmpty(t, out[first].Entry.Why)

			s.acts = nil
			require.Empty(t, undone(s.resume()))
			if name == "crash after the record" { // the record remains, and its verdict is good
				delete(c.want, "Server/performance")
			}
			for id, was := range c.want {
				require.Contains(t, s.ran, id)
				if was != Pending && (Step{Test: filepath.Base(id)}).IsRun() {
					require.DirExists(t, filepath.Join(s.Folder, AsideName, id+"-1"), "what was is kept")
				}
			}
			require.Len(t, tests(s.ran), len(tests(keys(c.want))), "and nothing else was repeated")
		})
	}
}

func keys(m map[string]Status) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	return list
}

func TestAScoreBelowTargetIsAllowedInTheOpenDivision(t *testing.T) {
	s := newStage(t, map[string]string{Score: "low score"})
	s.AnyScore = true
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Empty(t, undone(out))
	require.Equal(t, codeBelowTarget, out[3].Entry.Code, "and the table shows the code")
}

// A score of only some of the answers does not count, in the open division either.
func TestAnswersWithoutAScoreCountInNoDivision(t *testing.T) {
	for act, why := range map[string]string{"half scored": "4 of 9 answers were not scored",
		"no tokenizer": "there is no tokenizer"} {
		s := newStage(t, map[string]string{Score: act})
		s.AnyScore = true
		out, err := s.do(context.Background())
		require.NoError(t, err)
		require.Equal(t, map[string]Status{"Offline/score": Invalid, "Server/score": Invalid}, undone(out))
		require.Contains(t, out[3].Entry.Why, why)
		require.Equal(t, run.ExitInvalid, ExitCode(out))
	}
}

// A score is done when its record and the file of the submission are both there.
func TestAScoreIsBothOfItsFiles(t *testing.T) {
	s := newStage(t, nil)
	_, err := s.do(context.Background())
	require.NoError(t, err)
	folder := s.folder(s.Tasks[8].Step)
	for name, harm := range map[string]func(path string) error{
		layout.ScoreFile:   os.Remove,
		ScoreRecord:        os.Remove,
		"./" + ScoreRecord: func(path string) error { return os.WriteFile(path, []byte("{"), 0o644) },
	} {
		require.NoError(t, harm(filepath.Join(folder, name)))
		require.Empty(t, undone(s.resume()))
		require.Equal(t, []string{"Server/score"}, s.ran, name)
	}
}

// A fault of the input or the machine would stop every step, so it ends the campaign.
func TestBadInputEndsTheCampaign(t *testing.T) {
	for act, exit := range map[string]int{"usage": run.ExitUsage, "environment": run.ExitEnvironment} {
		s := newStage(t, map[string]string{"Offline/accuracy": act})
		out, err := s.do(context.Background())
		require.Equal(t, exit, run.Classify(err).Exit)
		require.EqualError(t, err, "Offline/accuracy could not be run: the reason")
		require.Equal(t, []string{"Offline/preflight", "Offline/performance", "Offline/accuracy"}, s.ran)
		require.Equal(t, Failed, out[2].Entry.Status)
		require.Equal(t, Code("word"), out[2].Entry.Code)
		require.Equal(t, exit, ExitCode(out))
	}
}

func TestAttempts(t *testing.T) {
	s := newStage(t, map[string]string{"Server/performance": "invalid"})
	s.Attempts = 3
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Equal(t, Invalid, undone(out)["Server/performance"])
	require.Equal(t, 3, out[6].Entry.Attempts)
	require.Equal(t, []string{"aside/Server/performance-1", "aside/Server/performance-2"}, out[6].Entry.Aside)
}

// A log has the same score each time, so a low score is not tried again. A missing score is computed again.
func TestALowScoreIsNotTriedAgain(t *testing.T) {
	for act, attempts := range map[string]int{"low score": 1, "no tokenizer": 2} {
		s := newStage(t, map[string]string{"Server/score": act})
		s.Attempts = 2
		out, err := s.do(context.Background())
		require.NoError(t, err)
		require.Equal(t, map[string]Status{"Server/score": Invalid}, undone(out))
		require.Equal(t, attempts, out[8].Entry.Attempts, act)
		require.Equal(t, attempts == 1, OnlyLowScores(out), "and --resume cannot help")
		if act == "low score" {
			require.Equal(t, "the score is below the target: rouge1 1.10, needs at least 38.3917; --division open "+
				"accepts any score", out[8].Entry.Why)
		}
	}
}

// The valid record of an earlier run must not count for a process that died before it wrote its own.
func TestAnEarlierRecordIsNotTheCrashedStepsOwn(t *testing.T) {
	s := newStage(t, nil)
	_, err := s.do(context.Background())
	require.NoError(t, err)
	s.again(s.Folder)
	s.Force, s.acts = true, map[string]string{"Server/accuracy": "killed"}
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Len(t, s.ran, 9, "all but the score that has no answers")
	require.Equal(t, map[string]Status{"Server/accuracy": Crashed, "Server/score": Pending}, undone(out))
	require.Nil(t, out[7].Record)
}

// A changed setting that only affects Server repeats Server's steps with a reason, and leaves Offline done.
func TestAChangedSettingRepeatsOnlyTheStepsItAffects(t *testing.T) {
	s := newStage(t, nil)
	_, err := s.do(context.Background())
	require.NoError(t, err)
	for _, lost := range []bool{false, true} { // with campaign.json, and without
		s.limit = map[bool]string{false: "50ms", true: "70ms"}[lost]
		if lost {
			require.NoError(t, os.Remove(filepath.Join(s.Folder, layout.StateName)))
		}
		s.again(s.Folder)
		s.Resume = true
		s.peek()
		f := s.Look(s.Tasks[6])
		require.Equal(t, []Change{{"tpot-limit", map[bool]string{false: "100ms", true: "50ms"}[lost], s.limit}}, f.Changes)
		out := s.resume()
		require.Empty(t, undone(out))
		require.Equal(t, []string{"Server/performance", "Server/accuracy", "Server/TEST06"}, tests(s.ran))
		require.Contains(t, strings.Join(s.messages(), "\n"), "Server/performance is run again: tpot-limit was ")
	}
}

// For settings that are not in a run's folder, campaign.json shows a change.
func TestAChangedSettingThatOnlyTheStateContains(t *testing.T) {
	s := newStage(t, nil)
	scaled := func(queries string) {
		for _, task := range s.Tasks {
			if task.Audit() {
				task.Settings[KeyAudit] = queries
			}
		}
	}
	scaled("512")
	_, err := s.do(context.Background())
	require.NoError(t, err)
	for _, c := range []struct {
		queries string
		again   []string
	}{{"512", nil}, {"64", []string{"Offline/TEST06", "Server/TEST06"}}} {
		s.again(s.Folder)
		s.Resume = true
		scaled(c.queries)
		out, err := s.do(context.Background())
		require.NoError(t, err)
		require.Empty(t, undone(out))
		require.Equal(t, c.again, tests(s.ran))
	}
	require.Contains(t, s.messages(), "Server/TEST06 is run again: audit-queries was 512 and is 64")
}

// While a step runs, and after the campaign was killed in it, campaign.json contains the step and its settings.
func TestTheStateIsWrittenBeforeAStep(t *testing.T) {
	s := newStage(t, nil)
	command := s.Command
	s.Command = func(task Task) *exec.Cmd {
		state, err := ReadState(s.Folder)
		require.NoError(t, err)
		for i, e := range state.Steps {
			switch before := len(s.ran); {
			case i < before:
				require.Equal(t, Done, e.Status, e.ID)
			case i > before:
				require.Equal(t, Pending, e.Status, e.ID)
				require.Zero(t, e.Attempts, e.ID)
			default:
				require.Equal(t, task.ID(), e.ID)
				require.Equal(t, Active, e.Status)
				require.Equal(t, 1, e.Attempts)
				require.WithinDuration(t, time.Now(), e.Started, time.Minute)
				require.Equal(t, task.Settings, e.Settings)
				require.Equal(t, task.Settings.Hash(), e.Hash)
			}
		}
		return command(task)
	}
	_, err := s.do(context.Background())
	require.NoError(t, err)
	require.Len(t, s.ran, 10)
}

func TestALostStateIsRebuiltFromTheRuns(t *testing.T) {
	s := newStage(t, nil)
	_, err := s.do(context.Background())
	require.NoError(t, err)
	for _, text := range []string{"", "{", `{"schema":"mlperf-go/campaign/9"}`,
		`{"schema":"mlperf-go/campaign/1","steps":[null]}`} {
		path := filepath.Join(s.Folder, layout.StateName)
		require.NoError(t, os.Remove(path))
		if text != "" {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		require.Empty(t, undone(s.resume()))
		require.Empty(t, s.ran)
		state, err := ReadState(s.Folder)
		require.NoError(t, err)
		require.Len(t, state.Steps, 10)
	}
	require.NoError(t, os.Remove(filepath.Join(s.Folder, layout.StateName)))
	state, out, err := Inspect(s.Folder)
	require.NoError(t, err)
	require.Equal(t, "sys", state.System)
	require.Len(t, out, 6)
	require.Empty(t, undone(out))
}

// A log that has changed since its run was judged does not count.
func TestADamagedLogIsMeasuredAgain(t *testing.T) {
	s := newStage(t, nil)
	_, err := s.do(context.Background())
	require.NoError(t, err)
	require.NoError(t, os.Truncate(filepath.Join(s.folder(s.Tasks[6].Step), "mlperf/mlperf_log_detail.txt"), 3))
	_, out, err := Inspect(s.Folder)
	require.NoError(t, err)
	require.Equal(t, map[string]Status{"Server/performance": Crashed}, undone(out))
	require.Empty(t, undone(s.resume()))
	require.Equal(t, []string{"Server/performance"}, tests(s.ran))
	require.Contains(t, strings.Join(s.messages(), "\n"), "mlperf_log_detail.txt was changed after the run")
}

func TestARehearsalDoesNotCountInARealCampaign(t *testing.T) {
	s := newStage(t, map[string]string{layout.Performance: "rehearsal"})
	_, err := s.do(context.Background())
	require.NoError(t, err)
	s.again(s.Folder)
	s.Resume, s.Real, s.acts = true, true, nil
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Empty(t, undone(out))
	require.Equal(t, []string{"Offline/performance", "Server/performance"}, tests(s.ran))
}

// An audit's verdict ignores LoadGen's, so an audit's run is not a performance result.
func TestAnAuditIsNotAPerformanceRun(t *testing.T) {
	s := newStage(t, map[string]string{layout.Performance: "audit in its place"})
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Contains(t, undone(out), "Offline/performance")
	s.again(s.Folder)
	s.Resume, s.acts = true, nil
	out, err = s.do(context.Background())
	require.NoError(t, err)
	require.Empty(t, undone(out))
	require.Contains(t, strings.Join(s.messages(), "\n"), "its folder holds an audit of llama3.1-8b, Offline")
}

func TestFolderBelongsToOneCampaign(t *testing.T) {
	s := newStage(t, nil)
	_, err := s.do(context.Background())
	require.NoError(t, err)
	s.again(s.Folder)
	require.ErrorContains(t, s.Open(context.Background()), "holds an earlier run (Offline/performance)")
	s.Resume = true
	s.Model = "deepseek-r1"
	require.ErrorContains(t, s.Open(context.Background()), "holds another campaign: llama3.1-8b on sys")
}

func TestInterruption(t *testing.T) {
	for name, c := range map[string]struct {
		act   string
		cause error
		exit  int
		state Status
	}{
		"SIGINT":                       {"waits", run.Interrupt{Signal: syscall.SIGINT}, 130, Failed},
		"SIGTERM":                      {"waits", run.Interrupt{Signal: syscall.SIGTERM}, 143, Failed},
		"the caller's own cause":       {"waits", errors.New("enough"), 143, Failed},
		"a child that hears no signal": {"deaf", run.Interrupt{Signal: syscall.SIGINT}, 128 + 9, Crashed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, map[string]string{"Offline/accuracy": c.act})
			s.grace, s.Wait = time.Second, time.Minute
			s.Ready = func(ctx context.Context) error { return ctx.Err() }
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			mark := filepath.Join(s.folder(s.Tasks[2].Step), record.ConfigName)
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
					if _, err := os.Stat(mark); err == nil {
						break
					}
				}
				time.Sleep(300 * time.Millisecond) // the mark is written before the signals are ignored
				cancel(c.cause)
			}()
			out, err := s.do(ctx)
			<-watched
			require.ErrorIs(t, err, c.cause)
			require.Equal(t, c.state, out[2].Entry.Status)
			require.Equal(t, c.exit, out[2].Entry.Exit)
			require.Len(t, s.ran, 3, "nothing is started after a signal")
			require.NotContains(t, strings.Join(s.messages(), "\n"), "its endpoint is gone")
			require.NotZero(t, ExitCode(out))
			s.acts = nil
			require.Empty(t, undone(s.resume()))
		})
	}
}

// After an interruption, steps that the campaign would have repeated are pending, even if their folders have earlier
// results.
func TestAnInterruptionLeavesChangedStepsPending(t *testing.T) {
	for _, force := range []bool{false, true} {
		s := newStage(t, nil)
		_, err := s.do(context.Background())
		require.NoError(t, err)
		s.limit = map[bool]string{true: "100ms", false: "50ms"}[force]
		s.again(s.Folder)
		s.Resume, s.Force = !force, force
		ctx, cancel := context.WithCancel(context.Background())
		s.Begin = func(context.Context) error { // called before the first test
			cancel()
			return ctx.Err()
		}
		out, err := s.do(ctx)
		require.ErrorIs(t, err, context.Canceled)
		left := slices.Sorted(maps.Keys(undone(out)))
		require.Equal(t, map[bool]int{false: 5, true: len(s.Tasks)}[force], len(left), "%v", left)
		require.Contains(t, left, "Server/accuracy")
		require.Contains(t, left, "Server/score", "it is one of the accuracy log")
		require.Nil(t, out[len(out)-1].Record, "the folder has the earlier one")
		_, seen, err := Inspect(s.Folder)
		require.NoError(t, err)
		require.Equal(t, undone(out), undone(seen))
		require.Equal(t, run.ExitInvalid, ExitCode(out))
		s.again(s.Folder)
		s.Resume = true
		require.Empty(t, undone(s.resume()))
	}
}

func TestContextThatHasEnded(t *testing.T) {
	s := newStage(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	require.NoError(t, s.Open(ctx))
	defer s.Close()
	cancel()
	require.ErrorIs(t, s.Run(ctx), context.Canceled)
	require.Empty(t, s.ran)
}

func TestMissingProgram(t *testing.T) {
	s := newStage(t, nil)
	s.Command = func(Task) *exec.Cmd { return exec.Command(filepath.Join(t.TempDir(), "missing")) }
	_, err := s.do(context.Background())
	require.ErrorContains(t, err, "cannot start the process of Offline/preflight")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The campaign waits for an endpoint that disappeared, and repeats the step that failed because of it.
func TestEndpointReturns(t *testing.T) {
	s := newStage(t, map[string]string{"Server/performance": "invalid"})
	asked, gone := 0, 0
	s.Wait = time.Minute
	s.Ready = func(context.Context) error {
		if s.acts != nil && slices.Contains(s.ran, "Server/performance") {
			if gone++; gone == 4 { // the endpoint is back, and works
				s.acts = nil
			}
			return errors.New("connection refused")
		}
		asked++
		return nil
	}
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Empty(t, undone(out))
	require.Equal(t, 4, gone)
	require.Equal(t, 2, out[6].Entry.Attempts)
	require.Contains(t, strings.Join(s.messages(), "\n"), "Server/performance is invalid, and its endpoint is gone")
	require.Contains(t, strings.Join(s.messages(), "\n"),
		"waits up to 1m0s (--wait-endpoint; Ctrl-C ends it): connection refused")
}

// An endpoint that disappears after each attempt and returns before the next does not keep a step running for ever.
func TestIntermittentEndpoint(t *testing.T) {
	s := newStage(t, map[string]string{"Server/performance": "invalid"})
	s.Wait, s.Attempts = time.Minute, 2
	gone := false
	s.Ready = func(context.Context) error {
		if len(s.ran) == 0 || s.ran[len(s.ran)-1] != "Server/performance" {
			return nil
		}
		if gone = !gone; gone {
			return errors.New("connection refused")
		}
		return nil
	}
	out, err := s.do(context.Background())
	require.NoError(t, err)
	require.Equal(t, Invalid, undone(out)["Server/performance"])
	require.Equal(t, regained+2, out[6].Entry.Attempts, "those that the endpoint cost, and the two of any step")
	require.Equal(t, regained, strings.Count(strings.Join(s.messages(), "\n"),
		"Server/performance is invalid, and its endpoint is gone"))
}

// Only a step that failed while its endpoint was gone is run again, and only if the campaign waits for endpoints.
func TestStepsThatAreNotRunAgainForAnEndpoint(t *testing.T) {
	for name, c := range map[string]struct {
		step, act string
		wait      time.Duration
		asked     bool
	}{
		"a step that is done":           {"Server/performance", "", time.Minute, true},
		"a score":                       {"Server/score", "low score", time.Minute, true},
		"an endpoint not waited for":    {"Server/performance", "invalid", 0, true},
		"an endpoint that is not asked": {"Server/performance", "invalid", time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, map[string]string{c.step: c.act})
			s.Wait = c.wait
			if gone := false; c.asked {
				s.Ready = func(context.Context) error {
					if !gone && slices.Contains(s.ran, c.step) {
						gone = true
						return errors.New("connection refused")
					}
					return nil
				}
			}
			out, err := s.do(context.Background())
			require.Equal(t, c.wait == 0, err != nil, "the next step asks once")
			i := slices.IndexFunc(out, func(o Outcome) bool { return o.Step.ID() == c.step })
			require.Equal(t, 1, out[i].Entry.Attempts)
			require.NotContains(t, strings.Join(s.messages(), "\n"), "its endpoint is gone")
		})
	}
}

// The campaign does not wait for a server that will not be started again, neither before a step nor to repeat one.
func TestEndpointHasEnded(t *testing.T) {
	s := newStage(t, map[string]string{"Offline/performance": "invalid"})
	s.Wait = time.Hour
	s.Ready = func(context.Context) error {
		if slices.Contains(s.ran, "Offline/performance") {
			return fmt.Errorf("%w: out of memory", ErrEnded)
		}
		return nil
	}
	out, err := s.do(context.Background())
	require.Equal(t, run.ExitEnvironment, run.Classify(err).Exit)
	require.ErrorContains(t, err, "was not started: the server of an endpoint has ended: out of memory")
	require.Equal(t, Invalid, out[slices.IndexFunc(out,
		func(o Outcome) bool { return o.Step.ID() == "Offline/performance" })].Entry.Status)
	require.NotContains(t, strings.Join(s.messages(), "\n"), "waits up to")
	require.NotContains(t, strings.Join(s.messages(), "\n"), "its endpoint is gone")
}

func TestEndpointDoesNotReturn(t *testing.T) {
	s := newStage(t, nil)
	s.Wait = 10 * time.Millisecond
	s.Ready = func(context.Context) error {
		if len(s.ran) > 4 {
			return errors.New("connection refused")
		}
		return nil
	}
	out, err := s.do(context.Background())
	require.Equal(t, run.ExitEnvironment, run.Classify(err).Exit)
	require.EqualError(t, run.Classify(err).Err, "Server/preflight was not started: connection refused")
	require.Equal(t, Pending, out[5].Entry.Status)
	require.Equal(t, codeEndpoint, out[5].Entry.Code)
	require.Equal(t, run.ExitEnvironment, ExitCode(out))
	require.Empty(t, undone(s.resume()))
	require.Equal(t, []string{"Server/performance", "Server/accuracy", "Server/TEST06"}, tests(s.ran), "Offline was done")
}
