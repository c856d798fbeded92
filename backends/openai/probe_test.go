package openai_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	_ "github.com/mlperf-go/mlperf-go/backends/llamacpp" // names the owner in lists of models
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

const (
	modelList = `{"object":"list","data":[{"id":"other","owned_by":"vllm","max_model_len":10},{"id":"m","owned_by":"vllm","max_model_len":4096}]}`
	answer    = `{"choices":[{"index":0,"text":"w","finish_reason":"stop","token_ids":[5,6]}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	stream    = "data: {\"choices\":[{\"index\":0,\"text\":\"w\",\"finish_reason\":null,\"token_ids\":[5]}]}\n\ndata: " +
		"{\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\",\"token_ids\":[6]}]}\n\ndata: " +
		"{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n"
)

// page is the answer to one path.
type page struct {
	status     int
	kind, body string
	location   string
}

// server answers like vLLM, except for the given pages.
func server(t *testing.T, bodies *wiretest.Bodies, pages map[string]page) string {
	all := map[string]page{
		"/health":         {status: 200},
		"/version":        {status: 200, kind: "application/json", body: `{"version":"0.23.0"}`},
		"/v1/models":      {status: 200, kind: "application/json", body: modelList},
		"/v1/completions": {status: 200, kind: "text/event-stream; charset=utf-8", body: stream},
	}
	for path, p := range pages {
		all[path] = p
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bodies != nil && r.Method == http.MethodPost {
			bodies.Add(string(body))
		}
		p, ok := all[r.URL.Path]
		if !ok {
			p.status = 404
		}
		if p.location != "" {
			w.Header().Set("Location", p.location)
		}
		w.Header().Set("Content-Type", p.kind)
		w.WriteHeader(p.status)
		w.Write([]byte(p.body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func probe(t *testing.T, url string, c *backends.Config, generate bool) (*backends.Probe, error) {
	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	sample := &datasets.Sample{InputIDs: []int32{1, 2}}
	return d.Probe(context.Background(), backends.Endpoint{URL: url}, c, sample, generate)
}

func probeConfig() *backends.Config {
	return &backends.Config{
		RequestOptions: backends.RequestOptions{ServedModel: "m", Stream: true,
			Sampling: models.Sampling{MaxTokens: 128, MinTokens: 100}},
		AnswerOptions: backends.AnswerOptions{NeedIDs: true, MinTokens: 100, Vocabulary: 1000},
	}
}

func TestProbe(t *testing.T) {
	var bodies wiretest.Bodies
	p, err := probe(t, server(t, &bodies, nil), probeConfig(), true)
	require.NoError(t, err)
	require.Positive(t, p.TTFT)
	require.GreaterOrEqual(t, p.Latency, p.TTFT)
	require.True(t, strings.HasPrefix(p.URL, "http://127.0.0.1:"))
	p.TTFT, p.Latency, p.URL = 0, 0, ""
	require.Equal(t, &backends.Probe{
		Server: "vllm", Version: "0.23.0", Models: []string{"other", "m"}, MaxModelLen: 4096, HealthStatus: 200,
		Client:    "epoll",
		Generated: true, TokenIDPrompt: true, ReturnsTokenIDs: true, Usage: true, Streams: true, OutputTokens: 2,
	}, p)
	require.Equal(t, []string{`{"model":"m","prompt":[1,2],"max_tokens":8,"min_tokens":8,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true}`}, bodies.All())

	c := probeConfig()
	c.ProbeTokens = 16
	_, err = probe(t, server(t, &bodies, nil), c, true)
	require.NoError(t, err)
	require.Contains(t, bodies.All()[1], `"max_tokens":16,"min_tokens":16`)

	c = probeConfig()
	c.Stream = false
	p, err = probe(t, server(t, nil, map[string]page{"/v1/completions": {200, "application/json", answer, ""},
		"/version": {status: 404}}), c, true)
	require.NoError(t, err)
	require.False(t, p.Streams)
	require.Zero(t, p.TTFT)
	require.Positive(t, p.Latency)
	require.Equal(t, []string{"GET /version returns no version (HTTP 404)"}, p.Notes)
	p, err = probe(t, server(t, &bodies, nil), c, false)
	require.NoError(t, err)
	require.False(t, p.Generated)
	require.Len(t, bodies.All(), 2, "no generation was asked for")
}

// TestProbeOfOtherServers accepts routes that servers of OpenAI's family lack or have elsewhere
// (docs/reference/wire-protocols.md#differences-between-servers).
func TestProbeOfOtherServers(t *testing.T) {
	none, text := page{status: 404}, page{404, "text/plain", "Not Found", ""}
	owned := func(by string) page {
		return page{200, "application/json", `{"object":"list","data":[{"id":"m","object":"model","owned_by":"` + by + `"}]}`,
			""}
	}
	for name, c := range map[string]struct {
		pages  map[string]page
		server string
		health int
		notes  []string
	}{
		"TensorRT-LLM: metrics are a list of JSON": {map[string]page{"/v1/models": owned("tensorrt_llm"),
			"/metrics": {200, "application/json", `[{"iter":1,"numActiveRequests":3}]`, ""}}, "tensorrt-llm", 200, nil},
		"NIM: the health routes are below /v1": {map[string]page{"/health": none, "/v1/health/ready": {status: 200},
			"/version": none, "/v1/models": owned("nim")}, "", 200, []string{"GET /version returns no version (HTTP 404)"}},
		"llm-d: no version and no load, as text": {map[string]page{"/health": text, "/health/ready": {status: 200},
			"/version": text, "/load": text}, "vllm", 200, []string{"GET /version returns no version (HTTP 404)"}},
		"SageMaker's ping": {map[string]page{"/health": none, "/ping": {status: 200}}, "vllm", 200,
			nil},
		"no health route at all": {map[string]page{"/health": none}, "vllm", 404,
			[]string{"GET /health answered HTTP 404"}},
		"a version that is no object": {map[string]page{"/version": {200, "application/json", `"3.1"`, ""}},
			"vllm", 200, []string{`GET /version returns no version (HTTP 200 and no JSON of that kind: "\"3.1\"")`}},
		"metrics only with a flag, as llama.cpp": {map[string]page{"/v1/models": owned("llamacpp"),
			"/metrics": {501, "application/json", `{"error":{"code":501,"message":"This server does not support metrics endpoint.","type":"not_supported_error"}}`, ""}}, "llama.cpp", 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := probe(t, server(t, nil, c.pages), probeConfig(), true)
			require.NoError(t, err)
			require.Equal(t, []any{c.server, c.health, true}, []any{p.Server, p.HealthStatus, p.Generated})
			require.Equal(t, c.notes, p.Notes)
			require.Nil(t, p.InFlight)
		})
	}
}

func TestProbeFaults(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	html := page{200, "text/html; charset=utf-8", "<html>hello</html>", ""}
	for _, c := range []struct {
		name  string
		url   string
		pages map[string]page
		fault backends.Fault
		texts []string
	}{
		{"refused", "http://" + l.Addr().String(), nil, backends.FaultUnreachable,
			[]string{"GET http://127.0.0.1:", "/health failed", "connection refused", "Check host and port"}},
		{"no TLS", "tls", nil, backends.FaultTLS, []string{"/health failed", "Check that the server uses TLS"}},
		{"still loading", "", map[string]page{"/health": {status: 503}}, backends.FaultNotReady,
			[]string{"HTTP 503", "still loading"}},
		{"wrong key", "", map[string]page{"/v1/models": {401, "application/json", `{"error":"Unauthorized"}`, ""}},
			backends.FaultUnauthorized, []string{"HTTP 401", "API key", "--api-key"}},
		{"redirect", "", map[string]page{"/v1/models": {302, "", "", "https://elsewhere/"}}, backends.FaultRedirect,
			[]string{"HTTP 302", `"https://elsewhere/"`, "not followed"}},
		{"HTML", "", map[string]page{"/v1/models": html}, backends.FaultNotJSON, []string{"web page"}},
		{"not JSON", "", map[string]page{"/v1/models": {200, "text/plain", "hello", ""}}, backends.FaultNotJSON,
			[]string{`"hello"`, "not a list of models"}},
		{"no such route", "", map[string]page{"/v1/models": {status: 404}}, backends.FaultStatus,
			[]string{"HTTP 404. Is it an inference server's own port, and does the server have this route (--backend)?"}},
		{"no such page", "", map[string]page{"/v1/models": {404, "text/html;charset=utf-8", "<!DOCTYPE HTML>\n<html>", ""}},
			backends.FaultStatus, []string{"HTTP 404 with a web page (text/html). Is it"}},
		{"another model", "", map[string]page{"/v1/models": {200, "application/json", `{"data":[{"id":"a"},{"id":"b"}]}`,
			""}}, backends.FaultWrongModel, []string{`does not serve "m", it serves "a", "b"`, "--served-model"}},
		{"no token ids", "", map[string]page{"/v1/completions": {200, "text/event-stream",
			strings.NewReplacer(`,"token_ids":[5]`, "", `,"token_ids":[6]`, "").Replace(stream), ""}}, backends.FaultNoTokenIDs,
			[]string{"no token ids", "vLLM >= 0.10.2"}},
		{"neither ids nor usage", "", map[string]page{"/v1/completions": {200, "text/event-stream",
			"data: {\"choices\":[{\"text\":\"w\",\"finish_reason\":\"stop\"}]}\n\n", ""}}, backends.FaultNoTokenCount,
			[]string{"number of output tokens is unknown"}},
		{"not streamed", "", map[string]page{"/v1/completions": {200, "application/json", answer, ""}},
			backends.FaultNoStream, []string{"one whole answer came"}},
		{"generation fails", "", map[string]page{"/v1/completions": {500, "application/json", `{"error":{"message":"boom"}}`,
			""}}, backends.FaultGenerate, []string{"HTTP 500", "boom", "(http_500)"}},
		{"key required for generation", "", map[string]page{"/v1/completions": {status: 401}}, backends.FaultUnauthorized,
			[]string{"HTTP 401", "--api-key"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := c.url
			if url == "" || url == "tls" {
				url = server(t, nil, c.pages)
			}
			if c.url == "tls" {
				url = strings.Replace(url, "http:", "https:", 1)
			}
			_, err := probe(t, url, probeConfig(), true)
			var e *backends.EndpointError
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.fault, e.Fault)
			for _, text := range c.texts {
				require.Contains(t, e.Error(), text)
			}
			require.Contains(t, e.URL, "127.0.0.1")
		})
	}
}
