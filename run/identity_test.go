package run

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// A server that returns ids answers some requests with the answer of an earlier one: exactly these samples fail. The
// rows cover each form of a returned id: behind the prefixes of completions and chat, in vLLM's generate route, and as
// SGLang's rid.
func TestFaultOtherRequestsAnswer(t *testing.T) {
	program(t)
	for _, c := range []struct {
		kind string
		args []string
	}{
		{"offline", nil},
		{"calm", nil},
		{"offline", []string{"--api", "generate", "--model", "llama3.1-8b", "--min-tokens", "1"}},
		{"calm", []string{"--api", "generate", "--model", "llama3.1-8b", "--min-tokens", "1"}},
		{"calm chat", nil},
		{"calm chat", []string{"--stream=false"}},
		{"calm native", []string{"--api", "completions"}},
		{"calm native", []string{"--api", "completions", "--stream=false"}},
	} {
		t.Run(strings.Join(append([]string{c.kind}, c.args...), " "), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := serveFaults(t, func(x *call) {
				other := *x
				if asked.Add(1) == 1 { // the preflight's request
					x.good()
					return
				}
				other.id = fmt.Sprintf("%032d", 7)
				other.good()
			})
			server.echo.Store(true)
			r := askedRun(t, c.kind, []string{server.url}, c.args...)
			r.holdsTogether(t, requestsOf(t, r))
			r.failedBy(t, "wrong_answer")
			require.EqualValues(t, asked.Load()-1, r.Samples.Failed)
			require.True(t, r.Answers.Identified)
		})
	}
}

// A gateway replaces the header: the preflight notices that ids do not come back, the record notes it, and no answer
// fails because of it.
func TestFaultGatewayReplacesTheID(t *testing.T) {
	program(t)
	t.Parallel()
	server := serveFaults(t, (*call).good)
	server.echo.Store(true)
	forward := simtest.Forward(t, server.url)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Request-Id", "gateway-1")
		forward.ServeHTTP(w, r)
	}))
	defer gateway.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Request-Id") != "" {
			http.Error(w, "what header is that", http.StatusBadRequest)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	defer refusing.Close()
	for _, url := range []string{gateway.URL, refusing.URL} {
		r := askedRun(t, "offline", []string{server.url, url})
		r.holdsTogether(t, requestsOf(t, r))
		require.Equal(t, record.Valid, r.Verdict, r.Reasons)
		require.False(t, r.Answers.Identified, "one of the two endpoints sends no ids back")
	}
	r := askedRun(t, "offline", []string{server.url})
	require.True(t, r.Answers.Identified)
}

// With --traceparent every sample's span reaches the simulator once, and the spans of preflight and warm-up belong to
// no sample. Without it no request has the header.
func TestTraceparentNamesTheSample(t *testing.T) {
	server := simulate(t, "--ttft", "1ms", "--tpot", "0", "--answers", "random", "--output-tokens", "4")
	forward := simtest.Forward(t, server.url)
	var mu sync.Mutex
	var spans []string
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if parent := r.Header.Get("traceparent"); r.Method == http.MethodPost && parent != "" {
			fields := strings.Split(parent, "-")
			assert.Len(t, fields, 4)
			assert.Equal(t, r.Header.Get("X-Request-Id"), fields[1])
			mu.Lock()
			spans = append(spans, fields[2])
			mu.Unlock()
		}
		forward.ServeHTTP(w, r)
	}))
	defer gateway.Close()
	const note = "requests carry a traceparent (--traceparent); servers that record traces spend time on them"
	args := []string{"--model", "llama3.1-8b", "--scenario", "Server", "--endpoint", gateway.URL, "--samples", "16",
		"--target-qps", "200", "--min-queries", "40", "--min-duration", "0", "--warmup"}
	r := start(t, args...)
	require.Empty(t, spans)
	require.NotContains(t, r.Notes, note)
	r = start(t, append(args, "--traceparent")...)
	require.Contains(t, r.Notes, note)
	var ofSamples []string
	for i := range r.Samples.Issued {
		ofSamples = append(ofSamples, fmt.Sprintf("8%015x", i))
	}
	slices.Sort(spans)
	outside, _ := slices.BinarySearch(spans, "9")
	require.Equal(t, ofSamples, spans[:outside])
	require.Greater(t, len(spans)-outside, 16, "preflight and warm-up")
}

// A server answers each request twice, over TLS and through a proxy. Answers carry no ids there, so the run is INVALID.
func TestFaultAnsweredTwiceOverTLSAndProxy(t *testing.T) {
	program(t)
	t.Parallel()
	twice := func(x *call) {
		body := x.whole()
		answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body),
			body)
		x.raw(answer + answer)
	}
	for _, way := range []string{"TLS", "proxy"} {
		var r *ran
		switch way {
		case "TLS":
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			certificate := httptest.NewUnstartedServer(nil)
			certificate.StartTLS()
			config := &tls.Config{Certificates: certificate.TLS.Certificates}
			certificate.Close()
			server := serveFaultsOn(t, tls.NewListener(l, config), "https://"+l.Addr().String(), twice)
			r = askedRun(t, "offline", []string{server.url}, "--insecure-skip-verify")
		case "proxy":
			server := serveFaults(t, twice)
			r = askedRun(t, "offline", []string{"http://192.0.2.1:1"}, "--proxy", server.url)
		}
		r.holdsTogether(t, requestsOf(t, r))
		require.Equal(t, record.Invalid, r.Verdict, way)
		require.Equal(t, record.CodeUnaskedAnswers, r.Reasons[0].Code, "%s: %v", way, r.Reasons)
		require.Positive(t, r.Answers.Unasked)
		require.False(t, r.Answers.Identified)
	}
}
