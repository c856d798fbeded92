package servers

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func shipped(t *testing.T, name string) *Config {
	t.Helper()
	c, err := Load(filepath.Join("../configs/backends", name))
	require.NoError(t, err)
	return c
}

// The shipped files produce the plans that they describe.
func TestShippedFiles(t *testing.T) {
	files, err := filepath.Glob("../configs/backends/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, len(engines))

	v := shipped(t, "vllm.yaml")
	require.Equal(t, "completions", v.EndpointType)
	require.ErrorContains(t, v.CheckEndpoint("generate"),
		"endpoint generate is not one of its endpoints (completions, chat_completions)")
	p, err := NewPlan(v, Options{Args: []string{"--max_num_seqs=64"}, Replicas: 8, GPUsPerReplica: unset, GPUs: eight()})
	require.NoError(t, err)
	line := strings.Join(p.Replicas[7].Command, " ")
	require.Contains(t, line, "-m vllm.entrypoints.openai.api_server --model meta-llama/Llama-3.1-8B-Instruct --host "+
		"127.0.0.1 --port 8007 --tensor-parallel-size 1")
	require.Contains(t, line, "--no-enable-prefix-caching")
	require.Contains(t, line, "--max_num_seqs=64")
	require.NotContains(t, line, "512")
	require.NotContains(t, line, "kv-cache-dtype")
	require.Contains(t, p.environ, "VLLM_LOGGING_LEVEL=WARNING")
	require.Equal(t, "7", p.Replicas[7].Env["CUDA_VISIBLE_DEVICES"])

	s := shipped(t, "sglang.yaml")
	require.Equal(t, "generate", s.EndpointType)
	p, err = NewPlan(s, Options{GPUsPerReplica: unset, GPUs: eight()})
	require.NoError(t, err)
	require.Contains(t, strings.Join(p.Replicas[0].Command, " "),
		"--tp-size 8 --max-running-requests 512 --disable-radix-cache --skip-tokenizer-init --log-level warning")
	require.Equal(t, "0,1,2,3,4,5,6,7", p.Replicas[0].Env["CUDA_VISIBLE_DEVICES"])
}

func TestEndpointsOfAFile(t *testing.T) {
	c := parse(t, "model: m\nendpoints: [completions]\nname: x\ndescription: y")
	require.Empty(t, c.EndpointType)
	require.NoError(t, c.CheckEndpoint("completions"))
	c = parse(t, "model: m\nendpoint_type: generate\ndefault_endpoint: completions")
	require.Equal(t, "generate", c.EndpointType)
	for text, want := range map[string]string{
		"model: m\nendpoints: [completions, chat]": `line 2: endpoints has "chat"`,
		"model: m\nendpoints: [completions]\nendpoint_type: generate": "endpoint generate is not one of its " +
			"endpoints",
		"model: m\nendpoints: [generate]\ndefault_endpoint: chat_completions": "endpoint chat_completions is not one",
		"model: m\ndefault_endpoint: chat": "not one of completions, chat_completions, " +
			"generate",
	} {
		_, err := Parse("s.yaml", strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
	}
}
