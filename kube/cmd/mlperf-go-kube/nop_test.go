package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/startup"
)

// engineFiles are an engine that writes the log of a vLLM server with the load format in its arguments, and then serves
// as the simulator. It ends at once if the command before it has not run, or if full logging is off.
var engineFiles = map[string]string{
	"engine": `while [ $# -gt 0 ]; do
  case $1 in --port) port=$2;; --load-format) format=$2;; esac
  shift
done
[ "$PREPARED" = 1 ] && [ -e /tmp/preprocessed ] || { echo "not prepared"; exit 9; }
[ "$VLLM_LOGGING_LEVEL" = DEBUG ] || exit 8
sed "s/FORMAT/$format/" /usr/local/bin/engine.log
exec /usr/local/bin/mlperf-go sim --listen 0.0.0.0:$port
`,
	"prepare.sh": "export PREPARED=1\n",
	"engine.log": `(APIServer pid=10) INFO 01-01 00:00:03 [utils.py:233] non-default args: {'model': 'org/m'}
(APIServer pid=10) INFO 01-01 00:00:03 [api_server.py:1] vLLM API server version 0.24.0
(APIServer pid=10) INFO 01-01 00:00:04 [model.py:4] Using max model len 4096
(EngineCore pid=20) INFO 01-01 00:00:06 [core.py:5] config: model='org/m', load_format=FORMAT, seed=0
(EngineCore pid=20) INFO 01-01 00:00:07 [runner.py:6] Starting to load model org/m...
(EngineCore pid=20) INFO 01-01 00:00:12 [runner.py:7] Model loading took 10.0 GB and 4.000000 seconds
(APIServer pid=10) INFO 01-01 00:00:32 [api_server.py:16] Starting vLLM API server 0 on http://0.0.0.0:8000
(APIServer pid=10) INFO 01-01 00:00:32 [launcher.py:28] Available routes are:
(APIServer pid=10) INFO 01-01 00:00:33 [launcher.py:36] Route: /metrics, Methods: GET
`}

// TestNop reports the start of a server in a pod for each load format of the contract. A command runs before the
// server.
func TestNop(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	image := kubetest.Image(t)
	image.Name = "example/engine:1"
	for name, text := range engineFiles {
		require.NoError(t, os.WriteFile(filepath.Join(image.Folders["/usr/local/bin"], name), []byte(text), 0o755))
	}
	tc.Reserved("nop", "nop", image)
	ns := serving(t, tc)
	kubeconfig := tc.UserKubeconfig(false)
	nop := func(t *testing.T, name string, more ...string) (folder string, code int, out, errs string) {
		file := write(t, fmt.Sprintf("backend: vllm\nmodel: org/m\nlaunch_command: [/bin/sh, /usr/local/bin/engine]\n"+
			"stop_timeout: 5s\nport: %d\n", tc.Port()))
		folder = t.TempDir()
		code, out, errs = kube(append([]string{"nop", "--kubeconfig", kubeconfig, "-p", ns, "--image",
			image.Name, "--node-selector", "nop=", "--toleration", "nop:NoSchedule",
			"--server-config", file, "-r", folder, "--wait-timeout", "1m", "--name", name}, more...)...)
		return folder, code, out, errs
	}
	t.Run("formats", func(t *testing.T) {
		for i, format := range []string{"safetensors", "tensorizer", "runai_streamer", "fastsafetensors"} {
			t.Run(format, func(t *testing.T) {
				t.Parallel()
				folder, code, out, errs := nop(t, fmt.Sprintf("nop-%d", i), "--load-format", format, "--preprocess",
					"source /usr/local/bin/prepare.sh ; touch /tmp/preprocessed")
				require.Zero(t, code, errs)
				require.Regexp(t, `transfer rate +2\.500 GiB/s`, out)
				require.Regexp(t, `Model Loading +5\.000 s`, out)
				var result struct {
					Scenario struct {
						Format string `yaml:"load_format"`
						Deploy string `yaml:"deploy_methods"`
					}
					Metrics []struct {
						Name  string
						Start *float64 `yaml:"pod_start"`
					} `yaml:"vllm_metrics"`
				}
				require.FileExists(t, filepath.Join(folder, startup.LDBName))
				text, err := os.ReadFile(filepath.Join(folder, "result.yaml"))
				require.NoError(t, err)
				require.NoError(t, yaml.Unmarshal(text, &result))
				require.Equal(t, []string{format, "standalone"}, []string{result.Scenario.Format, result.Scenario.Deploy})
				require.NotNil(t, result.Metrics[0].Start)
				require.Contains(t, string(text), "image: "+image.Name)
				require.Contains(t, string(text), "title: Model Loading")
				dir := filepath.Join(folder, strings.ReplaceAll(result.Metrics[0].Name, " ", "_"))
				categories, err := os.ReadFile(filepath.Join(dir, "categories.log"))
				require.NoError(t, err)
				require.Equal(t, out, string(categories))
				require.FileExists(t, filepath.Join(dir, "vllm.log"))
			})
		}
		t.Run("not prepared", func(t *testing.T) {
			t.Parallel()
			_, code, _, errs := nop(t, "nop-9", "--preprocess", "touch /tmp/other")
			require.Equal(t, exit.StatusEnvironment, code, errs)
			require.Contains(t, errs, "the server ended with code 9, 2 times; the end of its log:\n  | not prepared")
		})
	})
	requireNoServer(t, tc, ns)
}

// TestNopObjects prints the objects of nop: one pod with full logging and its own name.
func TestNopObjects(t *testing.T) {
	t.Setenv("LLMDBENCH_VLLM_COMMON_VLLM_LOAD_FORMAT", "tensorizer")
	t.Setenv("LLMDBENCH_VLLM_STANDALONE_PREPROCESS", "source a.sh ; b.py")
	at := []string{"nop", "-n", "-p", "serving", "--image", "i", "--server-config", "../../../configs/backends/vllm.yaml"}
	code, out, errs := kube(at...)
	require.Zero(t, code, errs)
	for _, want := range []string{"name: vllm-nop\n", "- --load-format\n        - tensorizer\n", "value: DEBUG\n",
		"source a.sh ; b.py\n", "replicas: 1\n"} {
		require.Contains(t, out, want)
	}
	code, _, errs = kube(append(at, "--replicas", "2")...)
	require.Equal(t, exit.StatusUsage, code)
	require.Contains(t, errs, "the start of one pod is reported, not of 2")
}
