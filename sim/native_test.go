package sim

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// nativeCase is a recorded exchange on a native route.
func nativeCase(t *testing.T, name string) (path, request string, docs []string) {
	folder := filepath.Join(golden.Dir(t, "wire"), name)
	raw, err := os.ReadFile(filepath.Join(folder, "request.json"))
	require.NoError(t, err)
	var q struct {
		Path string
		Body json.RawMessage
	}
	require.NoError(t, json.Unmarshal(raw, &q))
	body, err := os.ReadFile(filepath.Join(folder, "body.txt"))
	require.NoError(t, err)
	return q.Path, string(q.Body), documentsOf(string(body))
}

// documentsOf returns the documents of a stream of events or lines.
func documentsOf(body string) (docs []string) {
	for line := range strings.SplitSeq(body, "\n") {
		if doc := strings.TrimPrefix(strings.TrimSpace(line), "data: "); doc != "" && doc != "[DONE]" {
			docs = append(docs, doc)
		}
	}
	return docs
}

// keys returns the members of a document and their types.
func keys(t *testing.T, doc string) map[string]string {
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(doc), &fields), doc)
	kinds := map[string]string{}
	for key, value := range fields {
		switch value.(type) {
		case string:
			kinds[key] = "string"
		case float64:
			kinds[key] = "number"
		case bool:
			kinds[key] = "bool"
		case []any:
			kinds[key] = "list"
		default:
			kinds[key] = "object"
		}
	}
	return kinds
}

// TestGoldenNativeShapes sends the recorded requests of the native routes. Every member of each recorded document must
// be present with its type.
func TestGoldenNativeShapes(t *testing.T) {
	for name, plays := range map[string]string{"llamacpp-native-completion-stream": "llamacpp",
		"rec-ollama-api-generate-ndjson": "ollama", "rec-ollama-chat-stream": "ollama", "rec-ollama-completions": "ollama",
		"rec-ollama-completions-stream": "ollama", "sglang-generate": "sglang", "sglang-generate-batch-stream": "sglang",
		"sglang-generate-stream-cumulative": "sglang", "sglang-completions-stream": "sglang"} {
		t.Run(name, func(t *testing.T) {
			path, request, want := nativeCase(t, name)
			v := serve(t, func(c *Config) { c.Model, c.OutputTokens, c.Dialect = "tiny", 2, plays })
			got := documentsOf(v.mustPost(path, request))
			for from, at := range map[int]int{0: 0, len(want) - 1: len(got) - 1} {
				have := keys(t, got[at])
				for key, kind := range keys(t, want[from]) {
					require.Equal(t, kind, have[key], "%s: %s", key, got[at])
				}
			}
		})
	}
}

func TestLlamaCpp(t *testing.T) {
	v := serve(t, func(c *Config) { c.OutputTokens, c.Dialect = 3, "llamacpp" })
	docs := documentsOf(v.mustPost("/completion", `{"prompt":[5,6],"n_predict":-1,"stream":true,"return_tokens":true}`))
	require.Len(t, docs, 4, "three tokens and the end")
	var ids []int32
	for i, doc := range docs {
		var d struct {
			Tokens    []int32
			Predicted int `json:"tokens_predicted"`
			Evaluated int `json:"tokens_evaluated"`
			Stop      bool
			Kind      string `json:"stop_type"`
		}
		require.NoError(t, json.Unmarshal([]byte(doc), &d))
		require.Equal(t, []any{min(i+1, 3), 2, i == 3}, []any{d.Predicted, d.Evaluated, d.Stop})
		ids = append(ids, d.Tokens...)
		if d.Stop {
			require.Equal(t, "eos", d.Kind)
		}
	}
	whole := v.mustPost("/completion", `{"prompt":[[5,6],[7]],"n_predict":2,"return_tokens":true}`)
	var list []struct {
		Index  int
		Tokens []int32
		Kind   string `json:"stop_type"`
	}
	require.NoError(t, json.Unmarshal([]byte(whole), &list))
	require.Len(t, list, 2)
	require.Equal(t, []any{ids[:2], "limit", 1}, []any{list[0].Tokens, list[0].Kind, list[1].Index})
	require.NotContains(t, v.mustPost("/completion", `{"prompt":"a","n_predict":0}`), `"tokens":[1`,
		"ids are not asked for")

	status, _, body, err := v.post("/completion", `{"prompt":[999999]}`)
	require.NoError(t, err)
	require.Equal(t, 400, status)
	require.Contains(t, body, `{"error":{"code":400,"message":`)
	_, props := v.get("/props")
	require.Contains(t, props, `"n_ctx":131072`)
}

