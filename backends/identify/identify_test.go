package identify_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/identify"
	_ "github.com/mlperf-go/mlperf-go/backends/llamacpp"
	_ "github.com/mlperf-go/mlperf-go/backends/ollama"
	_ "github.com/mlperf-go/mlperf-go/backends/openai"
	_ "github.com/mlperf-go/mlperf-go/backends/sglang"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering serves fixed answers; a path that begins with ! answers 500.
func answering(t *testing.T, routes map[string]string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, broken := routes["!"+r.URL.Path]; broken {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, text)
			return
		}
		text, ok := routes[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if name, own := strings.CutPrefix(text, "Server: "); own {
			w.Header().Set("Server", name)
			return
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func owned(by string) string { return `{"object":"list","data":[{"id":"m","owned_by":"` + by + `"}]}` }

const (
	version = `{"version":"0.32.0"}`
	props   = `{"default_generation_settings":{"n_ctx":2048},"total_slots":4,"build_info":"b0-unknown"}`
	info    = `{"model_path":"tiny","tokenizer_path":"tiny","is_generation":true}`
)

// TestKinds: the answers of the servers in docs/reference/wire-protocols.md#telling-servers-apart: complete, hidden in
// part by a gateway, or mixed.
func TestKinds(t *testing.T) {
	for name, c := range map[string]struct {
		routes      map[string]string
		backend     string
		backends    []string
		version     string
		contradicts bool
	}{
		"vllm": {routes: map[string]string{"/v1/models": owned("vllm"), "/version": version, "/load": `{"server_load":0}`},
			backend: "vllm", version: "0.32.0"},
		"vllm with a key": {routes: map[string]string{"/version": version, "/load": `{"server_load":3}`},
			backend: "vllm", version: "0.32.0"},
		"vllm behind a gateway": {routes: map[string]string{"/v1/models": owned("vllm")}, backend: "vllm"},
		"only a version": {routes: map[string]string{"/version": version},
			backends: []string{"trtllm", "vllm"}, version: "0.32.0"},
		"trtllm": {routes: map[string]string{"/v1/models": owned("tensorrt_llm"),
			"/version": version}, backend: "trtllm", version: "0.32.0"},
		"sglang": {routes: map[string]string{"/v1/models": owned("sglang"), "/model_info": info,
			"/get_model_info": info}, backend: "sglang"},
		"sglang before November 2025": {routes: map[string]string{"/v1/models": owned("sglang"), "/get_model_info": info},
			backend: "sglang"},
		"sglang with Ollama's tags": {routes: map[string]string{"/model_info": info, "/api/tags": `{"models":[]}`},
			backend: "sglang"},
		"sglang's router": {routes: map[string]string{"/v1/models": owned("unknown"), "/get_model_info": info},
			backend: "sglang"},
		"llamacpp": {routes: map[string]string{"/v1/models": owned("llamacpp"), "/props": props},
			backend: "llamacpp"},
		"ollama": {routes: map[string]string{"/v1/models": owned("library"),
			"/api/version": `{"version":"0.17.4"}`}, backend: "ollama", version: "0.17.4"},
		"nothing":          {routes: map[string]string{}},
		"an unknown owner": {routes: map[string]string{"/v1/models": owned("acme")}},
		"two owners": {routes: map[string]string{"/v1/models": `{"data":[{"owned_by":"vllm"},{"owned_by":"sglang"}]}`},
			backends: []string{"sglang", "vllm"}},
		"vllm and llama.cpp": {routes: map[string]string{"/v1/models": owned("vllm"), "/props": props},
			contradicts: true},
		"sglang and a version": {routes: map[string]string{"/model_info": info, "/version": version},
			contradicts: true, version: "0.32.0"},
		"no JSON": {routes: map[string]string{"/v1/models": "<html>", "/version": "0.32",
			"/props": "[]", "/load": "null", "/model_info": `"x"`}},
		"members of another kind": {routes: map[string]string{"/v1/models": `{"data":7}`, "/version": `{"version":7}`,
			"/load": `{"load":1}`}},
		"a version without a text": {routes: map[string]string{"/version": `{"version":""}`}},
		"errors":                   {routes: map[string]string{"!/v1/models": owned("vllm"), "!/version": version}},
		"the first name of a route lies": {routes: map[string]string{"/model_info": `{}`, "/get_model_info": info},
			backend: "sglang"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := identify.Ask(context.Background(), &backends.Config{}, backends.Endpoint{URL: answering(t, c.routes)})
			require.NoError(t, err)
			want := c.backends
			if c.backend != "" {
				want = []string{c.backend}
			}
			require.ElementsMatch(t, want, s.Backends, "%v", s.Signs)
			require.Equal(t, c.backend, s.Backend())
			require.Equal(t, c.contradicts, s.Contradicts())
			require.Equal(t, c.version, s.Version)
			require.False(t, s.Simulator)
			require.NotEmpty(t, s.Why())
		})
	}
}

// A server that does not answer is an error, not a server of an unknown kind. A single route that hangs is only no
// sign.
func TestServersThatDoNotAnswer(t *testing.T) {
	_, err := identify.Ask(t.Context(), &backends.Config{}, backends.Endpoint{URL: "http://127.0.0.1:1"})
	var e *backends.EndpointError
	require.ErrorAs(t, err, &e)
	require.Equal(t, backends.FaultUnreachable, e.Fault)
	require.Contains(t, e.Text, "/v1/models")

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			<-release
			return
		}
		_, _ = io.WriteString(w, owned("vllm"))
	}))
	defer s.Close()
	defer close(release)
	found, err := identify.Ask(ctx, &backends.Config{}, backends.Endpoint{URL: s.URL})
	require.NoError(t, err)
	require.Equal(t, "vllm", found.Backend())
}

