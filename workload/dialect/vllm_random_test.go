package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func TestRerankOfVLLM(t *testing.T) {
	for _, text := range []string{"dataset-name: random-rerank\n", "dataset-name: random\nbackend: vllm-rerank\n",
		"dataset-name: random-rerank\nbackend: vllm-rerank\nendpoint: /v1/rerank\n"} {
		p := translated(t, "vllm-benchmark", text+"random-input-len: 100\nrandom-batch-size: 4\nnum-prompts: 10\n")
		require.Equal(t, "rerank", p.API.Kind)
		require.False(t, p.API.Stream)
		require.Equal(t, profile.Synthetic, p.Data.Kind)
		require.Equal(t, 48, p.Data.Prefix, "with the last token 49: half of 100 without the separator")
		require.Equal(t, profile.FixedAt(1), p.Data.Input)
		require.Nil(t, p.Data.Output)
		require.Equal(t, &profile.Passages{Count: 4, Tokens: profile.FixedAt(50)}, p.Data.Passages)
		require.Equal(t, 3, p.Load.Stages[0].Requests, "four passages each, the last two")
	}
	const pairs = "dataset-name: random-rerank\nrandom-input-len: 100\nno-reranker: none\n"
	p := translated(t, "vllm-benchmark", pairs+"random-batch-size: 4\nnum-prompts: 10\n")
	require.Equal(t, 99, p.Data.Prefix, "a query as long as a passage")
	require.Equal(t, &profile.Passages{Count: 3, Tokens: profile.FixedAt(100)}, p.Data.Passages)
	require.Equal(t, 3, p.Load.Stages[0].Requests, "nine passages, three each")
	for _, few := range []string{"num-prompts: 10\n", "random-batch-size: 4\nnum-prompts: 1\n"} {
		_, err := parse("vllm-benchmark", pairs+few)
		require.ErrorContains(t, err, "no-reranker: random-batch-size and num-prompts must be at least 2", few)
	}
	p = translated(t, "vllm-benchmark", "backend: openai-embeddings\nendpoint: /v1/embeddings\n")
	require.False(t, p.API.Stream)
	require.Nil(t, p.Data.Output)
}

func TestRandomImagesOfVLLM(t *testing.T) {
	const chat = "backend: openai-chat\nendpoint: /v1/chat/completions\n"
	size := func(w, h int, share float64) profile.Resolution {
		return profile.Resolution{Width: w, Height: h, Weight: share}
	}
	p := translated(t, "vllm-benchmark", chat+"dataset-name: random-mm\n")
	require.Equal(t, profile.Synthetic, p.Data.Kind)
	require.True(t, p.API.IgnoreEOS)
	require.Equal(t, &profile.Images{Count: profile.FixedAt(1), Format: "jpeg",
		Resolutions: []profile.Resolution{size(256, 256, .5), size(1280, 720, .5)}}, p.Data.Images)
	for _, buckets := range []string{`"{(256, 128, 1): 0.7, (720,1280,1): 3e-1, (720, 1280, 16): 0.0}"`,
		`{"(256, 128, 1)": 0.7, "(720, 1280, 1)": 0.3}`} {
		p = translated(t, "vllm-benchmark", chat+"dataset-name: random-mm\nrandom-mm-base-items-per-request: 4\n"+
			"random-mm-num-mm-items-range-ratio: 0.5\nrandom-mm-limit-mm-per-prompt: '{\"image\": 3, \"video\": 0}'\n"+
			"random-mm-bucket-config: "+buckets+"\n")
		require.ElementsMatch(t, []profile.Resolution{size(128, 256, .7), size(1280, 720, .3)}, p.Data.Images.Resolutions)
		require.Equal(t, &profile.Distribution{Kind: "uniform", Min: 2, Max: 3}, p.Data.Images.Count)
	}
	for line, want := range map[string]string{
		`random-mm-bucket-config: "{(9, 9, 4): 1}"`:     "is a video",
		`random-mm-bucket-config: "{(0, 9, 1): 1}"`:     "sides from 1 to 16384",
		`random-mm-bucket-config: "{(9, 9, 1): 1e}"`:    "expected a share",
		`random-mm-bucket-config: "{}"`:                 "expected {(HEIGHT, WIDTH, 1): SHARE",
		`random-mm-bucket-config: "{(9, 9, 1): 1; no}"`: "expected {(HEIGHT, WIDTH, 1): SHARE",
		`random-mm-limit-mm-per-prompt: many`:           "expected a JSON object",
	} {
		_, err := parse("vllm-benchmark", chat+"dataset-name: random-mm\n"+line+"\n")
		require.ErrorContains(t, err, want, line)
	}
	_, err := parse("vllm-benchmark", "dataset-name: random-mm\n")
	require.ErrorContains(t, err, "only chats carry images")
}

func TestRandomTextOfVLLM(t *testing.T) {
	require.Equal(t, profile.Random, translated(t, "vllm-benchmark", "dataset-name: random\n").Data.Kind)
	require.Equal(t, profile.Synthetic, translated(t, "vllm-benchmark",
		"backend: openai-chat\nendpoint: /v1/chat/completions\n").Data.Kind, "a chat has no token ids")
}