func TestOllama(t *testing.T) {
	v := serve(t, func(c *Config) { c.Model, c.OutputTokens, c.Dialect = "tiny", 3, "ollama" })
	for path, request := range map[string]string{
		"/api/generate": `{"model":"tiny","prompt":"a b","options":{"num_predict":2}}`,
		"/api/chat":     `{"model":"tiny","messages":[{"role":"user","content":"a b"}],"options":{"num_predict":2}}`,
	} {
		docs := documentsOf(v.mustPost(path, request))
		require.Len(t, docs, 3, "two tokens and the end")
		var d struct {
			Done   bool
			Reason string `json:"done_reason"`
			Count  int    `json:"eval_count"`
		}
		require.NoError(t, json.Unmarshal([]byte(docs[2]), &d))
		require.Equal(t, []any{true, "length", 2}, []any{d.Done, d.Reason, d.Count})
	}
	require.Contains(t, v.mustPost("/api/generate",
		`{"model":"tiny","prompt":"a","stream":false,"options":{"num_predict":-1}}`), `"done":true,"done_reason":"stop"`)
	for request, want := range map[string]int{`{"model":"other","prompt":"a"}`: 404,
		`{"model":"tiny","prompt":[1,2]}`: 400, `{"model":"tiny"}`: 400, `{`: 400} {
		status, _, body, err := v.post("/api/generate", request)
		require.NoError(t, err)
		require.Equal(t, want, status)
		require.True(t, strings.HasPrefix(body, `{"error":"`), body)
	}
	_, tags := v.get("/api/tags")
	require.Contains(t, tags, `{"models":[{"name":"tiny"`)
	_, version := v.get("/api/version")
	require.JSONEq(t, `{"version":"0.17.4+sim"}`, version)
}

// TestNativeFaults: each fault of vLLM's wire has the same effect on these protocols, in their own form.
func TestNativeFaults(t *testing.T) {
	for plays, of := range map[string]struct {
		path, request string
		want          map[string]string
		noEnd         string
	}{
		"llamacpp": {"/completion", `{"prompt":[5],"stream":true,"return_tokens":true}`, map[string]string{
			"error_event": `{"error":{"code":500`, "wrong_count": `"tokens_predicted":11,`, "only_usage": `"stop":true`,
			"empty": `"tokens_predicted":0,"tokens_evaluated":1,"has_new_line"`}, `"stop":true`},
		"ollama": {"/api/generate", `{"model":"toy","prompt":"a"}`, map[string]string{
			"error_event": `{"error":"The engine failed`, "wrong_count": `"eval_count":11,`, "only_usage": `"done":true`,
			"empty": `"eval_count":0`}, `"done":true`},
		"sglang": {"/generate", `{"input_ids":[5],"stream":true}`, map[string]string{
			"error_event": `{"error":{"message":"The engine failed`, "wrong_count": `"completion_tokens":11,`,
			"only_usage": `{"meta_info":{"completion_tokens":8}}`, "empty": `"output_ids":[]`, "no_done": `"type":"stop"`,
			"abort": `{"type":"abort"`}, `"finish_reason":{`},
	} {
		for fault, want := range of.want {
			v := serve(t, func(c *Config) { c.Dialect, c.Faults = plays, Faults{fault: 1} })
			require.Contains(t, v.mustPost(of.path, of.request), want, "%s %s", plays, fault)
		}
		v := serve(t, func(c *Config) { c.Dialect, c.Faults = plays, Faults{"no_end": 1} })
		require.NotContains(t, v.mustPost(of.path, of.request), of.noEnd, plays)
	}
}

