package servers

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
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
