package http1_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/http1"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestFaults are faults of connections, beside those of the contract.
func TestFaults(t *testing.T) {
	body := func(length int) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length,
			wiretest.Good)
	}
	two := wiretest.Chunks(wiretest.Event("5", "null"), wiretest.Event("6", "null"))
	offline := func(c *backends.Config) { c.Stream = false }
	// What is to come before the limit has this long: the tests run side by side.
	const limit = 700 * time.Millisecond
	short := func(c *backends.Config) { c.FirstTokenTimeout, c.TokenTimeout = limit, limit }
	whole := func(c *backends.Config) { c.Stream, c.RequestTimeout = false, limit }
	for _, c := range []struct {
		name   string
		script wiretest.Script
		set    func(*backends.Config)
		want   backends.Reason
	}{
		{"half-closed before the header", wiretest.HalfCloses(""), nil, "reset"},
		{"half-closed in the stream", wiretest.HalfCloses(wiretest.StreamHead + two), nil, "truncated"},
		{"half-closed behind a good answer", wiretest.HalfCloses(wiretest.Streamed), nil, backends.OK},
		{"open behind a good answer", wiretest.Silence(strings.TrimSuffix(wiretest.Streamed, "0\r\n\r\n")), nil, backends.OK},
		{"cut in the status line", wiretest.Closes("HTTP/1.1 2"), nil, "truncated"},
		{"cut in the header", wiretest.Closes("HTTP/1.1 200 OK\r\nContent-Ty"), nil, "truncated"},
		{"reset in the header", wiretest.Resets("HTTP/1.1 200 OK\r\n"), nil, "reset"},
		{"a slow header", wiretest.Drip("HTTP/1.1 200 OK\r\n", "X: y\r\n"), short, "timeout_first_token"},
		{"a slow header, not streamed", wiretest.Drip("HTTP/1.1 200 OK\r\n", "X: y\r\n"), whole, "timeout_request"},
		{"a slow body", wiretest.Drip(body(1000), " "), whole, "timeout_request"},
		{"truncated chunk", wiretest.Closes(wiretest.StreamHead + "ff\r\ndata:"), nil, "truncated"},
		{"chunk size too small", wiretest.Closes(wiretest.StreamHead + "5\r\ndata: {}\n\n\r\n"), nil, "bad_chunk"},
		{"Content-Length too long", wiretest.Closes(body(500)), offline, "truncated"},
		{"Content-Length too short", wiretest.Answers(body(len(wiretest.Good) - 5)), offline, "bad_json"},
		{"bytes after the end", wiretest.Answers(body(len(wiretest.Good)) + "surplus"), offline, backends.OK},
		{"no length, closed", wiretest.Closes("HTTP/1.1 200 OK\r\n\r\n" + wiretest.Good), offline, backends.OK},
		{"no length, reset", wiretest.Resets("HTTP/1.1 200 OK\r\n\r\n" + wiretest.Good), offline, "reset"},
		{"a refusal whose body does not come", wiretest.Silence("HTTP/1.1 500 X\r\nContent-Length: 100\r\n\r\nabc"), short,
			"http_500"},
		{"a refusal that is cut", wiretest.Closes("HTTP/1.1 500 X\r\nContent-Length: 100\r\n\r\nabc"), nil, "http_500"},
		{"a refusal without end", wiretest.Drip("HTTP/1.1 404 X\r\n\r\n", strings.Repeat("x", 20000)), nil, "http_404"},
		{"204", wiretest.Answers("HTTP/1.1 204 No Content\r\n\r\n"), nil, "http_204"},
		{"101", wiretest.Answers("HTTP/1.1 101 Switching Protocols\r\n\r\n"), nil, "http_101"},
		{"interim answers", wiretest.Answers("HTTP/1.1 102 Processing\r\n\r\n" + wiretest.Streamed), nil, backends.OK},
		{"a line of 10 MB", wiretest.Answers(wiretest.Whole(200, "text/event-stream",
			"data: "+strings.Repeat("x", 10<<20)+"\n\n")), nil, "bad_json"},
		{"a header of 300 KB", wiretest.Answers("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 300<<10) + "\r\n\r\n"), nil,
			"bad_chunk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config := wiretest.Config(wiretest.Raw(t, c.script))
			if c.set != nil {
				c.set(config)
			}
			r := contract.Ask(t, config, 3)
			for _, res := range r.Results {
				require.Equal(t, c.want, res.Reason, "%v", r.Attempts)
			}
		})
	}
}

