package nethttp_test

import (
	"io"
	"net/http"
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
		require.Positive(t, contract.AskMany(t, secure, 0, 100, backends.OK).Traffic().Exhausted.Ports)
		var before unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: before.Max}))
		files := contract.AskMany(t, wiretest.Config("http://127.0.0.1:1"), 0, 3, backends.FailConnect).Traffic().Exhausted
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
		require.Positive(t, files.Files)
		require.Zero(t, files.Ports)
	})
}