// The simulator identifies itself in every answer, whichever server it plays. Texts of servers are foreign.
func TestTheSimulatorAndForeignText(t *testing.T) {
	s, err := identify.Ask(t.Context(), &backends.Config{}, backends.Endpoint{URL: answering(t, map[string]string{
		"/props": "Server: mlperf-go-sim"})})
	require.NoError(t, err)
	require.True(t, s.Simulator)
	require.Empty(t, s.References)
	sum := strings.Repeat("0af9", 16)
	for answer, want := range map[string]string{`{"references":"` + sum + `"}`: sum, `{"references":""}`: "",
		`{"references":"\u001b[2J"}`: "", `{"references":7}`: "", `[]`: "", "": ""} {
		s, err = identify.Ask(t.Context(), &backends.Config{}, backends.Endpoint{URL: answering(t, map[string]string{
			"/props": "Server: mlperf-go-sim", "/mlperf-go-sim": answer})})
		require.NoError(t, err)
		require.Equal(t, want, s.References, answer)
	}
	s, err = identify.Ask(t.Context(), &backends.Config{}, backends.Endpoint{URL: answering(t, map[string]string{
		"/mlperf-go-sim": `{"references":"` + sum + `"}`})})
	require.NoError(t, err)
	require.Empty(t, s.References, "only the simulator is asked")
	s, err = identify.Ask(t.Context(), &backends.Config{}, backends.Endpoint{URL: answering(t, map[string]string{
		"/version": `{"version":"1\u001b[2J\nVALID` + strings.Repeat("x", 1000) + `"}`})})
	require.NoError(t, err)
	require.NotContains(t, s.Why(), "\x1b")
	require.NotContains(t, s.Why(), "\n")
	require.Less(t, len(s.Why()), 300)
}

// All questions are sent at once, each route once, with the key. Only the first is reported.
func TestQuestions(t *testing.T) {
	asked := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		http.NotFound(w, r)
	}))
	defer s.Close()
	var reported []string
	c := &backends.Config{}
	c.Asking = func(request string, _ time.Duration) { reported = append(reported, request) }
	_, err := identify.Ask(t.Context(), c, backends.Endpoint{URL: s.URL, APIKey: "k"})
	require.NoError(t, err)
	close(asked)
	var all []string
	for a := range asked {
		all = append(all, a)
	}
	require.ElementsMatch(t, []string{"GET /v1/models Bearer k", "GET /version Bearer k", "GET /load Bearer k",
		"GET /model_info Bearer k", "GET /get_model_info Bearer k", "GET /props Bearer k", "GET /api/version Bearer k"}, all)
	require.Equal(t, []string{"GET " + s.URL + "/v1/models"}, reported)
}

// FuzzAnswers: any answer is read within bounds, and the sentence about it is one printable line.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{version, props, info, owned("vllm"), `{"server_load":0}`, `null`, `[`, "\xff"} {
		f.Add(seed)
	}
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	}))
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		found, err := identify.Ask(t.Context(), &backends.Config{}, backends.Endpoint{URL: s.URL})
		require.NoError(t, err)
		require.NotContains(t, found.Why(), "\n")
		require.NotContains(t, found.Why(), "\x1b")
	})
}
