package openai

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

func ptr[T any](v T) *T { return &v }

func TestEncode(t *testing.T) {
	ids := datasets.Sample{Index: 3, InputIDs: []int32{128000, 7, 90, 1000, 0}, Input: "unused"}
	text := datasets.Sample{Input: "say \"hé\" <now>\n"}
	chat := datasets.Sample{Messages: json.RawMessage(`[ {"role": "user", "content": "hi"} ]`)}
	parts := datasets.Sample{Messages: json.RawMessage(`[{"role":"user", "content":[{"type":"text","text":"what <is> it?"}, {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]`)}
	greedy := models.Sampling{MaxTokens: 128, MinTokens: 1, Temperature: ptr(0.0), TopP: ptr(1.0), TopK: ptr(1),
		Seed: ptr(int64(42))}
	full := greedy
	full.StopTokenIDs, full.IgnoreEOS, full.Temperature = []int32{2, 128009}, true, ptr(1e-7)
	for _, c := range []struct {
		name, driver, want string
		sample             datasets.Sample
		config             backends.Config
	}{
		{"streamed ids", "vllm", `{"model":"m/x","prompt":[128000,7,90,1000,0],"max_tokens":128,"min_tokens":1,"temperature":0,"top_p":1,"top_k":1,"seed":42,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m/x", Sampling: greedy, Stream: true},
				AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
		{"everything, not streamed", "sim", `{"model":"m","prompt":[128000,7,90,1000,0],"max_tokens":128,"min_tokens":1,"temperature":1e-07,"top_p":1,"top_k":1,"seed":42,"stop_token_ids":[2,128009],"ignore_eos":true,"stream":false,"return_token_ids":true,"skip_special_tokens":false}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", Sampling: full},
				AnswerOptions: backends.AnswerOptions{KeepText: true}}},
		{"text, only what is asked for", "openai", `{"model":"m","prompt":"say \"hé\" <now>\n","max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`,
			text, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m",
				Sampling: models.Sampling{MaxTokens: 5}, Stream: true}, AnswerOptions: backends.AnswerOptions{KeepText: true}}},
		{"generic with ids", "openai", `{"prompt":[128000,7,90,1000,0],"max_tokens":5,"stream":false,"return_token_ids":true}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{Sampling: models.Sampling{MaxTokens: 5}},
				AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
		{"messages", "vllm", `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":5,"stream":false,"return_token_ids":true}`,
			chat, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", API: "chat",
				Sampling: models.Sampling{MaxTokens: 5}}}},
		{"text as a message", "openai", `{"model":"m","messages":[{"role":"user","content":"say \"hé\" <now>\n"}],"max_tokens":5,"stream":false}`,
			text, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", API: "chat",
				Sampling: models.Sampling{MaxTokens: 5}}}},
		{"parts of a message", "vllm", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"what <is> it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}],"max_completion_tokens":5,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true}`,
			parts, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", API: "chat",
				Sampling: models.Sampling{MaxTokens: 5}, Stream: true}}},
		{"ids in and out", "vllm", `{"model":"m","token_ids":[128000,7,90,1000,0],"sampling_params":{"max_tokens":128,"min_tokens":1,"temperature":0,"top_p":1,"top_k":1,"seed":42,"detokenize":false},"stream":true,"stream_options":{"include_usage":true}}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m", API: "generate", Sampling: greedy,
				Stream: true}, AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
		{"TensorRT-LLM with ids", "trtllm", `{"model":"m","prompt":[128000,7,90,1000,0],"max_tokens":5,"top_k":0,"stream":false,"detokenize":false}`,
			ids, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m",
				Sampling: models.Sampling{MaxTokens: 5, TopK: ptr(-1)}}, AnswerOptions: backends.AnswerOptions{NeedIDs: true}}},
		{"TensorRT-LLM with text", "trtllm", `{"model":"m","prompt":"say \"hé\" <now>\n","max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`,
			text, backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m",
				Sampling: models.Sampling{MaxTokens: 5}, Stream: true}, AnswerOptions: backends.AnswerOptions{KeepText: true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := backends.Lookup(c.driver)
			require.NoError(t, err)
			got, err := d.Encode([]byte("x"), &c.sample, &c.config)
			require.NoError(t, err)
			require.Equal(t, "x"+c.want, string(got))
			require.True(t, json.Valid(got[1:]))
		})
	}
}

// trtllmFields are the fields that TensorRT-LLM's two routes accept and this program may send; others are answered 400
// (docs/reference/wire-protocols.md#differences-between-servers).
var trtllmFields = []string{
	"model", "prompt", "messages", "max_tokens", "min_tokens", "temperature", "top_p", "top_k", "seed", "stop_token_ids",
	"ignore_eos", "stream",
	"stream_options", "detokenize", "response_format",
}