// TestLateAnswersKeepTheConnection: a server that ends its answers a moment after [DONE] keeps its one connection.
func TestLateAnswersKeepTheConnection(t *testing.T) {
	var conns atomic.Int32
	begun, end, _ := strings.Cut(wiretest.Streamed, "0\r\n\r\n")
	require.Empty(t, end)
	c := wiretest.Config(wiretest.Raw(t, func(c net.Conn, conn, _ int) bool {
		conns.Store(int32(conn + 1))
		c.Write([]byte(begun))
		time.Sleep(2 * time.Millisecond)
		_, err := c.Write([]byte("0\r\n\r\n"))
		return err == nil
	}))
	c.Concurrency = 1
	for _, res := range contract.Ask(t, c, 30).Results {
		require.Equal(t, backends.OK, res.Reason)
	}
	require.Equal(t, int32(1), conns.Load())
}

// TestKeepAliveRace uses a server that closes an idle connection just when the next request is on its way.
func TestKeepAliveRace(t *testing.T) {
	c := wiretest.Config(wiretest.Raw(t, func(c net.Conn, _, _ int) bool {
		c.Write([]byte(wiretest.Streamed))
		return false
	}))
	c.Concurrency = 4
	r := contract.Ask(t, c, 400)
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason)
		require.LessOrEqual(t, res.Retries, 1)
	}
}

// TestIdleConnections are closed before the server closes them, and used again before.
func TestIdleConnections(t *testing.T) {
	t.Parallel() // it waits
	var conns atomic.Int32
	closed := make(chan time.Time, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := wiretest.RawOn(t, l, func(c net.Conn, conn, request int) bool {
		conns.Store(int32(conn + 1))
		c.Write([]byte(wiretest.Streamed))
		if request == 1 {
			c.Read(make([]byte, 1)) // no request follows: the next read is the end
			closed <- time.Now()
			return false
		}
		return true
	})
	source, r := wiretest.NewQueries(1), wiretest.NewRecorder()
	b, err := open(wiretest.Config(url))
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), source, r) }()
	require.Eventually(t, func() bool { return r.Completed() == 1 }, wiretest.Patience, time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	source.Issue(1)
	require.Less(t, policy.IdleTimeout, 5*time.Second,
		"when vLLM, SGLang and TensorRT-LLM close them (docs/reference/wire-protocols.md#connections)")
	require.WithinRange(t, <-closed, start.Add(policy.IdleTimeout*9/10), start.Add(wiretest.Patience),
		"not before its time, and by the client")
	require.Equal(t, int32(1), conns.Load())
	source.End()
	require.NoError(t, <-served)
}

// TestBigRequests are written in parts, as the server reads them.
func TestBigRequests(t *testing.T) {
	big := []byte(strings.Repeat("0123456789abcdef", 1<<19)) // 8 MiB
	got := make(chan int64, 8)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.(*net.TCPConn).SetReadBuffer(128 << 10)
			time.Sleep(50 * time.Millisecond)
			head := make([]byte, 0, 4096)
			for one := make([]byte, 1); !strings.HasSuffix(string(head), "\r\n\r\n"); head = append(head, one...) {
				c.Read(one)
			}
			n, _ := io.CopyN(io.Discard, c, int64(len(big)))
			got <- n
			c.Write([]byte(wiretest.Streamed))
			c.Close()
		}
	}()
	c := wiretest.Config("http://" + l.Addr().String())
	c.Body, c.Concurrency = func(int) []byte { return big }, 1
	for _, res := range contract.Ask(t, c, 2).Results {
		require.Equal(t, backends.OK, res.Reason)
		require.Equal(t, int64(len(big)), <-got)
	}
	l.Close()
	<-ended
}

