package openai

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
)

func typedConfig(api string, stream bool) *backends.Config {
	c := &backends.Config{RequestOptions: backends.RequestOptions{API: api, ServedModel: "m", Stream: stream}}
	c.Sampling.MaxTokens, c.KeepText = 9, true
	return c
}

func TestTypedRequests(t *testing.T) {
	d := &Driver{name: "vllm", dialect: vllm}
	chat := `[{"role":"system","content":"be brief"},{"role":"user","content":"a \"b\""},` +
		`{"role":"assistant","content":[{"type":"text","text":"c"}]},{"role":"user","content":[{"type":"text","text":"d"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]`
	tools := `[{"type":"function","function":{"name":"f","description":"g","parameters":{"type":"object"}}}]`
	for _, c := range []struct {
		api, want, fails string
		sample           datasets.Sample
	}{
		{api: messages, sample: datasets.Sample{Input: `a "b"`},
			want: `{"model":"m","messages":[{"role":"user","content":"a \"b\""}],"max_tokens":9,"stream":true}`},
		{api: responses, sample: datasets.Sample{Input: "x"},
			want: `{"model":"m","input":[{"role":"user","content":"x"}],"store":false,"max_output_tokens":9,"ignore_eos":true,` +
				`"stream":true}`},
		{api: messages, sample: datasets.Sample{Messages: []byte(chat), Tools: []byte(tools)},
			want: `{"model":"m","messages":[{"role":"user","content":"a \"b\""},{"role":"assistant","content":[{"type":"text",` +
				`"text":"c"}]},{"role":"user","content":[{"type":"text","text":"d"},{"type":"image","source":{"type":"base64",` +
				`"media_type":"image/png","data":"AAAA"}}]}],"system":"be brief","tools":[{"name":"f","description":"g",` +
				`"input_schema":{"type":"object"}}],"max_tokens":9,"stream":true}`},
		{api: responses, sample: datasets.Sample{Messages: []byte(chat), Tools: []byte(tools)},
			want: `{"model":"m","input":[{"role":"system","content":"be brief"},{"role":"user","content":"a \"b\""},` +
				`{"role":"assistant","content":[{"type":"output_text","text":"c"}]},{"role":"user","content":[{"type":` +
				`"input_text","text":"d"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"}]}],` +
				`"store":false,"tools":[{"type":"function","name":"f","description":"g","parameters":{"type":"object"}}],` +
				`"max_output_tokens":9,"ignore_eos":true,"stream":true}`},
		{api: messages, sample: datasets.Sample{InputIDs: []int32{1}}, fails: "neither messages nor text"},
		{api: messages, sample: datasets.Sample{Messages: []byte(`[{"role":"system","content":"x"}]`)},
			fails: "no message besides the system prompt"},
		{api: responses, sample: datasets.Sample{Messages: []byte(`[{"role":"tool","content":"x"}]`)},
			fails: "message 0 is a call of a tool or its result"},
		{api: responses, sample: datasets.Sample{Messages: []byte(`{}`)}, fails: "not a JSON array"},
		{api: messages, sample: datasets.Sample{Messages: []byte(`[{"role":"user","content":[{"type":"video"}]}]`)},
			fails: `a part of type "video"`},
	} {
		config := typedConfig(c.api, true)
		config.Sampling.IgnoreEOS = true
		body, err := d.Encode(nil, &c.sample, config)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, string(body))
	}
	config := typedConfig(messages, true)
	config.Sampling.MaxTokens = 0
	_, err := d.Encode(nil, &datasets.Sample{Input: "x"}, config)
	require.ErrorContains(t, err, "max_tokens is 0")
}

// named writes a stream of events: each is a name and a document.
func named(events ...string) string {
	var b strings.Builder
	for i := 0; i < len(events); i += 2 {
		b.WriteString("event: " + events[i] + "\ndata: " + events[i+1] + "\n\n")
	}
	return b.String()
}

