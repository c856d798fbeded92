package scrape

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/metrics/series"
)

func TestMain(m *testing.M) {
	if count := os.Getenv(exporterKey); count != "" {
		serveExporters(count)
		return
	}
	goleak.VerifyTestMain(m)
}

// collect scrapes handlers until end returns, and reads the file.
func collect(t *testing.T, interval time.Duration, end func(), handlers ...http.HandlerFunc) ([]Outcome, *series.Set) {
	t.Helper()
	var targets []string
	for _, h := range handlers {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		targets = append(targets, server.URL)
	}
	return collectFrom(t, interval, end, targets)
}

func collectFrom(t *testing.T, interval time.Duration, end func(), targets []string) ([]Outcome, *series.Set) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "metrics", "server.jsonl.zst")
	c, err := Start(t.Context(), Options{Access: atomicfile.Shared, Path: path, Targets: pages(targets),
		Interval: interval})
	require.NoError(t, err)
	end()
	result, err := c.Stop()
	require.NoError(t, err)
	set, err := series.Read(path, nil)
	require.NoError(t, err)
	return result, set
}

func TestCollectorFollowsEachReplica(t *testing.T) {
	var n [2]atomic.Int64
	served := func(i int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer k" || r.URL.Path != "/metrics" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprintf(w, "# TYPE a counter\na %d\n", n[i].Add(1))
		}
	}
	enough := func() {
		require.Eventually(t, func() bool { return n[0].Load() > 3 && n[1].Load() > 3 }, 20*time.Second, time.Millisecond)
	}
	targets, set := collect(t, MinInterval, enough, served(0), served(1))
	for i, target := range targets {
		require.Equal(t, int(n[i].Load()), target.Scrapes, "the last scrape is after the end")
		require.Zero(t, target.Failed)
		for k, v := range set.Series[i].Values {
			require.Equal(t, float64(k+1), v)
		}
		require.Len(t, set.Series[i].Values, target.Scrapes)
	}
}

// TestBadPages reads pages that are not metrics. Each is a failed scrape with its cause, and the good replica beside
// them loses no reading.
func TestBadPages(t *testing.T) {
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "a 1\n")
	}
	endless := func(w http.ResponseWriter, _ *http.Request) {
		line := []byte("# " + strings.Repeat("x", 1<<20) + "\n")
		for {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}
	var good atomic.Int64
	handlers := []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) { good.Add(1); _, _ = io.WriteString(w, "a 1\n") },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		text("no metrics"), cut, endless,
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<script>alert(1)</script>")
		},
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/metrics", http.StatusFound)
		},
	}
	targets, set := collect(t, MinInterval, func() {}, handlers...)
	require.Equal(t, int(good.Load()), targets[0].Scrapes)
	require.Zero(t, targets[0].Failed)
	for i, want := range []string{"404 Not Found", `the value "metrics" is not a number`, "unexpected EOF",
		"more than 33554432 bytes", "text/html", "302 Found"} {
		target := targets[i+1]
		require.Contains(t, target.Error, want)
		require.Equal(t, target.Scrapes, target.Failed)
		n, first := set.Scrapes[i+1].Failed()
		require.Equal(t, target.Scrapes, n)
		require.Contains(t, first, want)
	}
}

// TestSlowAndAbsentServers stops while a page is slow: the collector waits no longer than the time limit.
func TestSlowAndAbsentServers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	var asked atomic.Int64
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, "a 1\n")
	}))
	t.Cleanup(slow.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	old := timeout
	timeout = 300 * time.Millisecond
	t.Cleanup(func() { timeout = old })
	targets, _ := collectFrom(t, MinInterval, func() {
		require.Eventually(t, func() bool { return asked.Load() > 1 }, 20*time.Second, time.Millisecond)
	}, []string{slow.URL, gone.URL})
	require.Equal(t, 1, targets[0].Scrapes-targets[0].Failed)
	require.Contains(t, targets[0].Error, "no whole page came in 300ms")
	require.Contains(t, targets[1].Error, "connection refused")
}

func pages(urls []string) []Target {
	client := httpclient.New(httpclient.Options{})
	var list []Target
	for _, u := range urls {
		list = append(list, Target{Name: u, URL: u + "/metrics", APIKey: "k", Client: client})
	}
	return list
}

// BenchmarkReplicas measures the processor time of scraping 64 replicas once, which a run spends each second. The
// servers are part of the process, so the time includes their side.
func BenchmarkReplicas(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "vllm:h_seconds_bucket{engine=\"0\",le=\"%d.5\",model_name=\"m\"} %d.0\n", i, 17*i)
	}
	page := []byte(text.String())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }))
	defer server.Close()
	targets := make([]string, 64)
	for i := range targets {
		targets[i] = server.URL
	}
	c, err := Start(b.Context(), Options{Access: atomicfile.Shared, Path: filepath.Join(b.TempDir(), "m.jsonl.zst"),
		Targets: pages(targets), Interval: time.Hour})
	require.NoError(b, err)
	before := cpuTime(b)
	for b.Loop() {
		for _, p := range c.pages {
			c.scrape(b.Context(), p)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	_, err = c.Stop()
	require.NoError(b, err)
}

func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
