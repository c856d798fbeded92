package sglang_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/sglang"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

const modelInfo = `{"model_path":"some/model","is_generation":true}`

// pages are the answers of SGLang by path; other paths are answered 404.
func pages() map[string]string {
	return map[string]string{
		"/health":      "",
		"/server_info": `{"version":"0.5.23","context_length":4096,"internal_states":[{}]}`,
		"/model_info":  modelInfo,
		"/v1/models":   `{"object":"list","data":[{"id":"m","owned_by":"sglang","max_model_len":8192}]}`,
		"/generate":    "stream",
	}
}

func server(t *testing.T, pages map[string]string, bodies *wiretest.Bodies) string {
	pages = maps.Clone(pages) // the test changes its own map while the server still reads
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case page == "slow":
			time.Sleep(1100 * time.Millisecond)
		case page == "stream":
			body, _ := io.ReadAll(r.Body)
			bodies.Add(string(body))
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, event("5", 1, running)+event("5,6", 2, `{"type":"stop","matched":6}`)+wiretest.Done)
		case page == "increments":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, event("5", 1, running)+event("6", 2, `{"type":"stop","matched":6}`)+wiretest.Done)
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, page)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func probe(t *testing.T, pages map[string]string, bodies *wiretest.Bodies, vocabulary int) (*backends.Probe, error) {
	c := &backends.Config{
		RequestOptions: backends.RequestOptions{ServedModel: "m", Stream: true, Sampling: models.Sampling{MaxTokens: 128}},
		AnswerOptions:  backends.AnswerOptions{NeedIDs: true, Vocabulary: vocabulary},
	}
	return sglang.Driver{}.Probe(context.Background(), backends.Endpoint{URL: server(t, pages, bodies)}, c,
		&datasets.Sample{InputIDs: []int32{1, 2}}, true)
}

// TestProbe waits for a health check of more than a second.
func TestProbe(t *testing.T) {
	t.Parallel()
	var bodies wiretest.Bodies
	slow := pages()
	slow["/health"] = "slow"
	p, err := probe(t, slow, &bodies, 1000)
	require.NoError(t, err)
	require.Positive(t, p.TTFT)
	require.Contains(t, string(p.Info), `"context_length"`)
	p.TTFT, p.Latency, p.URL, p.Info = 0, 0, "", nil
	require.Equal(t, &backends.Probe{
		Server: "sglang", Version: "0.5.23", Models: []string{"m"}, MaxModelLen: 8192, HealthStatus: 200, Client: "epoll",
		Generated: true, TokenIDPrompt: true, ReturnsTokenIDs: true, Usage: true, Streams: true,
		StreamMode: backends.StreamCumulative, OutputTokens: 2, Identity: map[string]string{"model_path": "some/model"},
	}, p)
	require.Len(t, bodies.All(), 1)
	require.Regexp(t, `^{"rid":"[0-9a-f]{32}","input_ids":\[1,2\],"sampling_params":{"max_new_tokens":8},"stream":true}$`,
		bodies.All()[0])
}

func TestProbeOfOlderAndOtherServers(t *testing.T) {
	t.Parallel()
	var bodies wiretest.Bodies
	old := pages()
	old["/get_server_info"], old["/get_model_info"] = old["/server_info"], old["/model_info"]
	delete(old, "/server_info")
	delete(old, "/model_info")
	p, err := probe(t, old, &bodies, 0)
	require.NoError(t, err)
	require.Equal(t, "0.5.23", p.Version)
	require.Equal(t, []string{"the vocabulary is unknown, so prompt ids cannot be checked: one id outside of it crashes " +
		"SGLang"}, p.Notes)

	delete(old, "/get_server_info")
	delete(old, "/get_model_info")
	p, err = probe(t, old, &bodies, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"GET /server_info returned nothing (HTTP 404)",
		"GET /model_info returned nothing (HTTP 404)"},
		p.Notes)
	require.Equal(t, "sglang", p.Server, "as its list of models says")
}

// TestProbeOfStreams finds what a server's streams repeat from its arguments, or else from its short answer. The answer
// has to fit the arguments.
func TestProbeOfStreams(t *testing.T) {
	const increments = "increments"
	for _, c := range []struct {
		name, info, answer string
		want               backends.StreamMode
		fault              string
	}{
		{"cumulative by argument", `"incremental_streaming_output":false`, "stream", backends.StreamCumulative, ""},
		{"the older argument, off", `"stream_output":false`, "stream", backends.StreamCumulative, ""},
		{"incremental by argument", `"incremental_streaming_output":true`, increments, backends.StreamIncremental, ""},
		{"the older argument", `"stream_output":true`, increments, backends.StreamIncrementalIDs, ""},
		{"no argument, cumulative", `"x":1`, "stream", backends.StreamCumulative, ""},
		{"no argument, incremental", `"x":1`, increments, backends.StreamIncremental, ""},
		{"an answer against the argument", `"incremental_streaming_output":true`, "stream", "", "only new ids"},
		{"and the other way round", `"incremental_streaming_output":false`, increments, "", "repeats all ids"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var bodies wiretest.Bodies
			all := pages()
			all["/server_info"], all["/generate"] = `{"version":"0.5.23",`+c.info+`}`, c.answer
			p, err := probe(t, all, &bodies, 1000)
			if c.fault != "" {
				require.ErrorContains(t, err, c.fault)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, p.StreamMode)
		})
	}
}

func TestProbeFaults(t *testing.T) {
	for _, c := range []struct {
		name, path, page string
		fault            backends.Fault
		text             string
	}{
		{"another model", "/v1/models", `{"data":[{"id":"other"}]}`, backends.FaultWrongModel, `serves "other"`},
		{"an embedding model", "/model_info", `{"model_path":"e","is_generation":false}`, backends.FaultGenerate,
			"is_generation is false"},
		{"generation fails", "/generate", `{"error":{"message":"unknown parameter"}}`, backends.FaultGenerate,
			"unknown parameter"},
		{"no ids", "/generate", "data: {}", backends.FaultGenerate, "/generate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var bodies wiretest.Bodies
			all := pages()
			all[c.path] = c.page
			_, err := probe(t, all, &bodies, 1000)
			var e *backends.EndpointError
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.fault, e.Fault, e.Text)
			require.Contains(t, e.Text, c.text)
		})
	}
	var bodies wiretest.Bodies
	_, err := probe(t, pages(), &bodies, 2)
	require.ErrorContains(t, err, "prompt id 2 at position 1 is outside the vocabulary of 2 ids: it is not sent")
	require.Empty(t, bodies.All(), "it is not sent")
}
