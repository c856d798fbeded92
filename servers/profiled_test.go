package servers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every way to configure a profiler is found; look-alikes are not.
func TestProfilersAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"server_args: {profiler_config: {profiler: torch, torch_profiler_dir: /p}}": "the argument --profiler-config",

		"profile: {enabled: true, tool: pytorch}":                            "the profile block: pytorch",
		"env_vars: {VLLM_TORCH_PROFILER_DIR: /tmp/p}":                        "the variable VLLM_TORCH_PROFILER_DIR",
		"env_vars: {SGLANG_TORCH_PROFILER_DIR: /tmp/p}":                      "the variable SGLANG_TORCH_PROFILER_DIR",
		"server_args: [--profiler-config.profiler=cuda]":                     "the argument --profiler-config.profiler",
		"server_args: [--profiler_config, '{\"profiler\":\"cuda\"}']":        "the argument --profiler-config",
		"backend: sglang\nserver_args: [--enable-layerwise-nvtx-marker]":     "the argument --enable-layerwise-nvtx-marker",
		"launch_command: [/opt/bin/nsys, profile, -o, x, vllm, serve]":       "the program nsys",
		"launch_command: [numactl, -N, '0', rocprofv3, --, vllm, serve]":     "the program rocprofv3",
		"pre_start: ['export VLLM_TORCH_PROFILER_DIR=/tmp/p && true']":       "the variable VLLM_TORCH_PROFILER_DIR",
		"pre_start: ['exec /usr/bin/nsys profile -o x \"$@\"']":              "the program nsys",
		"env_vars: {VLLM_TORCH_PROFILER_DIR: '', VLLM_ENABLE_PROFILER: '0'}": "",
		"server_args: {profiler_config: {}}":                                 "",
		"server_args: [--profiler-config, '{\"profiler\": null}']":           "",
		"server_args: [--served-model-name, profile]":                        "",

		"env_vars: {MY_PROFILER_NOTES: none}\npre_start: ['echo profile # nsys is not used']": "",
	} {
		p := plan(t, "model: m\n"+text, Options{GPUsPerReplica: unset})
		found := strings.Join(p.Profilers, "; ")
		if want == "" {
			require.Empty(t, found, text)
			require.NotContains(t, strings.Join(p.Notes, ";"), "profiled", text)
			continue
		}
		require.Contains(t, found, want, text)
		require.Contains(t, strings.Join(p.Notes, ";"), "the servers are profiled (", text)
	}
	p := plan(t, "model: m", Options{GPUsPerReplica: unset, Environ: []string{"VLLM_TORCH_PROFILER_DIR=/tmp"}})
	require.Equal(t, []string{"the variable VLLM_TORCH_PROFILER_DIR"}, p.Profilers,
		"of the environment that the servers inherit")
}

// Profilers exported by pre_start are found after it has run.
func TestExportedProfilersAreFound(t *testing.T) {
	p := childPlan(t, "serve", 1, fmt.Sprintf("pre_start: ['eval export VLLM_TORCH_PROFILE%s']", "R_DIR=/tmp"))
	p.Profilers = nil
	f, err := Start(t.Context(), p, nil)
	require.NoError(t, err)
	state := f.State()
	require.Equal(t, []string{"the variable VLLM_TORCH_PROFILER_DIR"}, state.Facts(time.Time{}, time.Now()).Profilers)
	require.NoError(t, f.Stop())
}
