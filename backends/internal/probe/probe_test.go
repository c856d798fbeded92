package probe_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	_ "github.com/mlperf-go/mlperf-go/backends/openai"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

// old is a server that rejects some fields by their names, and sends ids only in the log probabilities.
func old(t *testing.T, logprobs bool, refuses ...string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			io.WriteString(w, `{"version":"0.8.5"}`)
		case "/v1/models":
			io.WriteString(w, `{"data":[{"id":"m","owned_by":"vllm"}]}`)
		case "/v1/completions":
			body, _ := io.ReadAll(r.Body)
			for _, field := range refuses {
				if strings.Contains(string(body), `"`+field+`"`) {
					w.WriteHeader(http.StatusBadRequest)
					io.WriteString(w, `{"detail":[{"loc":["body","`+field+`"],"msg":"extra fields not permitted"}]}`)
					return
				}
			}
			more := ""
			if logprobs && strings.Contains(string(body), "return_tokens_as_token_ids") {
				more = `,"logprobs":{"tokens":["token_id:5"]}`
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"choices":[{"index":0,"text":"w","finish_reason":"stop"`+more+
				`}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func ask(t *testing.T, c *backends.Config) (*backends.Probe, error) {
	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	return d.Probe(context.Background(), c.Endpoints[0], c, &datasets.Sample{InputIDs: []int32{1}}, true)
}

func config(url string) *backends.Config {
	c := wiretest.Config(url)
	zero, one, seed := 0.0, 1.0, int64(3)
	c.Stream, c.Sampling = false, models.Sampling{MaxTokens: 4, Temperature: &zero, TopP: &one, Seed: &seed}
	return c
}

func TestRefusedFieldsAreLeftOut(t *testing.T) {
	url := old(t, true, "return_token_ids", "seed")
	p, err := ask(t, config(url))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"return_token_ids", "seed"}, p.Dropped)
	require.True(t, p.IDsInLogprobs)
	require.True(t, p.ReturnsTokenIDs)
	require.Contains(t, strings.Join(p.Notes, "\n"), "rejects return_token_ids (http_400)")
	require.Contains(t, strings.Join(p.Notes, "\n"), "among the log probabilities only")
	require.Equal(t, "0.8.5", p.Version)
}

func TestRequiredFieldsAreNotLeftOut(t *testing.T) {
	for field, set := range map[string]func(*backends.Config){
		"min_tokens": func(c *backends.Config) { c.Sampling.MinTokens = 2 },
		"seed":       func(c *backends.Config) { hot := 0.7; c.Sampling.Temperature = &hot },
	} {
		url := old(t, true, field)
		c := config(url)
		set(c)
		p, err := ask(t, c)
		require.ErrorContains(t, err, "extra fields not permitted", field)
		require.Empty(t, p.Dropped)
	}
}

func TestMissingIDs(t *testing.T) {
	url := old(t, false)
	p, err := ask(t, config(url))
	var e *backends.EndpointError
	require.ErrorAs(t, err, &e)
	require.Equal(t, backends.FaultNoTokenIDs, e.Fault)
	require.False(t, p.IDsInLogprobs)
	c := config(url)
	c.NeedIDs = false
	p, err = ask(t, c)
	require.NoError(t, err, "the count is enough where the text is the answer")
	require.False(t, p.ReturnsTokenIDs)
	require.True(t, p.Usage)
}

// A server without the route of the chosen API gets requests for the others, and the error names the API that it
// answers.
func TestWrongAPI(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"no route": {404, `{"detail":"Not Found"}`, "does not offer the route of --api generate: POST http://"},
		"not switched on": {403, `{"error":{"message":"start the server with --enable-scale-out"}}`,
			"does not offer the route of --api generate: POST http://"},
		"a missing model": {404, `{"error":{"message":"The model m does not exist"}}`, "(http_404)"},
	} {
		t.Run(name, func(t *testing.T) {
			url := old(t, true)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/inference/v1/generate" {
					w.WriteHeader(c.status)
					io.WriteString(w, c.body)
					return
				}
				pass(t, w, r, url)
			}))
			t.Cleanup(s.Close)
			of := config(s.URL)
			of.API = "generate"
			_, err := ask(t, of)
			var e *backends.EndpointError
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Text, c.want)
			require.Equal(t, name != "a missing model",
				strings.Contains(e.Text, "Use --api completions, which the server answered."),
				e.Text)
		})
	}
}

// The first route with a number of other requests decides. A server without such a route is accepted; a server that
// does not answer is not.
func TestBusy(t *testing.T) {
	for name, c := range map[string]struct {
		metrics, load string
		want          int // -1: unknown
		note          string
	}{
		"nothing known": {"", "", -1, ""},
		"idle":          {"vllm:num_requests_running 0\n", "", 0, ""},
		"two engines, with labels and times": {`# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a } b"} 2 1700000000000
vllm:num_requests_running{engine="1"} 1.0
vllm:num_requests_waiting{engine="0"} 4
vllm:num_requests_swapped 100
`, `{"server_load": 9}`, 7, "GET /metrics reports 7 other requests in flight at the server: they slow the test down"},
		"SGLang":    {"sglang:num_running_reqs 1\nsglang:num_queue_reqs 0\n", "", 1, "1 other request in flight"},
		"llama.cpp": {"llamacpp:requests_processing 1\nllamacpp:requests_deferred 2\n", "", 3, "3 other requests"},
		"odd values": {"vllm:num_requests_running -1\nvllm:num_requests_waiting x\n" +
			"sglang:num_running_reqs 2147483648\n", "", -1, ""},
		"the largest value":       {"vllm:num_requests_running 2147483647\n", "", 2147483647, "2147483647 other"},
		"other metrics, and load": {"process_cpu 3\n", `{"server_load": 5}`, 5, "GET /load reports 5 other requests"},
		"a negative load":         {"", `{"server_load": -5}`, 0, ""},
		"a load without a number": {"", `{}`, -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := old(t, true)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, ours := map[string]string{"/metrics": c.metrics, "/load": c.load}[r.URL.Path]
				if ours && text != "" {
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, text)
					return
				}
				pass(t, w, r, url)
			}))
			t.Cleanup(s.Close)
			p, err := ask(t, config(s.URL))
			require.NoError(t, err)
			notes := strings.Join(p.Notes, "\n")
			if c.want < 0 {
				require.Nil(t, p.InFlight)
			} else {
				require.NotNil(t, p.InFlight)
				require.Equal(t, c.want, *p.InFlight)
			}
			require.Contains(t, notes, c.note)
			require.Equal(t, c.note != "", strings.Contains(notes, "in flight at the server"), notes)
		})
	}
	for _, broken := range []string{"/metrics", "/load"} {
		url := old(t, true)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == broken {
				panic(http.ErrAbortHandler)
			}
			pass(t, w, r, url)
		}))
		t.Cleanup(s.Close)
		_, err := ask(t, config(s.URL))
		require.ErrorContains(t, err, broken)
	}
}

// pass sends a request to another server.
func pass(t *testing.T, w http.ResponseWriter, r *http.Request, url string) {
	answer, err := http.DefaultTransport.RoundTrip(redirected(r, url))
	require.NoError(t, err)
	defer answer.Body.Close()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}
