package campaign

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/tune"
)

// Only Server and Interactive are tuned, and only if the user set no target.
func TestWhatIsTuned(t *testing.T) {
	both := []models.Scenario{models.Server, models.Interactive}
	for name, c := range map[string]struct {
		qps  string
		set  []string
		want []models.Scenario
	}{
		"no target":             {want: both},
		"a target for all":      {qps: "7"},
		"a target for Server":   {set: []string{"Server.target-qps=7"}, want: both[1:]},
		"the target of Offline": {set: []string{"Offline.target-qps=7"}, want: both},
	} {
		t.Run(name, func(t *testing.T) {
			e := config.New(config.RunSettings())
			flag := func(name, text string) {
				require.NoError(t, e.Set(name, text, config.Origin{Layer: config.FromFlag, Where: "--" + name}))
			}
			flag("model", "llama3.1-8b")
			flag("samples", "8")
			flag("output-dir", t.TempDir())
			if c.qps != "" {
				flag("target-qps", c.qps)
			}
			p, err := New(Options{Settings: e, Set: c.set, Tune: true, RehearsalSize: "tiny"})
			require.NoError(t, err)
			require.NoError(t, p.Bind())
			var tuned []models.Scenario
			for _, task := range p.Tasks {
				if task.Test == Tune {
					tuned = append(tuned, task.Scenario)
				}
				if task.Tuned {
					require.NotContains(t, task.Settings, keyTargetQPS, task.ID())
				}
			}
			require.ElementsMatch(t, c.want, tuned)
		})
	}
}

// All tests of a tuned scenario have as many queries as the run that confirms its tune, for which early stopping needs
// 459: otherwise that run would not count as the performance run.
func TestQueriesOfATunedScenario(t *testing.T) {
	for name, c := range map[string]struct{ size, given, server, offline string }{
		"the default":         {"normal", "", "459", "512"},
		"too few":             {"normal", "20", "459", "20"},
		"more":                {"normal", "600", "600", "600"},
		"a lower percentile":  {"tiny", "", "64", "64"},
		"too few for that p.": {"tiny", "3", "44", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			e := config.New(config.RunSettings())
			flag := func(name, text string) {
				require.NoError(t, e.Set(name, text, config.Origin{Layer: config.FromFlag, Where: "--" + name}))
			}
			flag("model", "llama3.1-8b")
			flag("output-dir", t.TempDir())
			if c.given != "" {
				flag("min-queries", c.given)
			}
			p, err := New(Options{Settings: e, Tune: true, RehearsalSize: c.size})
			require.NoError(t, err)
			require.NoError(t, p.Bind())
			for _, task := range p.Tasks {
				if want := c.server; task.IsRun() || task.Test == Tune {
					if !task.Tuned {
						want = c.offline
					}
					require.Equal(t, want, task.Settings["min-queries"], task.ID())
				}
			}
		})
	}
}

// The tests of a tuned scenario use the confirmed rate. A tune without a confirmed rate is not done.
func TestTestsFollowTheTune(t *testing.T) {
	c := &Campaign{Runs: Runs{Of: Of{Model: "llama3.1-8b", System: "s"}, Folder: t.TempDir()}}
	step := Task{Step: Step{models.Server, Tune}, Tuned: true}
	task := Task{Step: Step{models.Server, layout.Accuracy}, Tuned: true}
	write := func(r *tune.Result) {
		s := tune.State{Schema: tune.Schema, Kind: "tune", Goal: tune.Goal{Percentile: 0.99, Confidence: 0.95,
			Limits: []tune.Limit{{Metric: tune.TTFT, Limit: 1}}}, Result: r}
		text, err := json.Marshal(s)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(c.folder(step.Step), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(c.folder(step.Step), tune.FileName), text, 0o644))
	}
	require.Equal(t, Pending, c.lookTuned(step).Status)
	write(nil)
	require.Equal(t, task, c.follow(task))
	require.Equal(t, codeInterrupted, c.lookTuned(step).Code)
	write(&tune.Result{TargetQPS: 12.5, Why: "drift"})
	require.Equal(t, task, c.follow(task))
	require.Equal(t, CodeNotConfirmed, c.lookTuned(step).Code)
	write(&tune.Result{TargetQPS: 12.5, Confirmed: true, Run: "confirm/1"})
	require.Equal(t, "12.5", c.follow(task).Settings[keyTargetQPS])
	require.Equal(t, Pending, c.lookTuned(step).Status, "its run is gone")
	require.Contains(t, c.lookTuned(step).Why, "has no valid run that confirmed the rate")
	write(&tune.Result{TargetQPS: 12.5, Confirmed: true, Run: "../elsewhere"})
	require.Equal(t, Crashed, c.lookTuned(step).Status, "not a run of this tune")
}

// A tune that was interrupted or has lost its confirming run is continued, unless its settings have changed.
func TestATuneIsContinued(t *testing.T) {
	c := &Campaign{Runs: Runs{Of: Of{Model: "llama3.1-8b", System: "s"}, Folder: t.TempDir()}}
	task := Task{Step: Step{models.Server, Tune}, Tuned: true, Settings: Settings{"min-queries": "459"}}
	for name, r := range map[string]*tune.Result{
		"interrupted": nil, "confirmed": {TargetQPS: 12.5, Confirmed: true, Run: "confirm/1"},
		"not confirmed": {Why: "drift"},
	} {
		p := tune.Probe{Folder: "confirm/1", Measured: tune.Measured{Kind: tune.Confirm, Valid: true, Rate: 12.5,
			Counts: make([]tune.Count, 1)}}
		text, err := json.Marshal(tune.State{Schema: tune.Schema, Kind: "tune", Goal: tune.Goal{Percentile: 0.99,
			Confidence: 0.95, Limits: []tune.Limit{{Metric: tune.TTFT, Limit: 1}}}, Result: r, Probes: []tune.Probe{p}})
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(c.folder(task.Step), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(c.folder(task.Step), tune.FileName), text, 0o644))
		a := attempt{c: c, task: task, entry: &Entry{Settings: task.Settings}}
		require.Equal(t, name != "not confirmed", a.continues(), name)
		a.entry.Settings = Settings{"min-queries": "460"}
		require.False(t, a.continues(), name)
		if name == "confirmed" {
			require.Contains(t, c.lookTuned(task).Why, "the run that confirmed the rate is lost: there is no folder")
		}
	}
}

// A copied run is complete, private files stay private, and links are left out.
func TestCopyOfARun(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	require.NoError(t, os.Mkdir(filepath.Join(from, "mlperf"), 0o700))
	for name, mode := range map[string]os.FileMode{"run.json": 0o644, "mlperf/log": 0o600} {
		require.NoError(t, os.WriteFile(filepath.Join(from, name), []byte(name), mode))
	}
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(from, "link")))
	require.NoError(t, copyRun(from, to))
	for name, mode := range map[string]os.FileMode{"run.json": 0o644, "mlperf/log": 0o600} {
		text, err := os.ReadFile(filepath.Join(to, name))
		require.NoError(t, err)
		require.Equal(t, name, string(text))
		info, err := os.Stat(filepath.Join(to, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
	}
	require.NoFileExists(t, filepath.Join(to, "link"))
}
