package http1

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

func TestPool(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	port := server.Addr().(*net.TCPAddr).Port
	a := &address{family: unix.AF_INET, sockaddr: &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}}
	times := &poller{}
	require.NoError(t, times.open())
	defer times.close()
	p := pool{poller: times, idle: make([]*conn, 1), buf: make([]byte, 1),
		counters: policy.NewCounters(&backends.Config{Endpoints: make([]backends.Endpoint, 1)})}
	require.Nil(t, p.take(0))
	require.Nil(t, p.anyIdle())
	var conns []*conn
	for range 3 {
		c := p.create()
		c.state = connecting
		require.NoError(t, p.connect(c, a))
		require.Same(t, c, p.find(c.fd, c.generation))
		require.Nil(t, p.find(c.fd, c.generation-1), "an event of an earlier socket")
		conns = append(conns, c)
	}
	require.Equal(t, []int{3, 3, 3}, []int{p.dialing, p.open, p.openMax})
	p.dialing = 0
	for _, c := range conns {
		p.rest(c)
	}
	require.Equal(t, 3, p.resting)
	require.Same(t, conns[2], p.anyIdle())
	require.Same(t, conns[2], p.take(0), "the one that was used last")
	p.shut(conns[0])
	require.Same(t, conns[1], p.take(0))
	require.Nil(t, p.take(0))
	require.Same(t, conns[0], p.create(), "its memory is used again")
	conns[1].state, conns[2].state = busy, busy
	p.shutAll()
	require.Zero(t, p.open)
	times.wheel.each(func(*timer) { t.Error("a timer of a closed connection is set") })
}
