package nethttp_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/backends"
)

var streamed = streamHead + chunked(event("5", "null"), event("6", `"stop"`), usage(2), done)

// TestRepeatOnADeadReusedConnection uses a server that closes after each answer and does not say so, as llama.cpp does.
func TestRepeatOnADeadReusedConnection(t *testing.T) {
	url := raw(t, func(c net.Conn, _, request int) bool {
		if request > 0 {
			return false // a second request on a connection finds it dead before the first byte
		}
		c.Write([]byte(streamed))
		return true
	})
	c := config(url)
	c.Concurrency = 1
	r := ask(t, c, 20)
	retried := 0
	for _, res := range r.results {
		require.Equal(t, backends.OK, res.Reason)
		retried += res.Retries
	}
	require.Len(t, r.failed, retried)
	require.Positive(t, retried)
	for _, a := range r.failed {
		require.True(t, a.Retried)
		require.Equal(t, backends.FailReset, a.Reason)
	}
}

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name           string
		status         int
		after          string
		retries, fails int
		want           backends.Reason
		tries          int
	}{
		{"503 twice, then an answer", 503, "", 3, 2, backends.OK, 3},
		{"more failures than retries", 429, "", 1, 5, "http_429", 2},
		{"500 is not repeated", 500, "", 3, 1, "http_500", 1},
		{"none allowed", 503, "", 0, 1, "http_503", 1},
		{"Retry-After within the deadline", 503, "1", 1, 1, backends.OK, 2},
		{"Retry-After beyond the deadline", 503, "60", 3, 1, "http_503", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int32
			url := raw(t, func(conn net.Conn, _, _ int) bool {
				if int(tries.Add(1)) > c.fails {
					conn.Write([]byte(streamed))
					return true
				}
				fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nRetry-After: %s\r\nContent-Length: 4\r\n\r\nbusy", c.status, c.after)
				return true
			})
			config := config(url)
			config.Retries, config.RequestTimeout = c.retries, 5*time.Second
			start := time.Now()
			r := ask(t, config, 1)
			require.Equal(t, c.want, r.results[1].Reason)
			require.Equal(t, c.tries, int(tries.Load()))
			require.Equal(t, c.tries-1, r.results[1].Retries)
			if c.after == "1" {
				require.GreaterOrEqual(t, time.Since(start), time.Second)
			}
			require.Less(t, time.Since(start), 4*time.Second)
		})
	}
}

func TestNoRetryAfterTheFirstByte(t *testing.T) {
	var tries atomic.Int32
	c := config(raw(t, func(conn net.Conn, _, _ int) bool {
		tries.Add(1)
		conn.Write([]byte(streamHead + chunks(event("5", "null"))))
		return false
	}))
	c.Retries = 5
	require.Equal(t, backends.FailTruncated, ask(t, c, 1).results[1].Reason)
	require.Equal(t, int32(1), tries.Load())
}

// TestCancel ends the context with requests in flight, in the queue and still to come.
func TestCancel(t *testing.T) {
	var requests atomic.Int32
	url := raw(t, func(c net.Conn, _, _ int) bool {
		requests.Add(1)
		return silence(streamHead+chunks(event("5", "null")))(c, 0, 0)
	})
	c := config(url)
	c.Concurrency = 50
	source, r := newQueries(100), newRecorder()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- open(t, c).Serve(ctx, source, r) }()
	require.Eventually(t, func() bool { return requests.Load() == 50 }, 5*time.Second, time.Millisecond)
	cancel()
	require.Eventually(t, func() bool { return r.completed() == 100 }, 200*time.Millisecond, time.Millisecond)
	source.issue(30)
	require.Eventually(t, func() bool { return r.completed() == 130 }, 200*time.Millisecond, time.Millisecond)
	source.end()
	require.NoError(t, <-served)
	r.exactlyOnce(t, 130)
	for _, res := range r.results {
		require.Equal(t, backends.FailCancelled, res.Reason)
	}
	require.Equal(t, int32(50), requests.Load(), "nothing is sent after the end")
}

// TestExactlyOnce mixes answers, failures, limits and a cancelled context at random.
func TestExactlyOnce(t *testing.T) {
	scripts := []string{streamed, "", whole(500, "text/plain", "no"), streamHead + chunks(event("5", "null")), "garbage\r\n\r\n"}
	url := raw(t, func(c net.Conn, conn, request int) bool {
		i := (conn*7 + request*3) % len(scripts)
		c.Write([]byte(scripts[i]))
		return i == 0 || i == 2
	})
	rapid.Check(t, func(rt *rapid.T) {
		c := config(url, url, url)
		c.Concurrency = rapid.SampledFrom([]int{0, 1, 2, 7}).Draw(rt, "concurrency")
		c.Balance = rapid.SampledFrom([]string{"", "random", "least-inflight", "hash"}).Draw(rt, "balance")
		c.Retries = rapid.IntRange(0, 1).Draw(rt, "retries")
		n := rapid.IntRange(0, 40).Draw(rt, "queries")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if ms := rapid.IntRange(0, 20).Draw(rt, "cancel after"); ms < 10 {
			time.AfterFunc(time.Duration(ms)*time.Millisecond, cancel)
		}
		r := newRecorder()
		require.NoError(rt, open(rt, c).Serve(ctx, newQueries(n).end(), r))
		r.exactlyOnce(rt, n)
		last := 0
		for _, a := range r.failed {
			if !a.Retried {
				last++
			}
		}
		bad, sent := 0, 0
		for _, res := range r.results {
			if res.Reason != backends.OK && res.Reason != backends.FailCancelled {
				bad++
			}
			if res.SentNS != 0 {
				sent++
			}
		}
		require.GreaterOrEqual(rt, last, bad, "each failed sample has its record")
		require.LessOrEqual(rt, last, sent)
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	var now, most atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(2 * time.Millisecond)
		now.Add(-1)
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(good))
	}))
	defer s.Close()
	c := config(s.URL)
	c.Stream, c.Concurrency = false, 3
	ask(t, c, 60)
	require.Equal(t, int32(3), most.Load())
}