func TestNativeEventsAllocateNothing(t *testing.T) {
	s, err := New(fastConfig())
	require.NoError(t, err)
	s.engine = &engine{pace: &pacer{}}
	for name, d := range map[string]*protocol{"llama.cpp": llamaCpp, "ollama": ollama,
		"sglang": generateSGLang, "sglang completions": completionsSGLang, "sglang chat": chatSGLang,
		"llama.cpp chat": chatLlama, "ollama completions": completionsOllama} {
		r := &request{protocol: d, prompts: []prompt{{ids: make([]int32, 10), row: -1}},
			limits: []limits{{maxTokens: 64, ignoreEOS: true}}, stream: true, returnIDs: true, interval: 1}
		rp := s.prepare(nil, r, plan{tail: wholeTail}, 0)
		buf := make([]byte, 0, 4096)
		require.Zero(t, testing.AllocsPerRun(100, func() { buf = rp.enc.event(buf[:0], rp.seqs[0], 5, 6) }), name)
	}
}

func TestEmptyCache(t *testing.T) {
	v := serve(t, nil)
	v.mustPost("/v1/completions", `{"prompt":[5,6],"max_tokens":2}`)
	require.JSONEq(t, `{"success":true}`, v.mustPost("/reset_prefix_cache", ""),
		"a connection that is open and idle holds on to nothing")
	v.meters.inFlight.Add(1)
	require.JSONEq(t, `{"success":false}`, v.mustPost("/reset_prefix_cache", ""))
}

// TestSGLangNative tests the native route: streams with and without repeated tokens, batches, ids of requests, limits
// and refusals.
func TestSGLangNative(t *testing.T) {
	type document struct {
		Text string
		IDs  []int32 `json:"output_ids"`
		Meta struct {
			ID         string
			Finish     *struct{ Type string } `json:"finish_reason"`
			Prompt     int                    `json:"prompt_tokens"`
			Completion int                    `json:"completion_tokens"`
		} `json:"meta_info"`
		Index int
	}
	parse := func(doc string) (d document) {
		require.NoError(t, json.Unmarshal([]byte(doc), &d), doc)
		return d
	}
	const request = `{"input_ids":[5,6],"rid":"abc","stream":true,"sampling_params":{"max_new_tokens":3,"temperature":0}}`
	for _, incremental := range []bool{false, true} {
		v := serve(t, func(c *Config) { c.Dialect, c.Incremental = "sglang", incremental })
		docs := documentsOf(v.mustPost("/generate", request))
		require.Len(t, docs, 3)
		var text string
		var ids []int32
		for i, doc := range docs {
			d := parse(doc)
			require.Equal(t, []any{"abc", 2, i + 1, i == 2}, []any{d.Meta.ID, d.Meta.Prompt, d.Meta.Completion,
				d.Meta.Finish != nil})
			if !incremental {
				require.Equal(t, ids, append([]int32(nil), d.IDs[:i]...), "an event repeats the one before it")
				text, ids = "", nil
			}
			text, ids = text+d.Text, append(ids, d.IDs...)
			require.Len(t, ids, i+1)
		}
		whole := parse(v.mustPost("/generate", strings.Replace(request, `"stream":true`, `"stream":false`, 1)))
		require.Equal(t, []any{ids, text, "length"}, []any{whole.IDs, whole.Text, whole.Meta.Finish.Type})
		_, info := v.get("/server_info")
		require.Contains(t, info, `"incremental_streaming_output":`+strconv.FormatBool(incremental))
	}
	v := serve(t, func(c *Config) { c.Dialect = "sglang" })
	var list []document
	require.NoError(t, json.Unmarshal([]byte(v.mustPost("/generate", `{"input_ids":[[5,6],[7]],"rid":"x"}`)), &list))
	require.Equal(t, []any{"x_0", "x_1", 1}, []any{list[0].Meta.ID, list[1].Meta.ID, list[1].Index})
	require.NoError(t, json.Unmarshal([]byte(v.mustPost("/generate", `{"text":["a","b"],"rid":["p","q"]}`)), &list))
	require.Equal(t, []any{"p", "q"}, []any{list[0].Meta.ID, list[1].Meta.ID})
	for request, want := range map[string]string{
		`{"input_ids":[5],"sampling_params":{"nonsense":1}}`:         `{"error":{"message":"sampling_params: json: unknown field`,
		`{"input_ids":[5],"sampling_params":7}`:                      `an object is needed`,
		`{"input_ids":[5],"sampling_params":{"max_new_tokens":"a"}}`: `{"error":{"message":"sampling_params`,
		`{"input_ids":[]}`:                    `{"error":{"message":"`,
		`{}`:                                  `{"error":{"message":"`,
		`{"input_ids":[[5],[6]],"rid":["p"]}`: `mismatch`,
		`{"input_ids":[5],"rid":7}`:           `a string or a list`,
		`{"input_ids":[5],"sampling_params":{"max_new_tokens":999999999}}`: `max_model_len`,
	} {
		status, _, body, err := v.post("/generate", request)
		require.NoError(t, err)
		require.Equal(t, 400, status, request)
		require.Contains(t, body, want, request)
	}
}