// TestTensorRTLLMReceivesKnownFieldsOnly requires that no setting adds a field that this server rejects.
func TestTensorRTLLMReceivesKnownFieldsOnly(t *testing.T) {
	d, err := backends.Lookup("trtllm")
	require.NoError(t, err)
	sample := datasets.Sample{InputIDs: []int32{1, 2}, Input: "a b",
		Messages: json.RawMessage(`[{"role":"user","content":"a b"}]`)}
	full := models.Sampling{MaxTokens: 5, MinTokens: 2, Temperature: ptr(0.5), TopP: ptr(0.9), TopK: ptr(7),
		Seed: ptr(int64(1)), StopTokenIDs: []int32{2}, IgnoreEOS: true}
	for _, api := range []string{"completions", "chat"} {
		for bits := range 16 {
			c := backends.Config{
				RequestOptions: backends.RequestOptions{ServedModel: "m", API: api, Sampling: full, Stream: bits&1 != 0},
				AnswerOptions:  backends.AnswerOptions{NeedIDs: bits&2 != 0 && api == "completions", KeepText: bits&4 != 0},
			}
			if bits&8 != 0 {
				c.Format = &backends.Format{}
			}
			body, err := d.Encode(nil, &sample, &c)
			require.NoError(t, err)
			var fields map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(body, &fields))
			for name := range fields {
				require.Contains(t, trtllmFields, name, "%s", body)
			}
			require.Contains(t, fields, "max_tokens", "its own default is the engine's limit, and TGI's 20 or 100")
		}
	}
}

func TestEncodeRejects(t *testing.T) {
	d := &Driver{name: "vllm", dialect: vllm}
	config := backends.Config{RequestOptions: backends.RequestOptions{Sampling: models.Sampling{MaxTokens: 5}},
		AnswerOptions: backends.AnswerOptions{Vocabulary: 100}}
	chat := config
	chat.API = "chat"
	generate := config
	generate.API = "generate"
	endless, wild := config, config
	endless.Sampling.MaxTokens, wild.Sampling.TopP = 0, ptr(math.NaN())
	for _, c := range []struct {
		sample datasets.Sample
		config backends.Config
		text   string
	}{
		{datasets.Sample{Index: 7}, config, "sample 7 has neither prompt ids nor text"},
		{datasets.Sample{InputIDs: []int32{1, 100}}, config,
			"prompt id 100 at position 1 is outside the vocabulary of 100 ids"},
		{datasets.Sample{InputIDs: []int32{-1}}, config, "prompt id -1"},
		{datasets.Sample{InputIDs: []int32{1}}, chat, "neither messages nor text"},
		{datasets.Sample{Index: 4, Input: "x"}, generate, "sample 4 has no prompt ids"},
		{datasets.Sample{InputIDs: []int32{100}}, generate, "prompt id 100"},
		{datasets.Sample{Messages: json.RawMessage(`{"role":"user"}`)}, chat, "not a JSON array"},
		{datasets.Sample{Messages: json.RawMessage(`[{]`)}, chat, "its messages are not a JSON array"},
		{datasets.Sample{Input: "x"}, endless, "max_tokens is 0"},
		{datasets.Sample{Input: "x"}, wild, "top_p is NaN"},
	} {
		_, err := d.Encode(nil, &c.sample, &c.config)
		require.ErrorContains(t, err, c.text)
	}
	endless.API, config.Sampling.MaxTokens = "chat", 1
	for _, c := range []*backends.Config{&endless, &config} {
		_, err := d.Encode(nil, &datasets.Sample{Input: "x"}, c)
		require.NoError(t, err, "a chat needs no limit, and one token is one")
	}
}

func TestResponseFormats(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	const inQuotes = `"{\"type\":\"object\"}"`
	const asSchema = `"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}}`
	for _, c := range []struct {
		dialect      dialect
		api, version string
		schema       json.RawMessage
		want         string
	}{
		{vllm, "completions", "0.32.0", schema, `"structured_outputs":{"json":{"type":"object"}}`},
		{vllm, "chat", "0.11.0rc2", schema, `"structured_outputs":{"json":{"type":"object"}}`},
		{vllm, "chat", "1.0", nil, `"structured_outputs":{"json_object":true}`},
		{vllm, "completions", "0.10.2", schema, `"guided_json":{"type":"object"}`},
		{vllm, "completions", "0.9.1", nil, `"response_format":{"type":"json_object"}`},
		{vllm, "completions", "", schema, asSchema},
		{vllm, "completions", "main", schema, asSchema},
		{vllm, "generate", "", schema, `"structured_outputs":{"json":{"type":"object"}}`},
		{generic, "chat", "0.32.0", schema, asSchema},
		{generic, "chat", "", nil, `"response_format":{"type":"json_object"}`},
		{trtllm, "completions", "", schema, asSchema},
		{sglang, "completions", "", schema, `"json_schema":` + inQuotes},
		{sglang, "chat", "", schema, asSchema},
	} {
		d := &Driver{name: "d", dialect: c.dialect}
		s := &datasets.Sample{InputIDs: []int32{1}}
		if c.api == "chat" {
			s = &datasets.Sample{Input: "x"}
		}
		body, err := d.Encode(nil, s, &backends.Config{
			RequestOptions: backends.RequestOptions{API: c.api, ServerVersion: c.version,
				Format: &backends.Format{Schema: c.schema}, Sampling: models.Sampling{MaxTokens: 5}},
		})
		require.NoError(t, err)
		require.True(t, json.Valid(body), "%s", body)
		require.Contains(t, string(body), c.want)
		require.Equal(t, 1, strings.Count(string(body), "structured_outputs")+strings.Count(string(body), "guided_json")+
			strings.Count(string(body), "response_format")+strings.Count(string(body), `"json_schema":"{`))
	}
}