// TestThreads has 2,000 requests in flight at once: they wait in the poller, not in threads.
func TestThreads(t *testing.T) {
	const inFlight = 2000
	var limit = 2*inFlight + 200
	if n, err := fdLimit(); err == nil && n < uint64(limit) {
		t.Skipf("%d file descriptors are allowed, %d are needed", n, limit)
	}
	gate := make(chan struct{})
	var waiting atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		waiting.Add(1)
		<-gate
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, event("5,6", `"stop"`), done)
	}))
	defer s.Close()
	source, r := newQueries(inFlight).end(), newRecorder()
	c := config(s.URL)
	c.RequestTimeout, c.FirstTokenTimeout, c.ConnectTimeout = time.Minute, time.Minute, 30*time.Second
	served := make(chan error)
	go func() { served <- open(t, c).Serve(context.Background(), source, r) }()
	require.Eventually(t, func() bool { return waiting.Load() == inFlight }, 30*time.Second, 10*time.Millisecond)
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	require.Less(t, len(tasks), 64)
	close(gate)
	require.NoError(t, <-served)
	r.exactlyOnce(t, inFlight)
	for _, res := range r.results {
		require.Equal(t, backends.OK, res.Reason)
	}
}

func TestEndpointsShareTheLoad(t *testing.T) {
	a, b := raw(t, answers(streamed)), raw(t, answers(streamed))
	count := map[int]int{}
	for _, res := range ask(t, config(a, b), 40).results {
		count[res.Endpoint]++
	}
	require.Equal(t, map[int]int{0: 20, 1: 20}, count)
}

func TestGapsAndTokens(t *testing.T) {
	url := raw(t, func(c net.Conn, _, _ int) bool {
		for _, part := range []string{streamHead, chunks(event("1,2", "null")), chunks(event("3", "null")), chunked(event("4,5", `"length"`), usage(5), done)} {
			c.Write([]byte(part))
			time.Sleep(30 * time.Millisecond)
		}
		return true
	})
	r := ask(t, config(url), 1)
	res := r.results[1]
	require.Equal(t, []int32{1, 2}, res.first)
	require.Equal(t, []int32{1, 2, 3, 4, 5}, res.Tokens)
	require.Equal(t, 2, r.gaps)
	require.Equal(t, backends.TokensFromIDs, res.TokenSource)
	require.Equal(t, []int{5, 5, 1}, []int{res.NTokens, res.UsageTokens, res.InputTokens})
	require.Greater(t, res.LastTokenNS-res.FirstTokenNS, int64(40*time.Millisecond))
}

func TestTrustedAuthority(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(good))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	c := config(s.URL)
	c.Stream, c.CAFile = false, file
	require.Equal(t, backends.OK, ask(t, c, 1).results[1].Reason)

	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("nothing"), 0o600))
	_, err = d.Open(c)
	require.ErrorContains(t, err, "holds no certificate in PEM form")
	c.CAFile = file + ".missing"
	_, err = d.Open(c)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEndpointsThatAreNone(t *testing.T) {
	d, err := backends.Lookup("vllm")
	require.NoError(t, err)
	for url, text := range map[string]string{
		"ftp://host":            `has the scheme "ftp"`,
		"http://:8000":          "names no host",
		"http://me:secret@host": "carries a user name",
		"http://[::1":           "is no URL",
	} {
		_, err := d.Open(config(url))
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err = d.Open(config())
	require.ErrorContains(t, err, "at least one endpoint")
	c := config("http://h")
	c.API = "generate"
	_, err = d.Open(c)
	require.EqualError(t, err, `backend "vllm" has no API "generate": choose completions or chat`)
}

// BenchmarkRequest is the client's and the server's cost of one streamed answer of 32 tokens, both in this process.
func BenchmarkRequest(b *testing.B) {
	parts := []string{}
	for i := range 31 {
		parts = append(parts, event(fmt.Sprint(i), "null"))
	}
	answer := streamHead + chunked(append(parts, event("31", `"stop"`), usage(32), done)...)
	url := raw(b, answers(answer))
	c := config(url)
	c.Concurrency = 64
	client := open(b, c)
	b.ReportAllocs()
	b.ResetTimer()
	if err := client.Serve(context.Background(), newQueries(b.N).end(), quiet{}); err != nil {
		b.Fatal(err)
	}
}

// quiet is a sink that keeps nothing.
type quiet struct{}

func (quiet) FirstToken(loadgen.Query, []int32, int64)      {}
func (quiet) Complete(q loadgen.Query, o *backends.Outcome) {}
func (quiet) TokenGap(int64, int)                           {}
func (quiet) Failed(backends.Attempt)                       {}
