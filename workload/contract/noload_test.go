package contract

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/template"
)

func TestCheckLoad(t *testing.T) {
	check := func(variables map[string]string) error { return CheckLoad(Flags{}, template.Map(variables)) }
	require.NoError(t, check(nil))
	for variable, remedy := range map[string]string{"LLMDBENCH_CONTROL_DRY_RUN": "bench plan",
		"LLMDBENCH_HARNESS_SKIP_RUN": "run --skip", "LLMDBENCH_HARNESS_DEBUG": "run --debug"} {
		for value, forbids := range map[string]bool{"1": true, "true": true, "0": false, "false": false, "": false} {
			err := check(map[string]string{variable: value})
			if !forbids {
				require.NoError(t, err, value)
				continue
			}
			require.ErrorContains(t, err, variable+" is set")
			require.ErrorContains(t, err, remedy)
		}
	}
	path := filepath.Join(t.TempDir(), "scenario.sh")
	require.NoError(t, os.WriteFile(path, []byte("export LLMDBENCH_CONTROL_DRY_RUN=1\n"), 0o600))
	require.ErrorContains(t, CheckLoad(Flags{scenario: {path}}, template.Map(nil)), "DRY_RUN is set")
}
