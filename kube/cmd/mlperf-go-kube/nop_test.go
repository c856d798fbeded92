package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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

// sleepyFiles are an engine with sleep mode in its log. After its start, a server on the same port appends to the log:
// containers of the test cluster share the network of the host.
var sleepyFiles = map[string]string{
	"sleepy": `case "$* $VLLM_SERVER_DEV_MODE" in *--enable-sleep-mode*1) exec tail -n +1 -f /usr/local/bin/sleepy.log;; esac
exit 7
`,
	"sleepy.log": strings.Replace(engineFiles["engine.log"], "'org/m'}", "'org/m', 'enable_sleep_mode': True}", 1),
}

// TestNopSleeps: a server with sleep mode is put to sleep and woken through a forwarded port, once; its log then
// contains both times. A server without the routes is reported without them, and a note has the reason.
func TestNopSleeps(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	image := kubetest.Image(t)
	image.Name = "example/sleepy:1"
	for name, text := range sleepyFiles {
		require.NoError(t, os.WriteFile(filepath.Join(image.Folders["/usr/local/bin"], name), []byte(text), 0o755))
	}
	log := filepath.Join(image.Folders["/usr/local/bin"], "sleepy.log")
	tc.Reserved("sleepy", "sleepy", image)
	ns := serving(t, tc)
	kubeconfig := tc.UserKubeconfig(false)
	nop := func(routes map[string]string) (out, errs, result string) {
		port := tc.Port()
		mux := http.NewServeMux()
		mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
		for route, line := range routes {
			mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
				f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = fmt.Fprint(f, line)
				}
				if err != nil || f.Close() != nil {
					t.Errorf("the log: %v", err)
				}
				fmt.Fprintf(w, `{"is_sleeping":%t}`, r.Method == http.MethodGet)
			})
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		require.NoError(t, err)
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}}
		server.Start()
		defer server.Close()
		file := write(t, fmt.Sprintf("backend: vllm\nmodel: org/m\nlaunch_command: [/bin/sh, /usr/local/bin/sleepy]\n"+
			"stop_timeout: 5s\nport: %d\n", port))
		folder := t.TempDir()
		code, out, errs := kube("nop", "--sleep-mode", "--kubeconfig", kubeconfig, "-p", ns, "--image", image.Name,
			"--node-selector", "sleepy=", "--toleration", "sleepy:NoSchedule", "--server-config", file, "-r", folder,
			"--wait-timeout", "1m")
		require.Zero(t, code, errs)
		text, err := os.ReadFile(filepath.Join(folder, "result.yaml"))
		require.NoError(t, err)
		return out, errs, string(text)
	}
	out, errs, _ := nop(nil)
	require.Contains(t, errs, "the sleep mode of the server was not measured: POST /sleep?level=1: the server has no "+
		"such route")
	require.Regexp(t, `Model Loading +5\.000 s`, out)
	require.NotContains(t, out, "freed")

	out, errs, result := nop(map[string]string{"GET /is_sleeping": "", "POST /sleep": `
(EngineCore pid=20) INFO 01-01 00:01:00 [a.py:1] Sleep mode freed 50.5 GiB memory, 1.5 GiB memory is still in use.
(EngineCore pid=20) INFO 01-01 00:01:00 [a.py:2] It took 2.5 seconds to fall asleep.
`, "POST /wake_up": "(EngineCore pid=20) INFO 01-01 00:01:09 [a.py:3] It took 0.75 seconds to wake up.\n"})
	require.NotContains(t, errs, "not measured")
	require.Contains(t, out, "2.500 s, 50.500 GiB freed, 1.500 GiB in use\n")
	require.Regexp(t, `sleep_wake:\n +- timestamp: .+\n +type: sleep\n +time: 2\.5\n(.+\n)+ +type: wake\n +time: 0\.75`,
		result)

	_, errs, _ = nop(nil) // the log contains both already
	require.NotContains(t, errs, "not measured")
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
	t.Setenv("LLMDBENCH_VLLM_COMMON_ENABLE_SLEEP_MODE", "true")
	_, out, _ = kube(at...)
	require.Contains(t, out, "- --enable-sleep-mode\n")
	require.Contains(t, out, "name: VLLM_SERVER_DEV_MODE\n          value: \"1\"\n")
	code, _, errs = kube("nop", "--image", "i", "--server-config", simFile(t, 1))
	require.Equal(t, exit.StatusUsage, code)
	require.Contains(t, errs, "--sleep-mode is for vLLM, and the server file has the backend sim")
	code, _, errs = kube(append(at, "--replicas", "2")...)
	require.Equal(t, exit.StatusUsage, code)
	require.Contains(t, errs, "the start of one pod is reported, not of 2")
}
