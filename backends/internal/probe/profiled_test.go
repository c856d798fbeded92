package probe_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/probe"
)

// A server reveals its profiler in its list of routes, and in its settings in the form of every version.
func TestProfilersOfAServer(t *testing.T) {
	for name, c := range map[string]struct {
		routes map[string]string
		want   []string
	}{
		"none": {map[string]string{"/openapi.json": `{"paths": {"/v1/models": {}}}`,
			"/server_info": `{"vllm_config": "ProfilerConfig(profiler=None)"}`}, nil},
		"no settings": {nil, nil},
		"a route": {map[string]string{"/openapi.json": `{"paths": {"/start_profile": {"post": {}}}}`},
			[]string{"it has the route /start_profile"}},
		"a list that is no JSON": {map[string]string{"/openapi.json": `/start_profile`}, nil},
		"a setting": {map[string]string{"/server_info": `{"vllm_config": {"profiler_config": {"profiler": "torch", "torch_profiler_dir": ""}}}`},
			[]string{"its setting profiler"}},
		"settings off": {map[string]string{"/server_info": `{"vllm_config": {"profiler_config": {"profiler": null}}, "vllm_env": {"VLLM_TORCH_PROFILER_DIR": ""}, "enable_layerwise_nvtx_tracing": false}`}, nil},
		"text":         {map[string]string{"/server_info": `{"vllm_config": "model='m', profiler_config=ProfilerConfig(profiler='cuda', delay=0)"}`}, []string{"its setting profiler"}},
		"a variable": {map[string]string{"/server_info": `{"vllm_env": [{"VLLM_TORCH_PROFILER_DIR": "/tmp"}]}`},
			[]string{"its setting VLLM_TORCH_PROFILER_DIR"}},
	} {
		t.Run(name, func(t *testing.T) {
			inner := old(t, true)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.NotContains(t, r.URL.Path, "profile", "it is not to be started")
				switch text, ok := c.routes[r.URL.Path]; {
				case ok:
					_, _ = io.WriteString(w, text)
				case r.URL.Path == "/openapi.json" || r.URL.Path == "/server_info":
					http.NotFound(w, r)
				default:
					answer, err := http.DefaultTransport.RoundTrip(redirected(r, inner))
					require.NoError(t, err)
					defer answer.Body.Close()
					_, _ = io.Copy(w, answer.Body)
				}
			}))
			t.Cleanup(s.Close)
			p, err := ask(t, config(s.URL))
			require.NoError(t, err)
			require.Equal(t, c.want, p.Profilers)
		})
	}
	p := &probe.Prober{}
	require.NoError(t, p.Profilers(t.Context()), "a server without a version is not asked")
}

// redirected is a request to another server.
func redirected(r *http.Request, url string) *http.Request {
	to, err := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.Path, r.Body)
	if err != nil {
		panic(err)
	}
	return to
}
