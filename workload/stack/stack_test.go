package stack

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames has the labels and names that llm-d-benchmark's own functions return for the namespace llmdbench.
func TestNames(t *testing.T) {
	for _, c := range []struct{ model, label, name string }{
		{"meta-llama/Llama-3.1-8B-Instruct", "meta-lla-f1a1d196-instruct", "llm-d-8b-instruct"},
		{"Qwen/Qwen3-32B", "qwen-qwe-03cce4e9-wen3-32b", "llm-d-32b-base"},
		{"Qwen/Qwen3-0.6B", "qwen-qwe-07df2612-en3-0-6b", "llm-d-6b-base"},
		{"facebook/opt-125m", "facebook-16adac56-opt-125m", "llm-d-125m-opt"},
		{"mistralai/Mixtral-8x7B-Instruct-v0.1", "mistrala-8b44eca1-uct-v0-1", "llm-d-8x7b-instruct"},
		{"google/gemma-3n-E4B-it", "google-g-4b421f8c-n-e4b-it", "llm-d-4b-base"},
		{"gpt2", "gpt2-42a57586-gpt2", "llm-d--base"},
		{"a.b", "a-b-8344231c-a-b", "llm-d--base"},
		{"meta-llama/Llama-2-7b-chat-hf", "meta-lla-9cabebde--chat-hf", "llm-d-7b-chat"},
		{"deepseek-ai/DeepSeek-R1", "deepseek-4e1e2546-pseek-r1", "llm-d--base"},
	} {
		require.Equal(t, c.label, Label("llmdbench", c.model))
		require.Equal(t, c.name, Name("modelservice", c.model))
	}
	require.NotEqual(t, Label("a", "gpt2"), Label("b", "gpt2"))
	require.Equal(t, "meta-llama-Llama-3-1-8B", ID("meta-llama/Llama-3.1-8B"))
	require.Equal(t, "inference-gateway-8b-instruct", Name("inference-gateway", "meta-llama/Llama-3.1-8B-Instruct"))
	for _, model := range []string{"", "/", "-", "ä", "qwen", "1", "\xff/\xff"} { // no name is too short
		require.NotEmpty(t, Name("standalone", model))
		require.NotEmpty(t, Label("", model))
	}
}

func TestVariables(t *testing.T) {
	require.Empty(t, Variables("standalone", "n", ""))
	require.Equal(t, map[string]string{"LLMDBENCH_DEPLOY_CURRENT_MODEL": "Qwen/Qwen3-0.6B",
		"LLMDBENCH_DEPLOY_CURRENT_TOKENIZER": "Qwen/Qwen3-0.6B", "LLMDBENCH_DEPLOY_CURRENT_MODEL_ID": "qwen-qwen3-0-6b",
		"LLMDBENCH_DEPLOY_CURRENT_MODELID":        "qwen-qwen3-0-6b",
		"LLMDBENCH_DEPLOY_CURRENT_MODEL_ID_LABEL": "qwen-qwe-07df2612-en3-0-6b", "LLMDBENCH_DEPLOY_METHODS": "standalone",
		"LLMDBENCH_HARNESS_STACK_NAME": "standalone-6b-base", "LLMDBENCH_HARNESS_STACK_TYPE": "vllm-prod"},
		Variables("standalone", "llmdbench", "Qwen/Qwen3-0.6B"))
	require.Equal(t, "llm-d", Variables("modelservice", "n", "m")["LLMDBENCH_HARNESS_STACK_TYPE"])
}
