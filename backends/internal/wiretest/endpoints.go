package wiretest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
)

// Absent returns the URL of an endpoint that refuses connections until listen is called. The port stays reserved.
func Absent(t *testing.T) (url string, listen func() net.Listener) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "port")
	t.Cleanup(func() { f.Close() })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := unix.Getsockname(fd)
	require.NoError(t, err)
	return fmt.Sprintf("http://127.0.0.1:%d", name.(*unix.SockaddrInet4).Port), func() net.Listener {
		require.NoError(t, unix.Listen(fd, unix.SOMAXCONN))
		l, err := net.FileListener(f)
		require.NoError(t, err)
		f.Close() // else the port would stay open after the listener is closed
		return l
	}
}

func (k *Contract) endpointsShareTheLoad(t *testing.T) {
	a, b := k.Raw(t, Answers(Streamed)), k.Raw(t, Answers(Streamed))
	count := map[int]int{}
	for _, res := range k.Ask(t, Config(a, b), 40).Results {
		count[res.Endpoint]++
	}
	require.Equal(t, map[int]int{0: 20, 1: 20}, count)
}

// oneEndpointIsAbsent requires that an endpoint is excluded after three failures, and that retries use other endpoints.
func (k *Contract) oneEndpointIsAbsent(t *testing.T) {
	for _, name := range balance.Names() {
		for _, retries := range []int{0, 5} {
			dead, _ := k.absent(t)
			c := Config(k.Raw(t, Answers(Streamed)), dead, k.Raw(t, Answers(Streamed)))
			c.Balance, c.Retries, c.Concurrency = name, retries, 1
			b := k.open(t, c)
			r := NewRecorder()
			require.NoError(t, b.Serve(context.Background(), NewQueries(200).End(), r))
			r.ExactlyOnce(t, 200)
			failed := 0
			for _, res := range r.Results {
				if res.Reason != backends.OK {
					failed++
					require.Equal(t, backends.FailConnect, res.Reason)
					require.Equal(t, 1, res.Endpoint)
				}
			}
			if retries > 0 {
				require.Zero(t, failed, "%s", name)
			} else {
				require.Equal(t, 3, failed, "%s: the fourth query uses another endpoint", name)
			}
			require.Equal(t, []int64{0, 1, 0}, b.Features().Traffic().Exclusions, name)
		}
	}
}

// aRefusingEndpointStays requires that an endpoint which answers, even with HTTP 502 or 503, keeps its share of the
// load.
func (k *Contract) aRefusingEndpointStays(t *testing.T) {
	for _, status := range []int{500, 502, 503, 504} {
		c := Config(k.Raw(t, Answers(Streamed)), k.Raw(t, Answers(Whole(status, "text/plain", "busy"))))
		c.Concurrency = 1
		b := k.open(t, c)
		r := NewRecorder()
		require.NoError(t, b.Serve(context.Background(), NewQueries(40).End(), r))
		r.ExactlyOnce(t, 40)
		failed := map[backends.Reason]int{}
		for _, res := range r.Results {
			if res.Endpoint == 1 {
				failed[res.Reason]++
			} else {
				require.Equal(t, backends.OK, res.Reason)
			}
		}
		require.Equal(t, map[backends.Reason]int{backends.Reason(fmt.Sprintf("http_%d", status)): 20}, failed)
		require.Equal(t, []int64{0, 0}, b.Features().Traffic().Exclusions)
	}
}

// anEndpointReturns requires that queries wait while all endpoints are excluded, until one of them accepts connections.
func (k *Contract) anEndpointReturns(t *testing.T) {
	url, listen := k.absent(t)
	other, _ := k.absent(t)
	c := Config(url, other)
	c.Concurrency, c.EndpointTimeout, c.RequestTimeout = 1, 3*Patience, 3*Patience
	b := k.open(t, c)
	source, r := NewQueries(30), NewRecorder()
	served := make(chan error, 1)
	go func() { served <- b.Serve(context.Background(), source.End(), r) }()
	const strikes = 3
	require.Eventually(t, func() bool { return r.Completed() == 2*strikes }, Patience, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, 2*strikes, r.Completed(), "the others wait")
	k.RawOn(t, listen(), Answers(Streamed))
	require.NoError(t, <-served)
	r.ExactlyOnce(t, 30)
	good := 0
	for _, res := range r.Results {
		if res.Reason == backends.OK {
			require.Equal(t, 0, res.Endpoint)
			good++
		}
	}
	require.Equal(t, 30-2*strikes, good)
}

