package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// documentsOf are the documents of a stream of events, or of lines.
func documentsOf(body string) (docs []string) {
	for line := range strings.SplitSeq(body, "\n") {
		if doc := strings.TrimPrefix(strings.TrimSpace(line), "data: "); doc != "" {
			docs = append(docs, doc)
		}
	}
	return docs
}

// keys are the members of a document and their types.
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

// TestGoldenNativeShapes sends the recorded requests of the native routes: every member of each recorded document is
// there, in its type.
func TestGoldenNativeShapes(t *testing.T) {
	for _, name := range []string{"llamacpp-native-completion-stream", "rec-ollama-api-generate-ndjson"} {
		t.Run(name, func(t *testing.T) {
			path, request, want := nativeCase(t, name)
			v := serve(t, func(c *Config) { c.Model, c.OutputTokens = "tiny", 2 })
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
	v := serve(t, func(c *Config) { c.OutputTokens = 3 })
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
	v := serve(t, func(c *Config) { c.Model, c.OutputTokens = "tiny", 3 })
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
	require.Contains(t, version, Version)
}

// TestNativeFaults: what a fault does to vLLM's wire it does to these, in their own words.
func TestNativeFaults(t *testing.T) {
	for fault, want := range map[string][2]string{
		"error_event": {`{"error":{"code":500`, `{"error":"The engine failed`},
		"wrong_count": {`"tokens_predicted":11,`, `"eval_count":11,`},
		"only_usage":  {`"stop":true`, `"done":true`},
		"empty":       {`"tokens_predicted":0,"tokens_evaluated":1,"has_new_line"`, `"eval_count":0`},
	} {
		v := serve(t, func(c *Config) { c.Faults = Faults{fault: 1} })
		require.Contains(t, v.mustPost("/completion", `{"prompt":[5],"stream":true,"return_tokens":true}`), want[0], fault)
		require.Contains(t, v.mustPost("/api/generate", `{"model":"toy","prompt":"a"}`), want[1], fault)
	}
	v := serve(t, func(c *Config) { c.Faults = Faults{"no_end": 1} })
	require.NotContains(t, v.mustPost("/completion", `{"prompt":[5],"stream":true}`), `"stop":true`)
	require.NotContains(t, v.mustPost("/api/generate", `{"model":"toy","prompt":"a"}`), `"done":true`)
}

func TestNativeEventsAllocateNothing(t *testing.T) {
	s, err := New(fastConfig())
	require.NoError(t, err)
	s.engine = &engine{pace: &pacer{}}
	for name, d := range map[string]*dialect{"llama.cpp": llamaCpp, "ollama": ollama} {
		r := &request{dialect: d, prompts: []prompt{{ids: make([]int32, 10), row: -1}},
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
