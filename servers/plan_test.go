package servers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
)

func eight() GPUs { return GPUs{Vendor: "nvidia", IDs: numbers(8), Note: "8 × test"} }

func plan(t testing.TB, text string, o Options) *Plan {
	t.Helper()
	p, err := NewPlan(parse(t, text), o)
	require.NoError(t, err)
	return p
}

func TestCommandLines(t *testing.T) {
	for text, want := range map[string]string{
		"model: m": "python3 -m vllm.entrypoints.openai.api_server --model m --host 127.0.0.1 --port 8000 --x 1",
		"model: m\nbinary_path: /v/bin/vllm\nport: 9": "/v/bin/vllm serve m --host " +
			"127.0.0.1 --port 9 --x 1",
		"backend: sglang\nmodel: m\nserver_args: {x: 2, tp: 1}": "python3 -m sglang.launch_server " +
			"--model-path m --host 127.0.0.1 --port 8000 --tp 1 --x 1",
		"model: m\nload_format: dummy\nserver_args: [--port, 8000, --model, m]": "python3 -m " +
			"vllm.entrypoints.openai.api_server --model m --host 127.0.0.1 --port 8000 --x 1 --load-format dummy",
		"backend: sglang\nmodel: m\nlogging_level: WARNING": "python3 -m sglang.launch_server " +
			"--model-path m --host 127.0.0.1 --port 8000 --x 1 --log-level warning",
		"model: m\nlaunch_command: [numactl, -N, 0, vllm, serve]": "numactl -N 0 vllm serve m " +
			"--host 127.0.0.1 --port 8000 --x 1",
		"model: m\nlaunch_command: [vllm, serve, m, --x, 3]": "vllm serve m --host " +
			"127.0.0.1 --port 8000 --x 1",
		"model: m\nlaunch_command: [python, -m, vllm.run, --model, old, --port, 1]": "python -m vllm.run --model " +
			"m --host 127.0.0.1 --port 8000 --x 1",
		"backend: sglang\nmodel: m\nlaunch_command: [run.sh, --model-path, old]": "run.sh --model-path m " +
			"--host 127.0.0.1 --port 8000 --x 1",
		"backend: sim\nmodel: m\nlaunch_command: [srv, '--listen={host}:{port}', '{model}']": "srv --listen=127.0.0.1:8000 " +
			"m --x 1",
	} {
		p := plan(t, text, Options{Args: []string{"--x", "1"}, GPUsPerReplica: unset})
		require.Equal(t, want, strings.Join(p.Replicas[0].Command, " "), text)
	}
}

func TestReplicasGetPortsAndGPUs(t *testing.T) {
	p := plan(t, "model: m\nport: 9000\nreplicas: 4\nserver_args: {tensor_parallel_size: 2}\nhost: 0.0.0.0",
		Options{GPUsPerReplica: unset, GPUs: eight(), Dir: "/logs"})
	require.Equal(t, []string{"http://127.0.0.1:9000", "http://127.0.0.1:9001", "http://127.0.0.1:9002",
		"http://127.0.0.1:9003"}, p.URLs())
	for i, want := range []string{"0,1", "2,3", "4,5", "6,7"} {
		require.Equal(t, want, p.Replicas[i].Env["CUDA_VISIBLE_DEVICES"])
	}
	require.Equal(t, "/logs/cache/replica-3/vllm_cache_root", p.Replicas[3].Env["VLLM_CACHE_ROOT"])
	require.Equal(t, "/logs/replica-3.log", p.Replicas[3].Log)
	require.Contains(t, p.Replicas[3].Command, "0.0.0.0")
	require.Equal(t, []string{"GPUs: 8 × test; 2 GPUs per replica, 4 replicas"}, p.Notes)

	p = plan(t, "model: m\nports: [7, 9]", Options{GPUsPerReplica: 4, GPUs: eight()})
	require.Equal(t, []string{"http://127.0.0.1:7", "http://127.0.0.1:9"}, p.URLs())
	require.Contains(t, strings.Join(p.Replicas[1].Command, " "), "--tensor-parallel-size 4")
	require.Equal(t, "4,5,6,7", p.Replicas[1].Env["CUDA_VISIBLE_DEVICES"])

	p = plan(t, "backend: sglang\nmodel: m\nhost: '::'",
		Options{GPUsPerReplica: unset, GPUs: GPUs{Vendor: "amd", IDs: []string{"2", "3"}},
			Environ: []string{"CUDA_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=2,3"}})
	require.Equal(t, "http://[::1]:8000", p.Replicas[0].URL)
	require.Equal(t, "2", p.Replicas[0].Env["ROCR_VISIBLE_DEVICES"])
	require.Equal(t, "0", p.Replicas[0].Env["HIP_VISIBLE_DEVICES"])
	require.Empty(t, p.environ)
}

func TestWithoutGPU(t *testing.T) {
	none := findGPUs(t.TempDir(), hostinfo.Facts{GPUNote: "the driver is absent"}, nil)
	p := plan(t, "model: m", Options{GPUsPerReplica: unset, GPUs: none})
	require.Equal(t, []string{"this machine has no GPU (the driver is absent): the servers are started without one"},
		p.Notes)
	require.Empty(t, p.Replicas[0].GPUs)
	require.NotContains(t, p.Replicas[0].Env, "CUDA_VISIBLE_DEVICES")

	_, err := NewPlan(parse(t, "model: m"), Options{GPUsPerReplica: 1, GPUs: none})
	require.ErrorIs(t, err, ErrGPUs)
	require.ErrorContains(t, err, "not enough GPUs: 1 replica needs 1 (1 each); available: 0 (this machine has no GPU "+
		"(the driver is absent))")
}

