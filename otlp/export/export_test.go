package export

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

const apiKey = "sk-this-is-a-secret"

// program returns the program under test (make test-otlp).
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("OTLP_TEST_PROGRAM")
	if path == "" {
		t.Skip("skipped: OTLP_TEST_PROGRAM names no mlperf-go; use make test-otlp")
	}
	return path
}

// mlperf runs the program. A run on a busy machine may be INVALID.
func mlperf(t *testing.T, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(t), args...)
	out, err := c.CombinedOutput()
	if err != nil {
		require.Equal(t, 1, c.ProcessState.ExitCode(), "%s", out)
	}
}

// simulator starts a server that fails every twentieth request, and returns its URL.
func simulator(t *testing.T, more ...string) string {
	t.Helper()
	return simtest.Start(t, program(t), append([]string{"--answers", "echo", "--fault", "http_500=0.05", "--api-key",
		apiKey}, more...)...)
}

var (
	made   sync.Once
	folder string
)

// madeRun returns the folder of a run with failed requests and the server's metrics. The run is made once.
func madeRun(t *testing.T) string {
	t.Helper()
	program(t)
	made.Do(func() {
		dir, err := os.MkdirTemp("", "mlperf-go-otlp")
		require.NoError(t, err)
		folder = filepath.Join(dir, "run")
		t.Setenv("MLPERF_GO_API_KEY", apiKey)
		mlperf(t, "run", "--model", "llama3.1-8b", "--scenario", "Server", "--target-qps", "100", "--min-queries", "300",
			"--min-duration", "2s", "--metrics", "--metrics-interval", "200ms", "--traceparent", "--no-preflight-query",
			"--rehearsal", "--retries", "0", "--endpoint", simulator(t), "--output-dir", folder, "--no-progress")
	})
	return folder
}

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		_ = os.RemoveAll(filepath.Dir(folder))
	}
	os.Exit(code)
}

func send(t *testing.T, to *receiver, folder string, spans int) *Sent {
	t.Helper()
	r, err := Read(folder)
	require.NoError(t, err)
	c, err := NewCollector(t.Context(), to.url)
	require.NoError(t, err)
	sent, err := c.Send(t.Context(), r, spans)
	require.NoError(t, err)
	require.NoError(t, c.Close(t.Context()))
	return sent
}