// TestDialects: each kind of server has its distinguishing pages, and none of another kind.
func TestDialects(t *testing.T) {
	signs := map[string]string{"/version": `"0.32.0+sim"`, "/load": `"server_load"`, "/model_info": `"model_path"`,
		"/get_model_info": `"model_path"`, "/server_info": `"version":"0.5.23+sim"`, "/props": `"total_slots"`,
		"/api/version": `"0.17.4+sim"`}
	has := map[string][]string{"vllm": {"/version", "/load"}, "llamacpp": {"/props"}, "ollama": {"/api/version"},
		"sglang": {"/model_info", "/get_model_info", "/server_info"}}
	require.ElementsMatch(t, []string{"vllm", "sglang", "llamacpp", "ollama"}, Dialects())
	for _, name := range Dialects() {
		v := serve(t, func(c *Config) { c.Dialect = name })
		for path, want := range signs {
			status, body := v.get(path)
			if !slices.Contains(has[name], path) {
				require.Equal(t, 404, status, "%s %s", name, path)
				continue
			}
			require.Equal(t, 200, status, "%s %s", name, path)
			require.Contains(t, body, want)
		}
		_, models := v.get("/v1/models")
		require.Contains(t, models, `"owned_by":"`+dialects[name].owner+`"`)
	}
	_, err := New(func() Config { c := fastConfig(); c.Dialect = "tgi"; return c }())
	require.ErrorContains(t, err, `the dialect is "tgi"; it must be one of llamacpp, ollama, sglang, vllm`)
}

