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