func TestInvalidPlans(t *testing.T) {
	for text, want := range map[string]string{
		"model: m\nhost: [a, b]":                                   "lists 2 hosts (a, b)",
		"model: m\nserver_args: [--port, 1]":                       "--port 1, but the file has port 8000",
		"model: m\nserver_args: {model: other}":                    "--model other, but",
		"model: m\nport: 65535\nreplicas: 2":                       "exceed port 65535",
		"backend: sim\nmodel: m\nreplicas: 2\nlaunch_command: [a]": "launch_command has no {port}",
		"model: m\ngpus_per_replica: 2\nserver_args: {tp: 4}":      "need 4 GPUs per replica, but gpus_per_replica is 2",
		"model: m\nserver_args: {tp: x}":                           `--tensor-parallel-size is "x"`,
		"model: m\nserver_args: {tp: 2, pp: 2, dp: 3}":             "1 replica needs 12 (12 each); available: 8 (",
		"model: m\ngpus: [a, b]\nreplicas: 3": "3 replicas need 3 (1 each); available: 2 " +
			"(listed in s.yaml)",
		"model: m\nreplicas: 3\nenv_vars: {CUDA_VISIBLE_DEVICES: '4,5'}": "available: 2 (CUDA_VISIBLE_DEVICES=4,5 in s.yaml)",
	} {
		_, err := NewPlan(parse(t, text), Options{GPUsPerReplica: unset, GPUs: eight()})
		require.ErrorContains(t, err, want, text)
	}
	_, err := NewPlan(parse(t, "model: m\nports: [1, 2]"), Options{Replicas: 3, GPUsPerReplica: unset})
	require.ErrorContains(t, err, "2 ports for 3 replicas")
	_, err = NewPlan(parse(t, "model: m"), Options{Replicas: -1, GPUsPerReplica: unset})
	require.ErrorContains(t, err, "-1 replicas")
}

func TestTheEnvironmentOfReplicas(t *testing.T) {
	p := plan(t, "model: m\nlogging_level: debug\nenv_vars: {A: mine, CUDA_VISIBLE_DEVICES: '3,4', TRITON_CACHE_DIR: "+
		"/fast}", Options{GPUsPerReplica: 2, GPUs: eight(),
		Environ: []string{"A=theirs", "PATH=/bin", "MLPERF_GO_API_KEY=secret", "CUDA_VISIBLE_DEVICES=0"}})
	require.Equal(t, []string{"A=theirs", "PATH=/bin", "VLLM_LOGGING_LEVEL=DEBUG", "A=mine", "TRITON_CACHE_DIR=/fast"},
		p.environ)
	require.Equal(t, "3,4", p.Replicas[0].Env["CUDA_VISIBLE_DEVICES"])
	require.NotContains(t, p.Replicas[0].Env, "TRITON_CACHE_DIR")
}

func TestSecretsAreNotShown(t *testing.T) {
	p := plan(t, "model: m\nserver_args: [--api-key, abc, def, --hf_token=xyz, --seed, 1]", Options{GPUsPerReplica: unset})
	b, err := json.Marshal(p.Shown())
	require.NoError(t, err)
	for _, secret := range []string{"abc", "def", "xyz"} {
		require.NotContains(t, string(b), secret)
		require.Contains(t, strings.Join(p.Replicas[0].Command, " "), secret)
	}
	require.Contains(t, string(b), `"--seed","1"`)
	require.Equal(t, "abc", p.apiKey)
}

func TestFindGPUs(t *testing.T) {
	facts := hostinfo.Facts{GPUs: []hostinfo.GPU{{Name: "some GPU"}, {Name: "some GPU"}}}
	require.Equal(t, GPUs{Vendor: "nvidia", IDs: []string{"0", "1"}, Note: "2 × some GPU"}, FindGPUs(facts, nil))
	require.Equal(t, []string{"1"}, FindGPUs(facts, []string{"CUDA_VISIBLE_DEVICES=1,-1,0"}).IDs)
	require.Empty(t, FindGPUs(facts, []string{"CUDA_VISIBLE_DEVICES="}).IDs)

	root := t.TempDir()
	for node, id := range map[string]string{"0": "0\n", "1": "4711\n", "2": "4712\n"} {
		dir := filepath.Join(root, "sys/class/kfd/kfd/topology/nodes", node)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "gpu_id"), []byte(id), 0o644))
	}
	require.Equal(t, GPUs{Vendor: "amd", IDs: []string{"0", "1"}, Note: "2 of AMD"}, findGPUs(root, hostinfo.Facts{}, nil))
}

// No GPU is assigned to two replicas, and each replica gets the requested number.
func TestGPUsAreDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, per, have := rapid.IntRange(1, 9).Draw(t, "replicas"), rapid.IntRange(0, 4).Draw(t, "per"),
			rapid.IntRange(0, 16).Draw(t, "have")
		c, err := Parse("s", strings.NewReader("model: m"))
		require.NoError(t, err)
		p, err := NewPlan(c, Options{Replicas: n, GPUsPerReplica: per, GPUs: GPUs{Vendor: "nvidia", IDs: numbers(have)}})
		require.Equal(t, n*per > have, err != nil)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, r := range p.Replicas {
			require.Len(t, r.GPUs, per)
			for _, id := range r.GPUs {
				require.False(t, seen[id])
				seen[id] = true
			}
		}
	})
}