// TestAnswerBeforeTheRequestIsOut: a server refuses a request that it does not read to its end.
func TestAnswerBeforeTheRequestIsOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 1000))
			c.Write([]byte(wiretest.Whole(413, "text/plain", "too much")))
			time.Sleep(50 * time.Millisecond)
			c.Close()
		}
	}()
	c := wiretest.Config("http://" + l.Addr().String())
	c.Body = func(int) []byte { return make([]byte, 16<<20) }
	r := contract.Ask(t, c, 2)
	for _, res := range r.Results {
		require.Equal(t, backends.Reason("http_413"), res.Reason, "%v", r.Attempts)
	}
	l.Close()
	<-ended
}

func TestAddresses(t *testing.T) {
	six, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6")
	}
	url := wiretest.RawOn(t, six, wiretest.Answers(wiretest.Streamed))
	require.Equal(t, backends.OK, contract.Ask(t, wiretest.Config(url), 2).Results[2].Reason)
	port := six.Addr().(*net.TCPAddr).Port
	if ips, err := net.LookupIP("localhost"); err == nil && len(ips) > 1 { // the server listens on one of them
		require.Equal(t, backends.OK, contract.Ask(t, wiretest.Config(fmt.Sprintf("http://localhost:%d", port)),
			2).Results[2].Reason)
	}
	four := wiretest.Raw(t, wiretest.Answers(wiretest.Streamed))
	require.Equal(t, backends.OK, contract.Ask(t, wiretest.Config(strings.Replace(four, "127.0.0.1", "localhost", 1)),
		2).Results[2].Reason)
	require.Equal(t, backends.OK, contract.Ask(t,
		wiretest.Config(strings.Replace(four, "127.0.0.1", "[::ffff:127.0.0.1]", 1)), 2).Results[2].Reason)
}

// TestSeveralAddresses: of a host's addresses one refuses and one answers.
func TestSeveralAddresses(t *testing.T) {
	c := wiretest.Config(wiretest.Raw(t, wiretest.Closes(wiretest.Streamed)))
	c.Concurrency = 1
	p, err := protocol(c)
	require.NoError(t, err)
	client, err := http1.New(c, p)
	require.NoError(t, err)
	client.AddRefusing(false)
	r := wiretest.NewRecorder()
	require.NoError(t, client.Serve(context.Background(), wiretest.NewQueries(5).End(), r))
	r.ExactlyOnce(t, 5)
	for _, res := range r.Results {
		require.Equal(t, backends.OK, res.Reason)
	}
	client.AddRefusing(true)
	r = wiretest.NewRecorder()
	require.NoError(t, client.Serve(context.Background(), wiretest.NewQueries(1).End(), r))
	require.Equal(t, backends.FailConnect, r.Results[1].Reason)
	require.Contains(t, r.Attempts[0].Detail, "connect to 127.0.0.1:1: connection refused")
}

// TestConnectTimeout uses a listener whose queue is full, so that nothing answers.
func TestConnectTimeout(t *testing.T) {
	url := fullQueue(t)
	c := wiretest.Config(url)
	c.ConnectTimeout, c.Retries = 100*time.Millisecond, 1
	start := time.Now()
	r := contract.Ask(t, c, 1)
	require.Equal(t, backends.FailConnect, r.Results[1].Reason)
	require.Len(t, r.Attempts, 2)
	require.Contains(t, r.Attempts[1].Detail, "no connection: connect to 127.0.0.1:")
	require.Contains(t, r.Attempts[1].Detail, "timed out")
	require.Less(t, time.Since(start), wiretest.Patience/2, "not the limit of a request")
}

func TestInvalidEndpoints(t *testing.T) {
	for url, text := range map[string]string{
		"https://name.invalid":    `the host name "name.invalid" did not resolve`,
		"http://name.invalid":     `the host name "name.invalid" did not resolve`,
		"http://127.0.0.1:999999": "ports go from 1 to 65535",
		"http://[fe80::1%25no]:1": "no network interface",
	} {
		_, err := open(wiretest.Config(url))
		require.ErrorContains(t, err, text)
	}
	c := wiretest.Config("http://127.0.0.1")
	c.Endpoints[0].APIKey = "two\r\nlines: here"
	_, err := open(c)
	require.ErrorContains(t, err, "the API key for")
	require.NotContains(t, err.Error(), "lines")
	_, err = open(wiretest.Config())
	require.ErrorContains(t, err, "at least one endpoint")
	require.Equal(t, "epoll", http1.Name)
}
