package ollama

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

func ptr[T any](v T) *T { return &v }

func TestEncode(t *testing.T) {
	text := datasets.Sample{Input: "say \"hé\" <now>\n", InputIDs: []int32{1}}
	chat := datasets.Sample{Messages: json.RawMessage(`[{"role":"user","content":"hi"}]`),
		Tools: json.RawMessage(`[{"type":"function"}]`)}
	greedy := models.Sampling{MaxTokens: 128, MinTokens: 1, Temperature: ptr(0.0), TopP: ptr(1.0), TopK: ptr(1),
		Seed: ptr(int64(42))}
	for _, c := range []struct {
		name, want string
		sample     datasets.Sample
		config     backends.Config
	}{
		{"text, streamed", `{"model":"m","prompt":"say \"hé\" <now>\n","raw":true,"stream":true,"truncate":false,"shift":false,"options":{"num_predict":128,"temperature":0,"top_p":1,"top_k":1,"min_p":0,"repeat_penalty":1,"seed":42}}`,
			text, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", Sampling: greedy, Stream: true}}},
		{"JSON", `{"model":"m","prompt":"say \"hé\" <now>\n","raw":true,"stream":false,"format":"json","truncate":false,"shift":false,"options":{"num_predict":5,"top_k":0,"min_p":0,"repeat_penalty":1}}`,
			text, backends.Config{
				RequestOptions: backends.RequestOptions{API: "generate", ServedModel: "m",
					Sampling: models.Sampling{MaxTokens: 5, TopK: ptr(-1)}, Format: &backends.Format{}},
			}},
		{"messages", `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function"}],"stream":false,"format":{"type":"array"},"truncate":false,"shift":false,"options":{"num_predict":5,"min_p":0,"repeat_penalty":1}}`,
			chat, backends.Config{
				RequestOptions: backends.RequestOptions{API: "chat", ServedModel: "m", Sampling: models.Sampling{MaxTokens: 5},
					Format: &backends.Format{Schema: json.RawMessage(`{"type":"array"}`)}},
			}},
		{"text as a message", `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"truncate":false,"shift":false,"options":{"num_predict":5,"min_p":0,"repeat_penalty":1}}`,
			datasets.Sample{Input: "hi"}, backends.Config{
				RequestOptions: backends.RequestOptions{API: "chat", ServedModel: "m", Stream: true,
					Sampling: models.Sampling{MaxTokens: 5}},
			}},
		{"its completions route takes no ids", `{"model":"m","prompt":"say \"hé\" <now>\n","max_tokens":5,"stream":false}`,
			text, backends.Config{RequestOptions: backends.RequestOptions{API: "completions", ServedModel: "m",
				Sampling: models.Sampling{MaxTokens: 5}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Driver{}.Encode([]byte("x"), &c.sample, &c.config)
			require.NoError(t, err)
			require.Equal(t, "x"+c.want, string(got))
			require.True(t, json.Valid(got[1:]))
		})
	}
}

func TestEncodeRejects(t *testing.T) {
	config := backends.Config{RequestOptions: backends.RequestOptions{Sampling: models.Sampling{MaxTokens: 5}}}
	chat, endless, wild := config, config, config
	chat.API, endless.Sampling.MaxTokens, wild.Sampling.Temperature = "chat", 0, ptr(math.Inf(1))
	for _, c := range []struct {
		sample datasets.Sample
		config backends.Config
		text   string
	}{
		{datasets.Sample{Index: 7, InputIDs: []int32{1}}, config,
			"sample 7 has prompt ids and no text, but Ollama accepts text only"},
		{datasets.Sample{Index: 7, Messages: json.RawMessage(`[]`)}, config, "sample 7 has no text"},
		{datasets.Sample{Index: 7}, chat, "sample 7 has neither messages nor text"},
		{datasets.Sample{Index: 7, Messages: json.RawMessage(`[`)}, chat, "sample 7: its messages are not JSON"},
		{datasets.Sample{Index: 2, Input: "x"}, endless, "sample 2: num_predict is 0"},
		{datasets.Sample{Index: 2, Input: "x"}, wild, "sample 2: temperature is +Inf"},
	} {
		_, err := Driver{}.Encode(nil, &c.sample, &c.config)
		require.ErrorContains(t, err, c.text)
	}
}

func TestAPIs(t *testing.T) {
	for api, path := range map[string]string{"": "/api/generate", "generate": "/api/generate",
		"completions": "/v1/completions", "chat": "/api/chat"} {
		p, err := Driver{}.Protocol(&backends.Config{RequestOptions: backends.RequestOptions{API: api}})
		require.NoError(t, err)
		require.Equal(t, path, p.Path)
	}
	_, err := Driver{}.Open(&backends.Config{RequestOptions: backends.RequestOptions{API: "other"}})
	require.EqualError(t, err, `backend "ollama" has no API "other": choose generate, chat or completions`)
	_, err = Driver{}.Open(&backends.Config{RequestOptions: backends.RequestOptions{Batch: 2}})
	require.ErrorContains(t, err, "accepts one prompt per request")
}
