package schema_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/schema"
)

// The state of a campaign whose score is too low, and that of the next one, which does a step again.
func TestStatesOfRealCampaignsFitTheSchema(t *testing.T) {
	mlperf, folder := program(t), filepath.Join(t.TempDir(), "out")
	s := compiled(t, "campaign.schema.json", schema.Campaign)
	var state map[string]any
	for _, more := range [][]string{nil, {"--resume", "--set", "performance.max-tokens=100"}} {
		args := append([]string{"--quiet", "submission", "run", "--model", "llama3.1-8b", "--scenario", "Offline",
			"--samples", "16", "--min-queries", "16",
			"--sim-quality", "0.1", "--output-dir", folder}, more...)
		out, err := exec.Command(mlperf, args...).CombinedOutput()
		require.Error(t, err, "%s", out)
		state = read(t, filepath.Join(folder, "campaign.json"))
		require.NoError(t, s.Validate(state), "%s", out)
	}
	step := func(r map[string]any, i int) map[string]any { return r["steps"].([]any)[i].(map[string]any) }
	require.Equal(t, "accuracy_below_target", step(state, 3)["code"])
	require.Equal(t, []any{"aside/Offline/performance-1"}, step(state, 1)["aside"])
	require.Contains(t, step(state, 1), "takes_s")

	for what, change := range map[string]func(map[string]any){
		"another schema":           func(r map[string]any) { r["schema"] = "mlperf-go/campaign/2" },
		"a key that is not known":  func(r map[string]any) { r["extra"] = 1 },
		"a key of a step":          func(r map[string]any) { step(r, 1)["extra"] = 1 },
		"no system":                func(r map[string]any) { delete(r, "system") },
		"a state that is none":     func(r map[string]any) { step(r, 1)["state"] = "lost" },
		"invalid without a reason": func(r map[string]any) { delete(step(r, 3), "code") },
		"a step that is none":      func(r map[string]any) { step(r, 1)["id"] = "performance" },
	} {
		r := clone(t, state)
		change(r)
		require.Error(t, s.Validate(r), what)
	}
}
