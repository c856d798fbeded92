package sglang

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
	ids := datasets.Sample{InputIDs: []int32{128000, 7, 0}, Input: "unused"}
	text := datasets.Sample{Input: "say \"hé\" <now>\n"}
	chat := datasets.Sample{Messages: json.RawMessage(`[{"role":"user","content":"hi"}]`)}
	greedy := models.Sampling{MaxTokens: 128, MinTokens: 1, Temperature: ptr(0.0), TopP: ptr(1.0), TopK: ptr(1),
		Seed: ptr(int64(42))}
	drawn := models.Sampling{MaxTokens: 9, Temperature: ptr(1.0), TopP: ptr(0.95), TopK: ptr(0), Seed: ptr(int64(-7)),
		StopTokenIDs: []int32{2, 128009}, IgnoreEOS: true}
	for _, c := range []struct {
		name, want string
		sample     datasets.Sample
		config     backends.Config
	}{
		{"greedy ids, streamed", `{"input_ids":[128000,7,0],"sampling_params":{"max_new_tokens":128,"min_new_tokens":1,"temperature":0,"top_p":1,"top_k":1},"stream":true}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", Sampling: greedy, Stream: true},
				AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
		{"drawn, whole", `{"input_ids":[128000,7,0],"sampling_params":{"max_new_tokens":9,"temperature":1,"top_p":0.95,"top_k":-1,"stop_token_ids":[2,128009],"ignore_eos":true,"sampling_seed":-7},"stream":false}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{API: "generate", Sampling: drawn},
				AnswerOptions: backends.AnswerOptions{Vocabulary: 128256}}},
		{"text", `{"text":"say \"hé\" <now>\n","sampling_params":{"max_new_tokens":5,"skip_special_tokens":false},"stream":false}`,
			text, backends.Config{RequestOptions: backends.RequestOptions{Sampling: models.Sampling{MaxTokens: 5}},
				AnswerOptions: backends.AnswerOptions{KeepText: true}}},
		{"its completions route", `{"model":"m","prompt":[128000,7,0],"max_tokens":9,"temperature":1,"top_p":0.95,"top_k":-1,"seed":-7,"stop_token_ids":[2,128009],"ignore_eos":true,"stream":false,"return_token_ids":true}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{API: "completions", ServedModel: "m", Sampling: drawn},
				AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
		{"the chat route rejects return_token_ids in a stream",
			`{"messages":[{"role":"user","content":"hi"}],"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`,
			chat, backends.Config{RequestOptions: backends.RequestOptions{API: "chat", Sampling: models.Sampling{MaxTokens: 5},
				Stream: true}, AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
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
	endless.Sampling.MaxTokens, wild.Sampling.Temperature = 0, ptr(math.Inf(1))
	for _, c := range []struct {
		sample datasets.Sample
		config backends.Config
		text   string
	}{
		{datasets.Sample{Index: 7, Messages: json.RawMessage(`[]`)}, config,
			"sample 7 has neither prompt ids nor text: a request to /generate"},
		{datasets.Sample{InputIDs: []int32{1, 100}}, config,
			"prompt id 100 at position 1 is outside the vocabulary of 100 ids: it is not sent"},
		{datasets.Sample{InputIDs: []int32{-1}},
			backends.Config{RequestOptions: backends.RequestOptions{Sampling: config.Sampling}}, "prompt id -1"},
		{datasets.Sample{Index: 2, Input: "x"}, endless, "sample 2: max_new_tokens is 0"},
		{datasets.Sample{Index: 2, Input: "x"}, wild, "sample 2: temperature is +Inf"},
	} {
		_, err := Driver{}.Encode(nil, &c.sample, &c.config)
		require.ErrorContains(t, err, c.text)
	}
}

func TestAPIs(t *testing.T) {
	for api, path := range map[string]string{"": "/generate", "generate": "/generate", "completions": "/v1/completions",
		"chat": "/v1/chat/completions"} {
		p, err := Driver{}.Protocol(&backends.Config{RequestOptions: backends.RequestOptions{API: api}})
		require.NoError(t, err)
		require.Equal(t, path, p.Path)
	}
	_, err := Driver{}.Open(&backends.Config{RequestOptions: backends.RequestOptions{API: "other"}})
	require.EqualError(t, err, `backend "sglang" has no API "other": choose completions or chat`)
}

func BenchmarkEncode(b *testing.B) {
	s := datasets.Sample{}
	for i := range int32(4096) {
		s.InputIDs = append(s.InputIDs, i*31%128256)
	}
	c := backends.Config{RequestOptions: backends.RequestOptions{Sampling: models.Sampling{MaxTokens: 128}},
		AnswerOptions: backends.AnswerOptions{Vocabulary: 128256}}
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = (Driver{}).Encode(buf[:0], &s, &c); err != nil {
			b.Fatal(err)
		}
	}
}
