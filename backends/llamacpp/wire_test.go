package llamacpp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/client"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/nethttp"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
	"github.com/mlperf-go/mlperf-go/backends/llamacpp"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// on sends queries through one of the clients.
func on(name string) wiretest.Contract {
	return wiretest.Contract{Open: func(c *backends.Config) (backends.Backend, error) {
		return client.OpenOn(name, c, llamacpp.Driver{})
	}}
}

func event(id, count int) string {
	return fmt.Sprintf(`data: {"index":0,"content":"w","tokens":[%d],"stop":false,"tokens_predicted":%d,"tokens_evaluated":4}`+"\n\n", id, count)
}

const end = `data: {"index":0,"content":"","tokens":[],"stop":true,"tokens_predicted":2,"tokens_evaluated":4,"stop_type":"eos","truncated":false}` + "\n\n"

// TestFaults has the ways in which llama.cpp fails one request, with both clients.
func TestFaults(t *testing.T) {
	const head = wiretest.StreamHead
	loading := wiretest.Whole(503, "application/json",
		`{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)
	context := wiretest.Whole(400, "application/json",
		`{"error":{"code":400,"message":"request (2990 tokens) exceeds the available context size","type":"exceed_context_size_error"}}`)
	for _, c := range []struct {
		name   string
		script wiretest.Script
		want   backends.Reason
		text   string
	}{
		{"loading", wiretest.Answers(loading), "http_503", "Loading model"},
		{"context", wiretest.Answers(context), "http_400", "exceed_context_size_error"},
		{"not supported", wiretest.Answers(wiretest.Whole(501, "application/json",
			`{"error":{"code":501,"message":"no","type":"not_supported_error"}}`)), "http_501", "not_supported_error"},
		{"error in the stream", wiretest.Answers(head + wiretest.Chunked(event(5, 1),
			`data: {"error":{"code":500,"message":"slot died"}}`+"\n\n")), backends.FailServerErrorEvent, "slot died"},
		{"error line", wiretest.Answers(head + wiretest.Chunked(event(5, 1),
			"error: {\"code\":500,\"message\":\"slot died\"}\n\n")), backends.FailServerErrorEvent, "slot died"},
		{"no end", wiretest.Answers(head + wiretest.Chunked(event(5, 1), event(6, 2))), backends.FailTruncated,
			"without a finish_reason"},
		{"the server dies", wiretest.Closes(head + wiretest.Chunks(event(5, 1))), backends.FailTruncated, ""},
		{"no JSON", wiretest.Answers(head + wiretest.Chunked("data: {oops\n\n")), backends.FailBadJSON, "{oops"},
		{"no stream", wiretest.Answers(wiretest.Whole(200, "application/json", end[len("data: "):])), backends.FailBadEvent,
			"no token ids"},
		{"silence in the stream", wiretest.Silence(head + wiretest.Chunks(event(5, 1))), backends.FailBetweenTokens, ""},
	} {
		for _, name := range []string{http1.Name, nethttp.Name} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				t.Parallel()
				config := wiretest.Config(wiretest.Raw(t, c.script))
				if c.want == backends.FailBetweenTokens {
					config.TokenTimeout = 100 * time.Millisecond
				}
				contract := on(name)
				r := contract.Ask(t, config, 1)
				require.Equal(t, c.want, r.Results[1].Reason)
				require.Len(t, r.Attempts, 1)
				require.Contains(t, r.Attempts[0].Detail, c.text)
				require.Contains(t, r.Attempts[0].Detail, "/completion")
			})
		}
	}
}

// TestEndsWithoutDone requires that the stop event completes an answer, whether the server ends the reply or not.
func TestEndsWithoutDone(t *testing.T) {
	body := wiretest.StreamHead + wiretest.Chunks(event(5, 1), event(6, 2), end)
	for name, script := range map[string]wiretest.Script{
		"whole": wiretest.Answers(body + "0\r\n\r\n"), "closed behind it": wiretest.Closes(body),
		"open behind it": wiretest.Silence(body),
	} {
		for _, client := range []string{http1.Name, nethttp.Name} {
			contract := on(client)
			r := contract.Ask(t, wiretest.Config(wiretest.Raw(t, script)), 3)
			require.Empty(t, r.Attempts, name)
			for _, got := range r.Results {
				require.Equal(t, []int32{5, 6}, got.Tokens)
				require.Equal(t, []any{"stop", 4, 2, 1}, []any{got.FinishReason, got.InputTokens, got.UsageTokens, got.FirstCalls})
			}
		}
	}
}

func TestProbe(t *testing.T) {
	pages := map[string]string{
		"/health": `{"status":"ok"}`, "/props": `{"build_info":"b7000-abc","total_slots":4,"default_generation_settings":{"n_ctx":2048}}`,
		"/v1/models":  `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":2048}}]}`,
		"/metrics":    "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n",
		"/completion": `{"index":0,"content":"ab","tokens":[5,6],"stop":true,"tokens_predicted":2,"tokens_evaluated":2,"stop_type":"eos"}`,
	}
	c := &backends.Config{RequestOptions: backends.RequestOptions{ServedModel: "m",
		Sampling: models.Sampling{MaxTokens: 128, MinTokens: 2}}, AnswerOptions: backends.AnswerOptions{NeedIDs: true}}
	p, err := llamacpp.Driver{}.Probe(t.Context(), backends.Endpoint{URL: wiretest.Pages(t, pages)}, c,
		&datasets.Sample{InputIDs: []int32{1, 2}}, true)
	require.NoError(t, err)
	require.Equal(t, []any{"llama.cpp", "b7000-abc", 2048, 3, true, true, 2},
		[]any{p.Server, p.Version, p.MaxModelLen, *p.InFlight, p.Generated, p.ReturnsTokenIDs, p.OutputTokens})
	require.Len(t, p.Notes, 3)
	require.Contains(t, p.Notes[0], "min_tokens")
	require.Contains(t, p.Notes[1], "processes 4 requests at a time")
	require.Contains(t, p.Notes[2], "3 other requests in flight")

	delete(pages, "/props")
	pages["/v1/models"] = `{"data":[{"id":"other"}]}`
	_, err = llamacpp.Driver{}.Probe(t.Context(), backends.Endpoint{URL: wiretest.Pages(t, pages)}, c, nil, false)
	var e *backends.EndpointError
	require.ErrorAs(t, err, &e)
	require.Equal(t, backends.FaultWrongModel, e.Fault)
}