// vLLM's streams; the second one of each API begins with reasoning.
var (
	messageStart = `{"type":"message_start","message":{"id":"chatcmpl-7","content":[],"model":"m","usage":` +
		`{"input_tokens":0,"output_tokens":0}}}`
	messageStream = named("message_start", messageStart, "ping", `{"type":"ping"}`,
		"content_block_start", `{"index":0,"type":"content_block_start","content_block":{"type":"thinking","thinking":""}}`,
		"content_block_delta", `{"index":0,"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}`,
		"content_block_delta", `{"index":0,"type":"content_block_delta","delta":{"type":"signature_delta","signature":"x"}}`,
		"content_block_stop", `{"index":0,"type":"content_block_stop"}`,
		"content_block_delta", `{"index":1,"type":"content_block_delta","delta":{"type":"text_delta","text":"an"}}`,
		"content_block_delta", `{"index":1,"type":"content_block_delta","delta":{"type":"text_delta","text":"swer"}}`,
		"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":5,`+
			`"output_tokens":3,"cache_read_input_tokens":2}}`, "message_stop", `{"type":"message_stop"}`)
	responseStream = named(
		"response.created", `{"type":"response.created","response":{"id":"resp_7","model":"m","error":null,"output":[]}}`,
		"response.in_progress", `{"type":"response.in_progress","response":{"id":"resp_7","output":[]}}`,
		"response.reasoning_text.delta", `{"delta":"hm","type":"response.reasoning_text.delta"}`,
		"response.output_text.delta", `{"content_index":0,"delta":"an","type":"response.output_text.delta"}`,
		"response.output_text.delta", `{"content_index":0,"delta":"swer","type":"response.output_text.delta"}`,
		"response.output_text.done", `{"text":"answer","type":"response.output_text.done"}`,
		"response.completed", `{"type":"response.completed","response":{"id":"resp_7","status":"completed","error":null,`+
			`"output":[{"type":"message","content":[{"type":"output_text","text":"answer"}]}],`+
			`"usage":{"input_tokens":7,"output_tokens":3}}}`)
)

func TestTypedAnswers(t *testing.T) {
	whole := `{"id":"x","type":"message","role":"assistant","content":[{"type":"text","text":"answer"}],"model":"m",` +
		`"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":3}}`
	response := `{"id":"x","object":"response","status":"completed","error":null,"model":"m","output":[{"type":"reasoning"},` +
		`{"type":"message","content":[{"type":"output_text","text":"answer"}]}],"usage":{"input_tokens":7,"output_tokens":3}}`
	for _, c := range []struct {
		api, body, detail string
		whole             bool
		reason            backends.Reason
	}{
		{api: messages, body: messageStream},
		{api: messages, body: messageStream + "data: [DONE]\n\n"},
		{api: responses, body: responseStream},
		{api: messages, body: whole, whole: true},
		{api: responses, body: response, whole: true},
		{api: messages, body: strings.Replace(messageStream, "end_turn", "max_tokens", 1), reason: backends.FailTooShort,
			detail: "cut the answer at 3 output tokens"},
		{api: responses, body: strings.Replace(responseStream, `"status":"completed"`, `"status":"incomplete",`+
			`"incomplete_details":{"reason":"max_output_tokens"}`, 1), reason: backends.FailTooShort, detail: "cut the answer"},
		{api: responses, body: strings.Replace(responseStream, `"status":"completed"`, `"status":"incomplete",`+
			`"incomplete_details":{"reason":"content_filter"}`, 1), reason: backends.FailAborted, detail: "content_filter"},
		{api: responses, body: strings.Replace(responseStream, `"status":"completed","error":null`,
			`"status":"failed","error":{"code":"server_error","message":"boom"}`, 1),
			reason: backends.FailServerErrorEvent, detail: "boom"},
		{api: responses, body: strings.Replace(responseStream, `"status":"completed"`, `"status":"queued"`, 1),
			reason: backends.FailServerErrorEvent, detail: "ended with the status queued"},
		{api: responses, body: strings.Replace(response, `"status":"completed"`, `"status":"in_progress"`, 1), whole: true,
			reason: backends.FailServerErrorEvent, detail: "ended with the status in_progress"},
		{api: responses, body: strings.Replace(responseStream, `"status":"completed"`, `"status":"cancelled"`, 1),
			reason: backends.FailAborted, detail: "cancelled"},
		{api: messages, body: strings.Replace(messageStream, "end_turn", "refusal", 1), reason: backends.FailAborted,
			detail: "content_filter"},
		{api: messages, body: named("message_start", messageStart), reason: backends.FailTruncated, detail: "finish_reason"},
		{api: messages, body: named("error", `{"type":"error","error":{"type":"overloaded_error","message":"boom"}}`),
			reason: backends.FailServerErrorEvent, detail: "boom"},
		{api: responses, body: named("error", `{"type":"error","message":"boom"}`), reason: backends.FailServerErrorEvent,
			detail: "boom"},
		{api: messages, body: `{"text":"x"}`, whole: true, reason: backends.FailBadEvent, detail: "no type"},
		{api: responses, body: `{"id":"x"}`, whole: true, reason: backends.FailBadEvent, detail: "neither a type nor an output"},
		{api: responses, body: `{"output":3}`, whole: true, reason: backends.FailBadEvent, detail: "wrong type"},
	} {
		a := newTyped(typedConfig(c.api, !c.whole))
		kind := "text/event-stream"
		if c.whole {
			kind = "application/json"
		}
		a.Begin(kind)
		n, rest := 0, []byte(c.body)
		for got := 1; got > 0; {
			got, rest = a.Feed(rest)
			n += got
		}
		var o backends.Outcome
		detail := a.Finish(&o, backends.OK)
		require.Equal(t, c.reason, o.Reason, "%s: %s", c.body, detail)
		require.Contains(t, detail, c.detail)
		if c.reason == backends.OK {
			require.Equal(t, 7, o.InputTokens)
			require.Equal(t, 3, o.NTokens)
			require.Equal(t, "answer", string(o.Text))
			require.Equal(t, "stop", o.FinishReason)
			require.True(t, c.whole || n == 3, "a thought and two pieces of text: %d", n)
		}
	}
}

func FuzzTypedAnswer(f *testing.F) {
	f.Add([]byte(messageStream), true)
	f.Add([]byte(responseStream), false)
	f.Fuzz(func(t *testing.T, body []byte, isMessage bool) {
		api := responses
		if isMessage {
			api = messages
		}
		for _, stream := range []bool{false, true} {
			a := newTyped(typedConfig(api, stream))
			a.Begin(map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
			rest := body
			for got := 1; got > 0; {
				got, rest = a.Feed(rest)
			}
			var o backends.Outcome
			detail := a.Finish(&o, backends.OK)
			require.Equal(t, o.Reason == backends.OK, detail == "")
		}
	})
}

func TestServersWithoutTypedRoutes(t *testing.T) {
	for _, d := range []*Driver{LlamaCpp, Ollama, {name: "trtllm", dialect: trtllm}} {
		_, err := d.Protocol(typedConfig(messages, true))
		require.ErrorContains(t, err, `no supported route for the API "messages"`)
	}
	p, err := SGLang.Protocol(typedConfig(responses, true))
	require.NoError(t, err)
	require.Equal(t, "/v1/responses", p.Path)
}