// noEndpointReturns requires that queries wait up to EndpointTimeout, and that later ones fail at once.
func (k *Contract) noEndpointReturns(t *testing.T) {
	url, _ := k.absent(t)
	c := Config(url)
	c.Concurrency, c.EndpointTimeout = 1, 300*time.Millisecond
	source, r := NewQueries(20), NewRecorder()
	served := make(chan error, 1)
	go func() { served <- k.open(t, c).Serve(context.Background(), source, r) }()
	require.Eventually(t, func() bool { return r.Completed() == 20 }, Patience, time.Millisecond)
	source.Issue(5)
	source.End()
	require.NoError(t, <-served)
	r.ExactlyOnce(t, 25)
	count := map[backends.Reason]int{}
	for _, res := range r.Results {
		count[res.Reason]++
		if res.Reason == backends.FailNoEndpoint {
			require.Equal(t, balance.Nowhere, res.Endpoint)
		}
	}
	require.Equal(t, map[backends.Reason]int{backends.FailConnect: 3, backends.FailNoEndpoint: 22}, count)
	require.Len(t, r.Attempts, 25)
	require.Contains(t, r.Attempts[24].Detail, "all endpoints were excluded")
}

// cancelWhileWaiting cancels the context while queries wait for an endpoint.
func (k *Contract) cancelWhileWaiting(t *testing.T) {
	url, _ := k.absent(t)
	c := Config(url)
	c.Concurrency, c.EndpointTimeout = 2, time.Hour
	source, r := NewQueries(20), NewRecorder()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- k.open(t, c).Serve(ctx, source.End(), r) }()
	require.Eventually(t, func() bool { return r.Completed() >= 3 }, Patience, time.Millisecond)
	cancel()
	require.NoError(t, <-served)
	r.ExactlyOnce(t, 20)
}

// onePerEndpoint requires that with a limit of one no endpoint has two requests at once, and that all endpoints are
// used.
func (k *Contract) onePerEndpoint(t *testing.T) {
	for _, name := range balance.Names() {
		const endpoints = 3
		var now, most, served [endpoints]atomic.Int32
		urls := make([]string, endpoints)
		for i := range urls {
			urls[i] = k.Raw(t, func(conn net.Conn, _, _ int) bool {
				if n := now[i].Add(1); n > most[i].Load() {
					most[i].Store(n)
				}
				served[i].Add(1)
				time.Sleep(time.Millisecond)
				now[i].Add(-1) // before the client can send its next request
				_, err := conn.Write([]byte(Streamed))
				return err == nil
			})
		}
		c := Config(urls...)
		c.Balance, c.PerEndpoint = name, 1
		for _, n := range []int{0, 1, 2, 61} {
			for _, res := range k.Ask(t, c, n).Results {
				require.Equal(t, backends.OK, res.Reason)
			}
		}
		for i := range urls {
			require.EqualValues(t, 1, most[i].Load(), "%s, endpoint %d", name, i)
			require.Positive(t, served[i].Load(), name)
		}
	}
}

// equalKeysMeet requires that the strategy hash uses the keys of the configuration.
func (k *Contract) equalKeysMeet(t *testing.T) {
	c := Config(k.Raw(t, Answers(Streamed)), k.Raw(t, Answers(Streamed)), k.Raw(t, Answers(Streamed)))
	c.Balance = "hash"
	c.Key = func(index int) uint64 { return uint64(index % 10) }
	where := map[int]int{}
	for id, res := range k.Ask(t, c, 100).Results {
		key := (int(id) - 1) % 10
		if home, ok := where[key]; ok {
			require.Equal(t, home, res.Endpoint)
		}
		where[key] = res.Endpoint
	}
	require.Greater(t, len(where), 5)
}

// sockets tests servers on a Unix socket and on an IPv6 address.
func (k *Contract) sockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server sock")
	for network, address := range map[string]string{"unix": path, "tcp6": "[::1]:0"} {
		l, err := net.Listen(network, address)
		if err != nil && network == "tcp6" {
			t.Logf("no IPv6 here: %v", err)
			continue
		}
		require.NoError(t, err)
		url := ""
		if network == "unix" {
			RawOn(t, l, Answers(Streamed)) // without TLS
			url = "unix://" + path
		} else {
			url = k.RawOn(t, l, Answers(Streamed))
		}
		c := Config(url)
		c.Concurrency = 4
		b := k.open(t, c)
		r := NewRecorder()
		require.NoError(t, b.Serve(context.Background(), NewQueries(40).End(), r))
		r.ExactlyOnce(t, 40)
		for _, res := range r.Results {
			require.Equal(t, backends.OK, res.Reason, r.Attempts)
		}
		opened := b.Features().Traffic().Connections[0]
		require.Positive(t, opened)
		require.LessOrEqual(t, opened, int64(8), "connections are reused")
	}
	c := Config("unix://" + path + ".gone")
	a := k.Ask(t, c, 1).Attempts[0]
	require.Equal(t, backends.FailConnect, a.Reason)
	require.Contains(t, a.Detail, "POST unix://"+path+".gone /v1/completions: no connection")
	require.NotContains(t, a.Detail, ".invalid")
}
