package nethttp_test

import (
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestFewPorts also sends requests over HTTP/2, and some by a process that may open no further file.
func TestFewPorts(t *testing.T) {
	secure := serveHTTP2(t, 300*time.Millisecond, func(w http.ResponseWriter) { // so that no connection is shared yet
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, wiretest.Event("5,6", `"stop"`)+wiretest.Usage(2)+wiretest.Done)
	})
	contract.FewPorts(t, func(backends.Features, backends.Features) {
		secure.Retries = 100 // the server ends connections when the machine holds it up for 2 s
		r, did := contract.AskMany(t, secure, 0, 100, backends.OK)
		require.Positive(t, did.Traffic().Exhausted.Ports)
		if !slices.ContainsFunc(r.Attempts, func(a backends.Attempt) bool { return a.Reason == backends.FailReset }) {
			require.Empty(t, r.Attempts)
		}
		var before unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: before.Max}))
		_, did = contract.AskMany(t, wiretest.Config("http://127.0.0.1:1"), 0, 3, backends.FailConnect)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
		require.Positive(t, did.Traffic().Exhausted.Files)
		require.Zero(t, did.Traffic().Exhausted.Ports)
	})
}
