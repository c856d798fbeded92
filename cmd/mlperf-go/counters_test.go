package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// The page of --serve-metrics shows the figures that the progress line shows, and ends with the test.
func TestCountersOfAProgress(t *testing.T) {
	made, err := plan.New(plan.Settings{"model": "llama3.1-8b", "scenario": "Server", "serve-metrics": ":0"})
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	p := &program{console: newConsole(&stdout, &stderr, nil, &secret.Redactor{})}
	stop, err := p.serveCounters(made)
	require.NoError(t, err)
	g := p.newProgress(made)
	g.console.noProgress = true
	g.Progress(run.Progress{Issued: 7, Done: 5, Failed: 1, InFlight: 2, Total: 64, RatePerS: 2.5,
		TTFTp99: 125 * time.Millisecond, TPOTp99: 20 * time.Millisecond, Elapsed: 3 * time.Second})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(p.counters.URL())
	require.NoError(t, err)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	labels := `{mode="performance",model="llama3.1-8b",scenario="Server"} `
	for name, want := range map[string]string{"samples_issued_total": "7", "samples_ended_total": "5",
		"samples_failed_total": "1", "samples_expected": "64", "in_flight": "2", "completions_per_second": "2.5",
		"ttft_p99_seconds": "0.125", "tpot_p99_seconds": "0.02", "elapsed_seconds": "3"} {
		require.Contains(t, string(text), "\nmlperf_go_"+name+labels+want+"\n")
	}
	require.Equal(t, len(counters), strings.Count(string(text), "# TYPE "))
	stop()
	_, err = client.Get(p.counters.URL())
	require.Error(t, err, "the page ends with the test")
}
