package run

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/mlperf-go/mlperf-go/backends"
	_ "github.com/mlperf-go/mlperf-go/backends/openai"
)

// listener keeps the first report.
type listener struct {
	silent
	once  sync.Once
	heard chan struct{}
	text  string
}

func (l *listener) Waiting(text string) {
	l.once.Do(func() {
		l.text = text
		close(l.heard)
	})
}

// A server that accepts a connection and sends nothing is reported, with the request and the time limit.
func TestSilentEndpointIsReported(t *testing.T) {
	l := &listener{heard: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select { // the server answers once the user was informed
		case <-l.heard:
		case <-time.After(time.Minute):
		}
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer s.Close()
	p, err := newPlan(Settings{"model": "llama3.1-8b", "endpoint": s.URL})
	require.NoError(t, err)
	_, err = PreflightOnly(context.Background(), FromPlan(p), l)
	require.ErrorContains(t, err, "HTTP 418")
	require.Regexp(t, "^waiting for an answer to GET "+s.URL+`/v1/models, for \d+ s so far and 15s at most$`, l.text)
}

// A user who ends a preflight gets no error about the endpoint.
func TestEndedPreflight(t *testing.T) {
	p, err := newPlan(Settings{"model": "generic", "served-model": "m", "backend": "mute", "endpoint": "http://nowhere"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(Interrupt{Signal: syscall.SIGINT})
	_, err = PreflightOnly(ctx, FromPlan(p), silent{})
	require.EqualError(t, err, "the preflight was ended: interrupted by SIGINT (Ctrl-C)")
	require.Equal(t, ExitInterrupt, Classify(err).Exit)
}

func TestNarrateEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	asking, stop := narrate(&backends.Config{}, silent{})
	asking.Asking("GET http://host/health", time.Second)
	stop()
	asking.Asking("GET http://host/late", time.Second) // without a listener the report does not block
}
