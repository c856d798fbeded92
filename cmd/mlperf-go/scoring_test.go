package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run"
)

// startScored starts an accuracy test whose answers are token ids that only the server can turn into text: before the test it can, and after it
// as detokenize does it.
func startScored(t *testing.T, detokenize http.HandlerFunc) *process {
	t.Helper()
	rows := filepath.Join(t.TempDir(), "rows.json")
	require.NoError(t, os.WriteFile(rows, []byte(`[{"input": "a", "tok_input": [1, 900, 1019], "output": "b"}]`), 0o600))
	simulator, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--model", "meta-llama/Llama-2-70b-chat-hf",
		"--benchmark", "llama2-70b-99", "--answers", "random")
	target, err := url.Parse(simulator)
	require.NoError(t, err)
	var asked atomic.Int64
	answers := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/tokenize":
			_, _ = io.WriteString(w, `{"tokens": [5]}`) // the client tells what it misses
		case "/detokenize":
			_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection seen
			if asked.Add(1) == 1 {
				_, _ = io.WriteString(w, `{"text": "a"}`)
				return
			}
			detokenize(w, r)
		default:
			answers.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	folder := filepath.Join(t.TempDir(), "out")
	return start(t, folder, "run", "--model", "llama2-70b-99", "--mode", "accuracy", "--dataset", rows, "--endpoint", server.URL,
		"--output-dir", folder, "--no-progress")
}

// The answers are there and their score is not: the test is interrupted, not done.
func TestSignalWhileScoringIsNoEndOfTheTest(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	ask := sync.OnceFunc(func() { close(asked) })
	p := startScored(t, func(_ http.ResponseWriter, r *http.Request) {
		ask()
		<-r.Context().Done()
	})
	select {
	case <-asked:
	case <-p.ended:
		t.Fatal(p.stdout.String(), p.stderr.String())
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, run.ExitInterrupt, p.end(endWithin), p.stderr.String())
	r := p.record()
	require.Equal(t, run.Interrupted, r.Verdict)
	require.Equal(t, "interrupted", r.Reasons[0].Code)
	require.Contains(t, r.Accuracy.NotScored, "mlperf-go accuracy")
	require.True(t, r.LoadGen.Complete, "the log can still be scored")
	require.NoFileExists(t, filepath.Join(p.folder, run.AccuracyName))
}

// What was to be scored and could not be is not valid, whatever LoadGen thinks of the test.
func TestScoringThatFailsIsNoScore(t *testing.T) {
	t.Parallel()
	p := startScored(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusInternalServerError) })
	require.Equal(t, run.ExitInvalid, p.end(patience), p.stderr.String())
	r := p.record()
	require.Equal(t, run.Invalid, r.Verdict)
	require.Equal(t, "accuracy_below_target", r.Reasons[0].Code)
	require.Contains(t, r.Reasons[0].Text, "500")
	require.Contains(t, r.Accuracy.NotScored, "mlperf-go accuracy")
	require.Nil(t, r.Accuracy.Pass)
}