// The spans agree with the run's log: ids, times, parents and outcomes.
func TestSpans(t *testing.T) {
	dir, to := madeRun(t), newReceiver(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=inference")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	sent := send(t, to, dir, 1000)
	rec, err := record.Read(dir)
	require.NoError(t, err)
	log, err := ledger.ReadRequests(filepath.Join(dir, record.RequestsName))
	require.NoError(t, err)
	require.Len(t, to.spans, len(log.Entries)+1)
	require.Equal(t, len(to.spans), sent.Spans)
	require.Equal(t, "inference", to.headers[0].Get("X-Team"), "the SDK's variables apply")
	require.Equal(t, "gzip", to.headers[0].Get("Content-Encoding"))

	byID := map[string]*traces.Span{}
	var root *traces.Span
	for _, s := range to.spans {
		require.Equal(t, sent.Trace, hex(s.TraceId))
		if byID[hex(s.SpanId)] = s; len(s.ParentSpanId) == 0 {
			root = s
		}
	}
	require.Len(t, byID, len(to.spans), "every id is there once")
	require.Equal(t, string(rec.Verdict), attributes(root.Attributes)["mlperf_go.verdict"])
	require.Equal(t, rec.Samples.Failed, attributes(root.Attributes)["mlperf_go.failed"])
	failed := 0
	for i := range log.Entries {
		e := &log.Entries[i]
		s := byID[span(e.Seq).String()]
		require.NotNil(t, s, "the span of request %d has the id that the server was sent", e.Seq)
		require.Equal(t, root.SpanId, s.ParentSpanId)
		requireSpan(t, log, e, s)
		if !e.Succeeded() {
			failed++
		}
	}
	require.Positive(t, failed)
	require.EqualValues(t, rec.Samples.Failed, failed)
}

func requireSpan(t *testing.T, log *ledger.Test, e *ledger.Entry, s *traces.Span) {
	t.Helper()
	has := attributes(s.Attributes)
	require.EqualValues(t, e.Seq, has["mlperf_go.seq"])
	require.EqualValues(t, e.OutputTokens, has["gen_ai.usage.output_tokens"])
	due := ledger.ScheduledNS(e, log.Schedule, log.T0NS, log.Origin)
	require.InDelta(t, e.DoneNS-due, int64(s.EndTimeUnixNano-s.StartTimeUnixNano), 1)
	if !e.Succeeded() {
		require.Equal(t, traces.Status_STATUS_CODE_ERROR, s.Status.Code)
		require.Equal(t, string(log.Names.Reason(e)), has["error.type"])
		return
	}
	require.NotContains(t, has, "error.type")
	var first uint64
	for _, event := range s.Events {
		if event.Name == "first token" {
			first = event.TimeUnixNano
		}
	}
	require.InDelta(t, e.FirstTokenNS-due, int64(first-s.StartTimeUnixNano), 1)
}

// Every number in the metrics equals the record's.
func TestMetrics(t *testing.T) {
	dir, to := madeRun(t), newReceiver(t)
	sent := send(t, to, dir, 0)
	require.Len(t, to.spans, 1, "without requests the run has a span")
	require.Positive(t, sent.Points)
	rec, err := record.Read(dir)
	require.NoError(t, err)
	ok := rec.Samples.Completed - rec.Samples.Failed
	require.Equal(t, map[string]int64{"": ok, "http_500": rec.Samples.Failed}, to.sum(t, requestsName, "error.type"))
	tokens := to.sum(t, tokensName, "gen_ai.token.type")
	require.InDelta(t, rec.Throughput.OutputTokens*rec.DurationS, tokens["output"], 1)
	for name, stats := range map[string]*ledger.Stats{"mlperf_go.ttft": rec.LatencyS.TTFT,
		"mlperf_go.tpot": rec.LatencyS.TPOT, "mlperf_go.e2e": rec.LatencyS.E2E} {
		h := to.histogram(t, name)
		require.EqualValues(t, ok, h.Count, name)
		var counted uint64
		for _, n := range h.BucketCounts {
			counted += n
		}
		require.Equal(t, h.Count, counted, name)
		require.InDelta(t, stats.Mean, *h.Sum/float64(h.Count), 1e-6, name)
		require.InDelta(t, stats.Max, *h.Max, 1e-6, name)
	}
	flight := to.metrics[flightName]
	points := flight[len(flight)-1].GetGauge().DataPoints
	require.Zero(t, points[len(points)-1].GetAsDouble(), "nothing is in flight at the end")
	require.NotEmpty(t, to.metrics["mlperf_go.server.running"])
	require.Equal(t, "mlperf-go", to.resource["service.name"])
	require.NotEmpty(t, to.resource["service.instance.id"])
}

// Neither a key nor a prompt is sent.
func TestSecrets(t *testing.T) {
	dir, to := madeRun(t), newReceiver(t)
	send(t, to, dir, 1000)
	require.NotContains(t, string(to.bytes), apiKey)
	require.NotContains(t, string(to.bytes), "prompt")
}

// The sample of requests is spread over the run. Failed requests have spans in addition.
func TestSample(t *testing.T) {
	dir, to := madeRun(t), newReceiver(t)
	send(t, to, dir, 30)
	rec, err := record.Read(dir)
	require.NoError(t, err)
	most := 1 + 30 + min(int(rec.Samples.Failed), moreFailed)
	require.LessOrEqual(t, len(to.spans), most)
	failed := int64(0)
	for _, s := range to.spans {
		if s.Status.GetCode() == traces.Status_STATUS_CODE_ERROR {
			failed++
		}
	}
	require.Equal(t, min(rec.Samples.Failed, moreFailed), failed)
	again := newReceiver(t)
	send(t, again, dir, 30)
	require.Equal(t, to.spans[0].SpanId, again.spans[0].SpanId, "the same run has the same ids")
}

// If a receiver rejects spans, or everything, the error contains its reason.
func TestRefusal(t *testing.T) {
	r, err := Read(madeRun(t))
	require.NoError(t, err)
	for _, refuse := range []func(*receiver){func(to *receiver) { to.reject = 7 },
		func(to *receiver) { to.status = http.StatusUnauthorized }} {
		to := newReceiver(t)
		refuse(to)
		c, err := NewCollector(t.Context(), to.url)
		require.NoError(t, err)
		_, err = c.Send(t.Context(), r, 10)
		require.Error(t, err)
		require.True(t, strings.Contains(err.Error(), "too old") || strings.Contains(err.Error(), "401"), err)
	}
	for _, address := range []string{"host:4318", "ftp://host", "http://user:word@host"} {
		_, err := NewCollector(t.Context(), address)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "word")
	}
}

// A workload results in the same figures.
func TestWorkload(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "run"), newReceiver(t)
	t.Setenv("MLPERF_GO_API_KEY", apiKey)
	profile := filepath.Join(t.TempDir(), "w.yaml")
	text := "schema: mlperf-go/profile/1\nname: small\ndata: {kind: random, input: 20, output: 5}\n" +
		"load: {stages: [{arrival: constant, rate: 50, requests: 100}]}\n"
	require.NoError(t, os.WriteFile(profile, []byte(text), 0o600))
	mlperf(t, "bench", "run", "-w", profile, "-U", simulator(t, "--seed", "7"), "--output", dir, "--no-progress",
		"--retries", "0")
	send(t, to, dir, 1000)
	r, err := Read(dir)
	require.NoError(t, err)
	counts := to.sum(t, requestsName, "error.type")
	require.EqualValues(t, r.Record.Samples.Issued, counts[""]+counts["http_500"])
	require.Positive(t, counts["http_500"])
	require.EqualValues(t, counts[""], to.histogram(t, "mlperf_go.ttft").Count)
	require.Len(t, to.spans, int(r.Record.Samples.Issued)+1)
	require.NotEmpty(t, attributes(to.spans[0].Attributes)["server.address"])
}

func hex(id []byte) string { return fmt.Sprintf("%x", id) }
