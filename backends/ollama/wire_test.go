package ollama_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/ollama"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
	part = `{"model":"m","response":"w","done":false}` + "\n"
	end  = `{"model":"m","response":"","done":true,"done_reason":"stop","prompt_eval_count":4,"eval_count":3}` + "\n"
)

// on sends queries through one of the clients.
func on(name string) wiretest.Contract {
	return wiretest.Contract{Open: func(c *backends.Config) (backends.Backend, error) {
		return client.OpenOn(name, c, ollama.Driver{})
	}}
}

func config(url string) *backends.Config {
	c := wiretest.Config(url)
	c.NeedIDs, c.KeepText = false, true
	return c
}

// TestFaults has the ways in which Ollama fails one request, with both clients.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		script wiretest.Script
		want   backends.Reason
		text   string
	}{
		{"no such model", wiretest.Answers(wiretest.Whole(404, "application/json", `{"error":"model 'x' not found"}`)),
			"http_404", "model 'x' not found"},
		{"the prompt is too long", wiretest.Answers(wiretest.Whole(400, "application/json",
			`{"error":"the input length exceeds the context length"}`)), "http_400", "exceeds the context length"},
		{"busy", wiretest.Answers(wiretest.Whole(503, "application/json",
			`{"error":"server busy, please try again.  maximum pending requests exceeded"}`)), "http_503", "server busy"},
		{"error in the stream", wiretest.Answers(head + wiretest.Chunked(part,
			`{"error":"an error was encountered while running the model"}`+"\n")), backends.FailServerErrorEvent,
			"while running the model"},
		{"no end", wiretest.Answers(head + wiretest.Chunked(part, part)), backends.FailTruncated, "without a finish_reason"},
		{"the server dies", wiretest.Closes(head + wiretest.Chunks(part)), backends.FailTruncated, ""},
		{"no JSON", wiretest.Answers(head + wiretest.Chunked("{oops\n")), backends.FailBadJSON, "{oops"},
		{"no stream", wiretest.Answers(wiretest.Whole(200, "application/json", end)), backends.FailNoFirstToken,
			"a stream was requested"},
	} {
		for _, name := range []string{http1.Name, nethttp.Name} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				contract := on(name)
				r := contract.Ask(t, config(wiretest.Raw(t, c.script)), 1)
				require.Equal(t, c.want, r.Results[1].Reason)
				require.Len(t, r.Attempts, 1)
				require.Contains(t, r.Attempts[0].Detail, c.text)
				require.Contains(t, r.Attempts[0].Detail, "/api/generate")
			})
		}
	}
}

// TestLinesInPieces reads lines in any chunks, from servers that end the reply or keep it open.
func TestLinesInPieces(t *testing.T) {
	all := part + part + end
	chunks := []string{all[:7], all[7:50], all[50:91], all[91:]}
	body := head + wiretest.Chunks(chunks...)
	for name, script := range map[string]wiretest.Script{
		"whole": wiretest.Answers(body + "0\r\n\r\n"), "closed behind it": wiretest.Closes(body),
		"open behind it": wiretest.Silence(body),
	} {
		for _, client := range []string{http1.Name, nethttp.Name} {
			contract := on(client)
			r := contract.Ask(t, config(wiretest.Raw(t, script)), 3)
			require.Empty(t, r.Attempts, name)
			for _, got := range r.Results {
				require.Equal(t, []any{"ww", "stop", 4, 3, 3, backends.TokensFromUsage, 1},
					[]any{string(got.Text), got.FinishReason, got.InputTokens, got.UsageTokens, got.NTokens, got.TokenSource,
						got.FirstCalls})
			}
		}
	}
}

func TestProbe(t *testing.T) {
	pages := map[string]string{
		"/api/version": `{"version":"0.17.4"}`, "/api/tags": `{"models":[{"name":"tiny:latest","model":"tiny:latest"},{"name":"other:7b","model":"other:7b"}]}`,
		"/api/generate": `{"model":"tiny","response":"ab","done":true,"done_reason":"stop","prompt_eval_count":2,"eval_count":2}`,
	}
	ask := func(served string, needIDs bool) (*backends.Probe, error) {
		c := &backends.Config{RequestOptions: backends.RequestOptions{ServedModel: served,
			Sampling: models.Sampling{MaxTokens: 128, MinTokens: 2}}, AnswerOptions: backends.AnswerOptions{NeedIDs: needIDs}}
		return ollama.Driver{}.Probe(t.Context(), backends.Endpoint{URL: wiretest.Pages(t, pages)}, c,
			&datasets.Sample{Input: "a b"}, true)
	}
	p, err := ask("tiny", false)
	require.NoError(t, err)
	require.Equal(t, []any{"ollama", "0.17.4", 200, true, false, true, 2},
		[]any{p.Server, p.Version, p.HealthStatus, p.Generated, p.ReturnsTokenIDs, p.Usage, p.OutputTokens})
	require.Equal(t, []string{"tiny", "other:7b"}, p.Models)
	require.Contains(t, p.Notes[0], "min_tokens")
	_, err = ask("other:7b", false)
	require.NoError(t, err)
	for served, fault := range map[string]backends.Fault{"other": backends.FaultWrongModel,
		"tiny": backends.FaultNoTokenIDs} {
		_, err = ask(served, true)
		var e *backends.EndpointError
		require.ErrorAs(t, err, &e)
		require.Equal(t, fault, e.Fault)
	}
	pages["/api/tags"] = `<html>`
	_, err = ask("tiny", false)
	require.ErrorContains(t, err, "not a list of models")
}
