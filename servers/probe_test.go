package servers

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The error contains the server's last answer, not the probe that the end of the wait cancelled.
func TestLastAnswerSurvivesTheDeadline(t *testing.T) {
	over := errors.New("the wait is over")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		end(over)
		<-r.Context().Done()
	}))
	defer s.Close()
	err := newProber(s.URL, "").awaitReady(ctx, "m", time.Hour, nil, time.Hour, nil)
	require.ErrorIs(t, err, over)
	require.ErrorContains(t, err, "the last answer was: GET "+s.URL+"/health: status 503")
}

func TestProbeFollowsNoRedirect(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	p := newProber(s.URL, "k")
	require.ErrorContains(t, p.healthy(t.Context()), "status 307")
	require.ErrorContains(t, p.torch(t.Context(), "start"), "status 307")
	require.Zero(t, asked)
}

// A server that never ends its answer costs neither memory nor the wait: each probe reads 1 MiB of it and closes the
// connection.
func TestEndlessBodiesAreNotReadToTheirEnd(t *testing.T) {
	const (
		buffered = 32 << 20 // bytes that the kernel may accept for an answer that is not read, with room to spare
		enough   = 4 * buffered
	)
	block := strings.Repeat(" ", 64<<10)
	sent := make(chan int, 1000) // of each request, in bytes
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, err := 0, error(nil)
		for more := 0; err == nil && n < enough; n += more {
			more, err = w.Write([]byte(block))
		}
		sent <- n
	}))
	t.Cleanup(s.Close)
	p := newProber(s.URL, "")
	for name, probe := range map[string]func() error{
		"health":    func() error { return p.healthy(t.Context()) },
		"heartbeat": func() error { return p.beats(t.Context(), time.Hour) },
		"models":    func() error { return p.serves(t.Context(), "m") },
		"start": func() error {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			return p.awaitReady(ctx, "m", time.Hour, nil, time.Nanosecond, func(error) { end() })
		},
	} {
		require.ErrorContains(t, probe(), "it has more than 1048576 bytes", name)
		require.Less(t, <-sent, buffered, name)
	}
	require.NoError(t, p.torch(t.Context(), "stop"), "the status is enough")
	require.Less(t, <-sent, buffered)
}

// An answer that arrives byte by byte for ever ends with the time limit of the heartbeat.
func TestAnEndlessTrickleEndsAtTheLimit(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}))
	t.Cleanup(s.Close)
	err := newProber(s.URL, "").beats(t.Context(), 50*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
