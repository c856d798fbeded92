package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// The page of --serve-metrics shows the same figures as the progress line, and ends with the test.
func TestCountersOfAProgress(t *testing.T) {
	made, err := plan.New(plan.Settings{"model": "llama3.1-8b", "scenario": "Server", "serve-metrics": ":0"})
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	p := &program{console: newConsole(&stdout, &stderr, nil, &secret.Redactor{})}
	stop, err := p.serveCounters(made.Config, countersOf(made))
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

// A scraper of --serve-metrics sees the counters of a running test grow, and never more ended samples than issued ones.
func TestCountersOfARunningTest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	p := startRun(t, append([]string{"--serve-metrics", address}, long["Server"]...)...)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	var pages []map[string]float64
	p.until("three pages of a test that goes on", patience, func() bool {
		r, err := client.Get("http://" + address + "/metrics")
		if err != nil {
			return false // the page may not exist yet
		}
		defer r.Body.Close()
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(r.Body)
		require.NoError(t, err)
		now := map[string]float64{}
		for name, f := range families {
			require.Len(t, f.Metric, 1)
			now[name] = f.Metric[0].GetGauge().GetValue() + f.Metric[0].GetCounter().GetValue()
			require.Equal(t, strings.HasSuffix(name, "_total"), f.GetType() == dto.MetricType_COUNTER, name)
		}
		if n := len(pages); n == 0 || now["mlperf_go_samples_ended_total"] > pages[n-1]["mlperf_go_samples_ended_total"] {
			pages = append(pages, now)
		}
		return len(pages) > 3
	})
	last := pages[len(pages)-1]
	require.Len(t, last, len(counters))
	for i, page := range pages {
		issued, ended := page["mlperf_go_samples_issued_total"], page["mlperf_go_samples_ended_total"]
		require.LessOrEqual(t, ended, issued)
		require.Equal(t, issued-ended, page["mlperf_go_in_flight"], "one page is one moment")
		if i > 0 {
			require.GreaterOrEqual(t, issued, pages[i-1]["mlperf_go_samples_issued_total"])
		}
	}
	require.Positive(t, last["mlperf_go_ttft_p99_seconds"])
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, p.end(endWithin))
	require.GreaterOrEqual(t, float64(p.record().Samples.Issued), last["mlperf_go_samples_issued_total"])
}
