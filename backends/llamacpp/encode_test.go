package llamacpp

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
	ids := datasets.Sample{InputIDs: []int32{1, 7, 0}, Input: "unused"}
	text := datasets.Sample{Input: "say \"hé\" <now>\n"}
	greedy := models.Sampling{MaxTokens: 128, MinTokens: 1, Temperature: ptr(0.0), TopP: ptr(1.0), TopK: ptr(1),
		Seed: ptr(int64(42))}
	drawn := models.Sampling{MaxTokens: 9, Temperature: ptr(1.0), TopP: ptr(0.95), TopK: ptr(-1), StopTokenIDs: []int32{2},
		IgnoreEOS: true}
	for _, c := range []struct {
		name, want string
		sample     datasets.Sample
		config     backends.Config
	}{
		{"greedy ids, streamed", `{"prompt":[1,7,0],"n_predict":128,"temperature":0,"top_p":1,"top_k":1,"min_p":0,"repeat_penalty":1,"seed":42,"stream":true,"return_tokens":true}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", Sampling: greedy, Stream: true},
				AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
		{"drawn, whole", `{"prompt":[1,7,0],"n_predict":9,"temperature":1,"top_p":0.95,"top_k":0,"min_p":0,"repeat_penalty":1,"ignore_eos":true,"stream":false,"return_tokens":true}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{API: "generate", Sampling: drawn},
				AnswerOptions: backends.AnswerOptions{Vocabulary: 320}}},
		{"text in a form", `{"prompt":"say \"hé\" <now>\n","n_predict":5,"min_p":0,"repeat_penalty":1,"json_schema":{"type":"object"},"stream":false,"return_tokens":true}`,
			text, backends.Config{RequestOptions: backends.RequestOptions{Sampling: models.Sampling{MaxTokens: 5},
				Format: &backends.Format{}}, AnswerOptions: backends.AnswerOptions{KeepText: true}}},
		{"its completions route", `{"model":"m","prompt":[1,7,0],"max_tokens":9,"temperature":1,"top_p":0.95,"top_k":0,"stop_token_ids":[2],"ignore_eos":true,"stream":false}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{API: "completions", ServedModel: "m",
				Sampling: drawn}}},
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
	config := backends.Config{RequestOptions: backends.RequestOptions{Sampling: models.Sampling{MaxTokens: 5}},
		AnswerOptions: backends.AnswerOptions{Vocabulary: 100}}
	endless, wild := config, config
	endless.Sampling.MaxTokens, wild.Sampling.TopP = 0, ptr(math.NaN())
	for _, c := range []struct {
		sample datasets.Sample
		config backends.Config
		text   string
	}{
		{datasets.Sample{Index: 7, Messages: json.RawMessage(`[]`)}, config, "sample 7 has neither prompt ids nor text"},
		{datasets.Sample{InputIDs: []int32{1, 100}}, config,
			"prompt id 100 at position 1 is outside the vocabulary of 100 ids"},
		{datasets.Sample{Index: 2, Input: "x"}, endless, "sample 2: n_predict is 0"},
		{datasets.Sample{Index: 2, Input: "x"}, wild, "sample 2: top_p is NaN"},
	} {
		_, err := Driver{}.Encode(nil, &c.sample, &c.config)
		require.ErrorContains(t, err, c.text)
	}
}

func TestAPIs(t *testing.T) {
	for api, path := range map[string]string{"": "/completion", "generate": "/completion",
		"completions": "/v1/completions", "chat": "/v1/chat/completions"} {
		p, err := Driver{}.Protocol(&backends.Config{RequestOptions: backends.RequestOptions{API: api}})
		require.NoError(t, err)
		require.Equal(t, path, p.Path)
	}
	_, err := Driver{}.Open(&backends.Config{RequestOptions: backends.RequestOptions{API: "other"}})
	require.EqualError(t, err, `backend "llamacpp" has no API "other": choose completions or chat`)
}
