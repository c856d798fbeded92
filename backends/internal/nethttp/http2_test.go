package nethttp_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// serveHTTP2 answers over TLS, with handshakes that take the given time, and fails the test if a request comes in
// another version of HTTP.
func serveHTTP2(t *testing.T, handshake time.Duration, answer func(w http.ResponseWriter)) *backends.Config {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("a request came as %s", r.Proto)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w)
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(handshake)
		return nil, nil
	}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // unused connections and intended aborts cause messages
	s.StartTLS()
	t.Cleanup(s.Close)
	c := wiretest.Config(s.URL)
	c.InsecureSkipVerify, c.HTTP2 = true, true
	return c
}

// HTTP/2 is used if the server offers it, with all streams open at once.
func TestHTTP2(t *testing.T) {
	release := make(chan struct{})
	var waiting atomic.Int32
	c := serveHTTP2(t, 0, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, wiretest.Event("5", "null"))
		w.(http.Flusher).Flush()
		if waiting.Add(1) == 20 {
			close(release)
		}
		<-release // all of them are open at once
		_, _ = io.WriteString(w, wiretest.Event("6", `"stop"`)+wiretest.Usage(2)+wiretest.Done)
	})
	b := contract.Ask(t, c, 20)
	require.Empty(t, b.Attempts)
	require.Equal(t, 20, b.Gaps)
	for _, res := range b.Results {
		require.Equal(t, backends.OK, res.Reason)
		require.Equal(t, []int32{5}, res.First)
		require.Equal(t, []int32{5, 6}, res.Tokens)
	}
}

// An answer that a server aborts over HTTP/2 fails with the same reason as over HTTP/1.1, and no token is invented.
func TestHTTP2Faults(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   backends.Reason
		tokens int
	}{
		"reset before the header": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, backends.FailReset, 0},
		"reset in the stream": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, wiretest.Event("5", "null"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, backends.FailReset, 1},
		"503": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, "http_503", 0},
		"truncated": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, wiretest.Event("5", "null"))
		}, backends.FailTruncated, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := contract.Ask(t, serveHTTP2(t, 0, c.answer), 3)
			for _, res := range r.Results {
				require.Equal(t, c.want, res.Reason, "%v", r.Attempts)
				require.Len(t, res.Tokens, c.tokens)
			}
		})
	}
}

// A server that ends its connections gracefully, as many do after a number of requests, reports which requests it did
// not process. They are repeated at once, without a retry of the user's, and recorded.
func TestHTTP2GracefulEnds(t *testing.T) {
	var processed atomic.Int32
	c := serveHTTP2(t, 0, func(w http.ResponseWriter) {
		processed.Add(1)
		w.Header().Set("Connection", "close")
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, wiretest.Event("5", "null")+wiretest.Event("6", `"stop"`)+wiretest.Usage(2)+wiretest.Done)
	})
	c.Concurrency = 8
	unseen := 0
	for try := 0; unseen == 0; try++ {
		require.Less(t, try, 50, "no request met the end of its connection")
		processed.Store(0)
		r := contract.Ask(t, c, 200)
		for _, a := range r.Attempts {
			require.Equal(t, backends.FailReset, a.Reason)
			require.True(t, a.Retried, a.Detail)
		}
		repeats := 0
		for _, res := range r.Results {
			require.Equal(t, backends.OK, res.Reason)
			repeats += res.Retries
		}
		require.Equal(t, len(r.Attempts), repeats, "each repeat is recorded")
		require.Equal(t, int32(200), processed.Load(), "none was processed twice")
		unseen += len(r.Attempts)
	}
}