// TestOpenAIOfOtherServers compares the OpenAI routes of all dialects: each returns the same answer in its server's
// form (docs/reference/wire-protocols.md#differences-between-servers).
func TestOpenAIOfOtherServers(t *testing.T) {
	const completion = `{"model":"toy","prompt":"one two","max_tokens":3,"return_token_ids":true,"stream_options":{"include_usage":true},"stream":true}`
	const conversation = `{"model":"toy","messages":[{"role":"user","content":"a"}],"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}}`
	var texts []string
	for name, want := range map[string]struct {
		first, last, chatFirst, ids string
		events, chatEvents          int
	}{
		"sglang": {`"matched_stop":null`, `"finish_reason":"length"`, `"role":"assistant","content":""`, `"token_ids":[`, 4,
			6},
		"llamacpp": {`"id":"chatcmpl-`, `"usage":{"prompt_tokens":`, `"role":"assistant","content":null`, "", 4, 6},
		"ollama": {`"usage":{"prompt_tokens":0`, `"finish_reason":"length"`, `"delta":{"role":"assistant","content":"`, "", 5,
			5},
	} {
		v := serve(t, func(c *Config) { c.Dialect = name })
		body := v.mustPost("/v1/completions", completion)
		docs := documentsOf(body)
		require.Len(t, docs, want.events, "%s: %s", name, body)
		require.Contains(t, docs[0], want.first, name)
		require.Contains(t, body, want.last, name)
		require.Equal(t, want.ids != "", strings.Contains(body, `"token_ids":[`), name)
		require.Contains(t, body, `"completion_tokens":3`, name)
		_, text, finish := joined(t, body, 0)
		require.Equal(t, "length", finish, name)
		whole := decode(t, v.mustPost("/v1/completions", `{"model":"toy","prompt":"one two","max_tokens":3}`))
		require.Equal(t, text, whole.Choices[0].Text, name)
		require.Equal(t, 3, whole.Usage.Completion, name)
		texts = append(texts, text)
		body = v.mustPost("/v1/chat/completions", conversation)
		docs = documentsOf(body)
		require.Len(t, docs, want.chatEvents, "%s: %s", name, body)
		require.Contains(t, docs[0], want.chatFirst, name)
		require.Contains(t, docs[len(docs)-1], `"completion_tokens":3`, name)
		for path, request := range map[string]string{"/v1/completions": `{"model":"other","prompt":"a","max_tokens":1}`,
			"/v1/chat/completions": `{"model":"other","messages":[{"role":"user","content":"a"}],"max_tokens":1}`} {
			status, _, body, err := v.post(path, request)
			require.NoError(t, err)
			if name == "ollama" {
				require.Equal(t, 404, status)
				require.Contains(t, body, `"type":"api_error","param":null,"code":null}}`)
				continue
			}
			require.Equal(t, 200, status, "%s accepts any name", name)
			require.Contains(t, body, `"model":"other"`, "and repeats it")
		}
		v.faultBody(t, name)
	}
	require.Equal(t, []string{texts[0], texts[0], texts[0]}, texts)
}

// faultBody checks the form of a failed request and of an error event.
func (v *served) faultBody(t *testing.T, name string) {
	want := map[string]string{"sglang": `{"object":"error","message":"`, "llamacpp": `{"error":{"code":500,`,
		"ollama": `{"error":{"message":"The engine failed`}[name]
	for fault, status := range map[string]int{"http_500": 500, "error_event": 200} {
		f := serve(t, func(c *Config) { c.Dialect, c.Faults = name, Faults{fault: 1} })
		got, _, body, err := f.post("/v1/completions", `{"model":"toy","prompt":"a","stream":true}`)
		require.NoError(t, err)
		require.Equal(t, status, got)
		require.Contains(t, body, want, "%s %s", name, fault)
	}
}

// TestLlamaCppClosesAfterAStream: the server closes the connection although it announced to keep it.
func TestLlamaCppClosesAfterAStream(t *testing.T) {
	v := serve(t, func(c *Config) { c.Dialect = "llamacpp" })
	for _, stream := range []bool{false, true} {
		c, in := v.dial(`{"model":"toy","prompt":"a","stream":` + strconv.FormatBool(stream) + `}`)
		resp, err := http.ReadResponse(in, nil)
		require.NoError(t, err)
		require.False(t, resp.Close)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		if !stream {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		}
		_, err = in.ReadByte()
		require.Equal(t, stream, err == io.EOF, "%v", err)
	}
}
