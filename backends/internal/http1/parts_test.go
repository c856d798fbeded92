package http1

import (
	"bytes"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/balance"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
	"github.com/mlperf-go/mlperf-go/backends/internal/wire"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// socketPair returns a connection whose socket accepts few bytes, and its other end.
func socketPair(t *testing.T) (*conn, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<10))
	peer := os.NewFile(uintptr(fds[1]), "peer")
	c := &conn{fd: fds[0], state: busy, exchange: &exchange{}}
	t.Cleanup(func() {
		_ = peer.Close()
		if c.state != closed {
			_ = unix.Close(c.fd)
		}
	})
	return c, peer
}

// TestSender has a request that the socket accepts at once, one that it accepts in parts, and one to a lost peer.
func TestSender(t *testing.T) {
	to := &target{head: []byte("POST / HTTP/1.1\r\nContent-Length: ")}
	for name, size := range map[string]int{"copied": 100, "gathered": gatherFrom + 1, "in parts": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			c, peer := socketPair(t)
			body := bytes.Repeat([]byte("x"), size)
			times := &poller{clock: newClock()}
			s := sender{times: times, bodyOf: func(int) []byte { return body }}
			require.NoError(t, s.start(c, to))
			require.Equal(t, times.wall, c.exchange.sentNS)
			require.Equal(t, size == 1<<20, c.unsent)
			require.Equal(t, size > largeFrom, c.exchange.large)
			head, _ := s.request(c.exchange, to)
			got := make([]byte, len(head)+size)
			read := make(chan error, 1)
			go func() { _, err := io.ReadFull(peer, got); read <- err }()
			for c.unsent {
				require.NoError(t, s.flush(c))
			}
			require.NoError(t, <-read)
			require.Equal(t, string(head)+string(body), string(got))
		})
	}
	c, peer := socketPair(t)
	require.NoError(t, peer.Close())
	s := sender{times: &poller{clock: newClock()}, bodyOf: func(int) []byte { return nil }}
	require.ErrorIs(t, s.start(c, to), unix.EPIPE)
	require.EqualValues(t, unix.EPIPE, c.broken)
	require.False(t, c.unsent)
}

// dialerOf returns a dialer for one endpoint, and what ends its poller.
func dialerOf(t *testing.T, addresses ...address) *dialer {
	t.Helper()
	times := &poller{}
	require.NoError(t, times.open())
	t.Cleanup(times.close)
	p := &pool{poller: times, idle: make([]*conn, 1), buf: make([]byte, 1),
		counters: policy.NewCounters(&backends.Config{Endpoints: make([]backends.Endpoint, 1)})}
	return &dialer{pool: p, targets: []target{{addresses: addresses}}, timeout: time.Second}
}

// TestDialer tries an address that refuses and then one that accepts, and begins with the good one the next time.
func TestDialer(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	of := func(l net.Listener) address {
		port := l.Addr().(*net.TCPAddr).Port
		return address{family: unix.AF_INET, name: l.Addr().String(),
			sockaddr: &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}}
	}
	d := dialerOf(t, of(closed), of(server))
	c := d.create(&exchange{deadline: never, firstBy: never})
	require.NoError(t, d.try(c))
	require.Same(t, connectOver, c.over)
	made, err := d.connected(c, unix.EPOLLIN)
	require.NoError(t, err)
	require.False(t, made, "its events have not come")
	_, err = d.connected(c, unix.EPOLLERR)
	require.ErrorIs(t, err, unix.ECONNREFUSED)
	d.pool.remove(c)
	require.True(t, d.left(c))
	require.NoError(t, d.try(c))
	require.False(t, d.left(c))
	require.Eventually(t, func() bool { return ready(d.pool.poller.epoll, d.pool.poller.events[:]) > 0 }, time.Second,
		time.Millisecond)
	made, err = d.connected(c, unix.EPOLLOUT)
	require.NoError(t, err)
	require.True(t, made)
	require.Equal(t, busy, c.state)
	require.Zero(t, d.pool.dialing)
	require.Equal(t, 1, d.create(&exchange{}).first, "the address that was good")
	d.pool.shut(c)
}

// letters is an answer with one token per byte.
type letters struct{ ids []int32 }

func (a *letters) Begin(string)         { a.ids = nil }
func (a *letters) Expect(wire.Expected) {}
func (a *letters) Feed(p []byte) (n int, rest []byte) {
	a.ids = append(a.ids, make([]int32, len(p))...)
	return len(p), nil
}
func (a *letters) Tokens() []int32   { return a.ids }
func (a *letters) News() []wire.News { return nil }
func (a *letters) Settled() bool     { return false }
func (a *letters) Visible() bool     { return true }
func (a *letters) Begun() bool       { return true }
func (a *letters) Finish(o *backends.Outcome, cut backends.Reason) string {
	o.NTokens, o.Reason = len(a.ids), cut
	return ""
}

// TestReceiver reads answers from bytes alone, and checks the reports and the state of the connection.
func TestReceiver(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
	for _, c := range []struct {
		name, bytes string
		tokens      int
		state       state
		refused, ok bool
	}{
		{"whole", head + "\r\nabc", 3, idle, false, true},
		{"half", head + "\r\nab", -1, busy, false, true},
		{"the server closes", head + "Connection: close\r\n\r\nabc", 3, closed, false, true},
		{"more than an answer", head + "\r\nabcd", 3, closed, false, true},
		{"refused", "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno", -1, idle, true, true},
		{"not HTTP", "hello\r\n", -1, busy, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, peer := socketPair(t)
			defer peer.Close()
			sink := wiretest.NewRecorder()
			p := dialerOf(t).pool
			p.readings.newAnswer = func() wire.Answer { return &letters{} }
			for range conn.fd + 1 {
				p.byFD = append(p.byFD, nil)
			}
			p.byFD[conn.fd], conn.generation = conn, 1
			report := &reporter{sink: sink, times: p.poller, targets: make([]target, 1), outstanding: 1}
			in := &intake{line: balance.NewLine(balance.New(balance.Options{Endpoints: 1}), func(task) uint64 { return 0 })}
			defer in.line.Close()
			in.line.Push(task{})
			_, _, ok := in.next()
			require.True(t, ok)
			v := receiver{times: p.poller, intake: in, report: report, pool: p, ids: &policy.RequestIDs{}, timeout: time.Second}
			for i := range len(c.bytes) {
				refused, ok := v.read(conn, []byte(c.bytes[i:i+1]))
				if i == len(c.bytes)-1 || !ok {
					require.Equal(t, []bool{c.refused, c.ok}, []bool{refused.exchange != nil, ok})
				}
				if !ok || conn.state == closed {
					break
				}
			}
			require.Equal(t, c.state, conn.state)
			if c.tokens < 0 {
				require.False(t, sink.Results[0] != nil && sink.Results[0].Completions > 0, "it is completed")
				require.Equal(t, 1, in.busy)
				return
			}
			got := sink.Results[0]
			require.Equal(t, []int{1, 1, c.tokens}, []int{got.FirstCalls, got.Completions, got.NTokens})
			require.Zero(t, in.busy)
			require.Zero(t, report.outstanding)
		})
	}
}
