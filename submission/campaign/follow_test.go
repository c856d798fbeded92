package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// On a server of the user's, the load of a rehearsal is a quarter of its Offline rate, and at most the default.
func TestLoadFollowsTheOfflineRun(t *testing.T) {
	c := &Campaign{Runs: Runs{Of: Of{Model: "llama3.1-8b", System: "s"}, Folder: t.TempDir()}}
	task := Task{Step: Step{models.Server, layout.Performance}, MostPerS: 150, Settings: Settings{"a": "b"}}
	require.Equal(t, task, c.follow(task), "not measured yet")
	offline := c.folder(offlineRun)
	require.NoError(t, os.MkdirAll(offline, 0o755))
	write := func(done ledger.Throughput) {
		r := runtest.Record("llama3.1-8b", models.Offline, models.Performance)
		r.Throughput = done
		require.NoError(t, atomicfile.WriteJSON(filepath.Join(offline, record.FileName), r))
	}
	for rate, want := range map[float64]string{0.0812: "0.02", 17.77: "4.4", 412: "100", 9000: "150"} {
		write(ledger.Throughput{Requests: rate})
		got := c.follow(task)
		require.Equal(t, Settings{"a": "b", "target-qps": want}, got.Settings, rate)
		require.Positive(t, got.Load.PerS)
		require.NotContains(t, task.Settings, "target-qps", "the task itself is unchanged")
	}
	write(ledger.Throughput{Requests: 17.77})
	core, lines := observer.New(zap.InfoLevel)
	c.Log = zap.New(core)
	for _, test := range []string{layout.Performance, layout.Accuracy} { // the load is reported once
		c.reportLoad(c.follow(Task{Step: Step{models.Server, test}, MostPerS: 150, Settings: Settings{}}))
	}
	c.reportLoad(c.follow(Task{Step: Step{models.Interactive, layout.Performance}, MostPerS: 2, Settings: Settings{}}))
	require.Equal(t, []string{
		"Server gets 4.4 queries/s: 0.25 times the 17.8 answers/s of Offline/performance (--set Server.target-qps=N sets " +
			"another load)",
		"Interactive gets 2 queries/s: the most that a rehearsal offers; Offline/performance had 17.8 answers/s " +
			"(--set Interactive.target-qps=N sets another load)"}, messages(lines))
	write(ledger.Throughput{})
	require.Equal(t, task, c.follow(task), "an empty run measured nothing")
}

func messages(lines *observer.ObservedLogs) (texts []string) {
	for _, l := range lines.All() {
		texts = append(texts, l.Message)
	}
	return texts
}

// Which tests wait for the Offline run's rate, and which have a rate of their own.
func TestWhoseLoadFollows(t *testing.T) {
	data := filepath.Join(t.TempDir(), "prompts.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"input": "one", "tok_input": [128000, 1001], "output": "x"}`+"\n"),
		0o644))
	server := map[string]string{"endpoint": "http://a:1", "dataset": data, "rehearsal": "true"}
	with := func(name, text string) map[string]string {
		s := map[string]string{name: text}
		for n, v := range server {
			if _, has := s[n]; !has {
				s[n] = v
			}
		}
		return s
	}
	for name, c := range map[string]struct {
		settings map[string]string
		only     []string
		follows  bool
		wrong    string
	}{
		"a server of the user's":      {settings: server, follows: true},
		"without a data set":          {settings: map[string]string{"endpoint": "http://a:1"}, follows: true},
		"a rate of the user's":        {settings: with("target-qps", "3")},
		"the simulator":               {settings: map[string]string{"samples": "8"}},
		"a simulator of the user's":   {settings: with("backend", "sim")},
		"one scenario":                {settings: with("scenario", "Server")},
		"only a part without Offline": {settings: server, only: []string{"Server"}, wrong: "no --target-qps given"},
	} {
		t.Run(name, func(t *testing.T) {
			e := config.New(config.RunSettings())
			for name, text := range c.settings {
				require.NoError(t, e.Set(name, text, config.Origin{Layer: config.FromFlag, Where: "--" + name}))
			}
			require.NoError(t, e.Set("model", "llama3.1-8b", config.Origin{Layer: config.FromFlag}))
			require.NoError(t, e.Set("output-dir", t.TempDir(), config.Origin{Layer: config.FromFlag}))
			p, err := New(Options{Settings: e, Only: c.only})
			require.NoError(t, err)
			require.False(t, p.Real)
			err = p.Bind()
			if c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
				require.Equal(t, run.ExitUsage, run.Classify(err).Exit)
				return
			}
			require.NoError(t, err)
			for _, task := range p.Tasks {
				follows := c.follows && task.IsRun() && task.Scenario != models.Offline
				require.Equal(t, follows, task.MostPerS > 0, task.ID())
			}
		})
	}
}