func TestDroppedFields(t *testing.T) {
	d := &Driver{name: "vllm", dialect: vllm}
	s, k, seed := &datasets.Sample{InputIDs: []int32{1}}, 1, int64(7)
	c := &backends.Config{
		RequestOptions: backends.RequestOptions{Stream: true,
			Sampling: models.Sampling{MaxTokens: 5, TopP: ptr(1.0), TopK: &k, Seed: &seed}},
		AnswerOptions: backends.AnswerOptions{NeedIDs: true},
	}
	body, err := d.Encode(nil, s, c)
	require.NoError(t, err)
	for _, field := range []string{"return_token_ids", "stream_options", "top_p", "top_k", "seed"} {
		require.Contains(t, string(body), field)
		c.Drop = append(c.Drop, field)
		body, err = d.Encode(nil, s, c)
		require.NoError(t, err)
		require.True(t, json.Valid(body))
		require.NotContains(t, string(body), field)
	}
	require.Equal(t, `{"prompt":[1],"max_tokens":5,"stream":true}`, string(body))
	c.IDsInLogprobs = true
	body, err = d.Encode(nil, s, c)
	require.NoError(t, err)
	require.Contains(t, string(body), `"logprobs":0,"return_tokens_as_token_ids":true`)
	c.API = "chat"
	body, err = d.Encode(nil, &datasets.Sample{Input: "x"}, c)
	require.NoError(t, err)
	require.Contains(t, string(body), `"logprobs":true,"top_logprobs":0,"return_tokens_as_token_ids":true`)
}

func BenchmarkEncode(b *testing.B) {
	s := datasets.Sample{}
	for i := range int32(4096) {
		s.InputIDs = append(s.InputIDs, i*31%128256)
	}
	c := backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m",
		Sampling: models.Sampling{MaxTokens: 128}}, AnswerOptions: backends.AnswerOptions{Vocabulary: 128256}}
	d := &Driver{dialect: vllm}
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = d.Encode(buf[:0], &s, &c); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAnswerAllocatesNothing reads a whole stream repeatedly.
func TestAnswerAllocatesNothing(t *testing.T) {
	a := newAnswer(&vllm, &backends.Config{RequestOptions: backends.RequestOptions{Stream: true},
		AnswerOptions: backends.AnswerOptions{NeedIDs: true}})
	var stream []byte
	for range 50 {
		stream = append(append(append(stream, "data: "...), vllmEvent...), "\n\n"...)
	}
	var o backends.Outcome
	require.Zero(t, testing.AllocsPerRun(20, func() {
		a.Begin("text/event-stream; charset=utf-8")
		for p := stream; len(p) > 0; {
			_, p = a.Feed(p)
		}
	}))
	a.Finish(&o, backends.FailCancelled)
	require.Equal(t, 50, o.NTokens)
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("data: "+vllmEvent+"\n\ndata: [DONE]\n\n"), true, 7)
	f.Add([]byte(`{"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"completion_tokens":1}}`), false, 3)
	f.Fuzz(func(t *testing.T, body []byte, stream bool, step int) {
		wiretest.SameInSteps(t, func() wire.Answer {
			return newAnswer(&vllm, &backends.Config{RequestOptions: backends.RequestOptions{Stream: stream},
				AnswerOptions: backends.AnswerOptions{KeepText: true, Vocabulary: 1000}})
		}, stream, body, step)
	})
}

func TestMessagesExplainHowToGetIDs(t *testing.T) {
	for name, text := range map[string]string{"vllm": "return_token_ids, which vLLM >= 0.10.2",
		"trtllm": "detokenize false"} {
		d, err := backends.Lookup(name)
		require.NoError(t, err)
		p, err := d.(*Driver).Protocol(&backends.Config{AnswerOptions: backends.AnswerOptions{NeedIDs: true}})
		require.NoError(t, err)
		a := p.NewAnswer()
		a.Begin("application/json")
		a.Feed([]byte(`{"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"completion_tokens":1}}`))
		var o backends.Outcome
		require.Contains(t, a.Finish(&o, backends.OK), text)
		require.Equal(t, backends.FailBadEvent, o.Reason)
	}
}
