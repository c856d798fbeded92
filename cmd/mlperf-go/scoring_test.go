package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/simtest"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// startScored starts an accuracy test whose answers are token ids that only the server can decode. Before the test its
// route works, and after the test detokenize handles it.
func startScored(t *testing.T, detokenize http.HandlerFunc) *process {
	t.Helper()
	var asked atomic.Int64
	rows, url := scored(t, func(w http.ResponseWriter, r *http.Request) {
		switch _, _ = io.Copy(io.Discard, r.Body); { // the end of the connection is noticed only after the body
		case r.URL.Path == "/tokenize":
			_, _ = io.WriteString(w, `{"tokens": [5]}`) // the client reports the missing rest
		case asked.Add(1) <= 2: // before the test the scorer and the table of needs ask
			_, _ = io.WriteString(w, `{"text": "a"}`)
		default:
			detokenize(w, r)
		}
	})
	folder := filepath.Join(t.TempDir(), "out")
	return start(t, folder, "run", "--model", "llama2-70b-99", "--mode", "accuracy", "--dataset", rows, "--endpoint", url,
		"--output-dir", folder, "--no-progress")
}

// scored returns a data set whose answers are token ids, and a server whose tokenizer routes call tokenize.
func scored(t *testing.T, tokenize http.HandlerFunc) (rowsPath, url string) {
	t.Helper()
	rows := filepath.Join(t.TempDir(), "rows.json")
	require.NoError(t, os.WriteFile(rows, []byte(`[{"input": "a", "tok_input": [1, 900, 1019], "output": "b"}]`), 0o600))
	simulator, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--model",
		"meta-llama/Llama-2-70b-chat-hf",
		"--benchmark", "llama2-70b-99", "--answers", "random")
	answers := simtest.Forward(t, simulator)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/tokenize" || r.URL.Path == "/detokenize" {
			tokenize(w, r)
			return
		}
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return rows, server.URL
}

// A test with answers and without their score is interrupted, not done.
func TestASignalDuringScoringInterruptsTheTest(t *testing.T) {
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
	require.Equal(t, record.Interrupted, r.Verdict)
	require.Equal(t, record.CodeInterrupted, r.Reasons[0].Code)
	require.Contains(t, r.Accuracy.NotScored, "mlperf-go accuracy")
	require.True(t, r.LoadGen.Complete, "the log can still be scored")
	require.NoFileExists(t, filepath.Join(p.folder, record.AccuracyName))
}

// A test whose scoring failed is not valid, whatever LoadGen's verdict is.
func TestATestWhoseScoringFailedIsInvalid(t *testing.T) {
	t.Parallel()
	p := startScored(t, func(w http.ResponseWriter,
		_ *http.Request) {
		http.Error(w, "gone", http.StatusInternalServerError)
	})
	require.Equal(t, run.ExitInvalid, p.end(patience), p.stderr.String())
	r := p.record()
	require.Equal(t, record.Invalid, r.Verdict)
	require.Len(t, r.Reasons, 1)
	require.Equal(t, record.CodeNotScored, r.Reasons[0].Code)
	require.Contains(t, r.Reasons[0].Text, "500")
	require.Contains(t, r.Accuracy.NotScored, "mlperf-go accuracy")
	require.Nil(t, r.Accuracy.Pass)
}

// Answers that are token ids have no score without a tokenizer: the test is rejected before it begins, by itself and in
// a campaign of any division.
func TestATestWithoutItsTokenizerIsRefused(t *testing.T) {
	t.Parallel()
	rows, url := scored(t, http.NotFound)
	of := []string{"--model", "llama2-70b-99", "--dataset", rows, "--endpoint", url, "--no-progress", "--output-dir"}
	for name, args := range map[string][]string{
		"run": {"run", "--mode", "accuracy"},
		"campaign": {"submission", "run", "--json", "--division", "open", "--scenario", "Offline", "--only", "accuracy,score",
			"--backend", "sim"},
	} {
		folder := filepath.Join(t.TempDir(), name)
		p := start(t, folder, append(args, append(of, folder)...)...)
		require.Equal(t, run.ExitUsage, p.end(patience), p.stderr.String())
		require.Contains(t, p.stdout.String()+p.stderr.String(), "tokenizer")
		require.NoDirExists(t, folder)
	}
}
