package tune

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// A plan that cannot be tuned is rejected before anything is written.
func TestPlansThatCannotBeTuned(t *testing.T) {
	audit := filepath.Join(t.TempDir(), "audit.config")
	require.NoError(t, os.WriteFile(audit, []byte("*.*.mode = 2\n"), 0o600))
	for name, c := range map[string]struct {
		settings   plan.Settings
		confidence float64
		code       exit.Code // none: it can be tuned
	}{
		"Server":            {nil, 0.95, ""},
		"least confidence":  {nil, 0.5, ""},
		"little confidence": {nil, 0.49, exit.CodeConfidence},
		"certainty":         {nil, 1, exit.CodeConfidence},
		"no confidence":     {nil, 0, exit.CodeConfidence},
		"accuracy":          {plan.Settings{"mode": "accuracy"}, 0.95, exit.CodeScenario},
		"SingleStream": {plan.Settings{"model": "generic", "scenario": "SingleStream"},
			0.95, exit.CodeScenario},
		"Offline":           {plan.Settings{"scenario": "Offline"}, 0.95, ""},
		"Offline, accuracy": {plan.Settings{"scenario": "Offline", "mode": "accuracy"}, 0.95, exit.CodeScenario},
		"Offline, serial": {plan.Settings{"scenario": "Offline", "offline-strategy": "serial"},
			0.95, exit.CodeOfflineStrategy},
		"a rate":             {plan.Settings{"target-qps": "5"}, 0.95, exit.CodeTargetQPS},
		"an audit":           {plan.Settings{"audit-config": audit}, 0.95, exit.CodeAuditConfig},
		"a profile":          {plan.Settings{"profile-window": "3,4"}, 0.95, exit.CodeSetting},
		"no limit":           {plan.Settings{"model": "generic"}, 0.95, exit.CodeLimit},
		"a limit of its own": {plan.Settings{"model": "generic", "ttft-limit": "1s"}, 0.95, ""},
		"Offline, no limit":  {plan.Settings{"model": "generic", "scenario": "Offline"}, 0.95, ""},
	} {
		s := plan.Settings{"model": "llama3.1-8b", "scenario": "Server", "served-model": "m",
			"endpoint": "http://127.0.0.1:1", "dataset": "none"}
		for k, v := range c.settings {
			s[k] = v
		}
		p, err := plan.New(s)
		require.NoError(t, err, name)
		folder := filepath.Join(t.TempDir(), "tune")
		o := Options{Plan: p, Folder: folder, Confidence: c.confidence}
		if err = (&tuner{Options: o}).check(); c.code == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, c.code, exit.Classify(err).Code, "%s: %v", name, err)
		_, err = Run(t.Context(), o)
		require.Equal(t, c.code, exit.Classify(err).Code, "%s: %v", name, err)
		require.NoDirExists(t, folder, name)
	}
}

// The queries of a tune are those of the run that it confirms: the benchmark's or the user's number, unless early
// stopping needs more.
func TestLeastQueriesOfATune(t *testing.T) {
	for name, c := range map[string]struct {
		settings plan.Settings
		want     int // 0: the default of the run
		warned   bool
	}{
		"benchmark, by default 100": {plan.Settings{"model": "llama3.1-8b"}, 459, false},
		"fewer than it needs":       {plan.Settings{"model": "llama3.1-8b", "min-queries": "20"}, 459, true},
		"as many as it needs":       {plan.Settings{"model": "llama3.1-8b", "min-queries": "459"}, 459, false},
		"more":                      {plan.Settings{"model": "llama3.1-8b", "min-queries": "600"}, 600, false},
		"half late": {plan.Settings{"model": "generic", "ttft-limit": "1s", "latency-percentile": "50"}, 0,
			false},
		"Offline": {plan.Settings{"model": "generic", "scenario": "Offline"}, 0, false},
	} {
		s := plan.Settings{"scenario": "Server", "served-model": "m", "endpoint": "http://127.0.0.1:1", "dataset": "none"}
		for k, v := range c.settings {
			s[k] = v
		}
		p, err := plan.New(s)
		require.NoError(t, err, name)
		require.NoError(t, (&tuner{Options: Options{Plan: p}}).suggest(), name)
		require.Equal(t, c.want > 0, p.Config.IsSet("min-queries"), name)
		require.Equal(t, name == "Offline", p.Config.IsSet("concurrency"), "%s: no limit but that of each loop", name)
		require.Equal(t, c.warned, len(p.Adjusted) > 0, name)
		if c.want > 0 {
			require.Equal(t, c.want, p.Config.Int("min-queries"), name)
		}
	}
}
