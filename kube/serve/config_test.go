package serve

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/servers"
)

func parse(t *testing.T, text string) *servers.Config {
	t.Helper()
	c, err := servers.Parse("server.yaml", strings.NewReader(text))
	require.NoError(t, err)
	return c
}

// TestFromConfig creates a server from a file of `mlperf-go server up`. Flags take precedence.
func TestFromConfig(t *testing.T) {
	const file = `backend: vllm
model: org/model
port: 8100
replicas: 3
gpus: [4, 5]
server_args: {tensor_parallel_size: 2, pipeline_parallel_size: 2, seed: 1}
env_vars: {A: b, CUDA_VISIBLE_DEVICES: "0"}
pre_start: [echo one]
logging_level: debug
startup_timeout: 20m
stop_timeout: 9s
heartbeat_interval: 7s
heartbeat_timeout: 28s
`
	var s objects.Server
	notes, err := FromConfig(&s, parse(t, file), Overrides{GPUsPerReplica: -1})
	require.NoError(t, err)
	require.Equal(t, []string{"the key gpus is ignored: the cluster assigns GPUs",
		"the variable CUDA_VISIBLE_DEVICES is ignored: the cluster assigns GPUs"}, notes)
	require.Equal(t, "python3 -m vllm.entrypoints.openai.api_server --model org/model --host 0.0.0.0 --port 8100 "+
		"--tensor-parallel-size 2 --pipeline-parallel-size 2 --seed 1", strings.Join(s.Command, " "))
	require.Equal(t, []int{3, 4, 8100}, []int{s.Replicas, s.GPUs, s.Port})
	require.Equal(t, []string{"echo one"}, s.PreStart)
	require.Equal(t, map[string]string{"A": "b", "VLLM_LOGGING_LEVEL": "DEBUG",
		"VLLM_CACHE_ROOT":         "/tmp/cache/replica-0/vllm_cache_root",
		"TRITON_CACHE_DIR":        "/tmp/cache/replica-0/triton_cache_dir",
		"TORCHINDUCTOR_CACHE_DIR": "/tmp/cache/replica-0/torchinductor_cache_dir"}, s.Env)
	require.Equal(t, []time.Duration{20 * time.Minute, 9 * time.Second, 7 * time.Second, 28 * time.Second},
		[]time.Duration{s.Startup, s.Stop, s.Probe, s.Silence})

	_, err = FromConfig(&s, parse(t, file), Overrides{Model: "/cache/m", Replicas: 1, GPUsPerReplica: 8,
		Args: []string{"--seed", "2"}})
	require.NoError(t, err)
	require.Contains(t, strings.Join(s.Command, " "), "--model /cache/m ")
	require.Contains(t, strings.Join(s.Command, " "), "--seed 2")
	require.Equal(t, []int{1, 8}, []int{s.Replicas, s.GPUs})

	_, err = FromConfig(&s, parse(t, "backend: sglang\nmodel: m\nports: [1, 2]\nhost: '::'"),
		Overrides{GPUsPerReplica: -1})
	require.NoError(t, err)
	require.Equal(t, "python3 -m sglang.launch_server --model-path m --host :: --port 1", strings.Join(s.Command, " "))
	require.Equal(t, []int{2, 1}, []int{s.Replicas, s.GPUs})

	_, err = FromConfig(&s, parse(t, "backend: other\nmodel: m\nlaunch_command: [serve, '{port}']"),
		Overrides{GPUsPerReplica: -1})
	require.NoError(t, err)
	require.Zero(t, s.GPUs, "of an unknown engine")
}

// TestRejectedFiles lists files that do not work in pods, or would reveal a secret.
func TestRejectedFiles(t *testing.T) {
	for text, want := range map[string]string{
		"model: ./weights": "the model ./weights of server.yaml is a folder of this machine: pass --model with a name on " +
			"the hub, or with a path in the pods such as /cache/weights",
		"model: m\nprofile: {enabled: true, tool: nsys}":            "has a profiler (nsys)",
		"model: m\nenv_vars: {HF_TOKEN: hf_abcdefghijklmnop}":       "the variable HF_TOKEN of server.yaml would be readable",
		"model: m\nserver_args: [--api-key, abcdefgh]":              "an argument of the engine in server.yaml is a secret",
		"model: m\npre_start: ['export HF_TOKEN=hf_abcdefghijklm']": "a pre_start command of server.yaml has a secret",
		"model: m\ngpus_per_replica: 999":                           "not enough GPUs",
	} {
		_, err := FromConfig(&objects.Server{}, parse(t, text), Overrides{GPUsPerReplica: -1})
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "abcdefgh")
	}
	_, err := FromConfig(&objects.Server{}, parse(t, "model: m"), Overrides{GPUsPerReplica: -1,
		Args: []string{"--api-key=abcdefgh"}})
	require.ErrorContains(t, err, "is a secret")
}
