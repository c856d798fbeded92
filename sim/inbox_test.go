package sim

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestArrivalIsTheKernelsTime reads bytes long after their arrival: a late goroutine does not delay the recorded time.
func TestArrivalIsTheKernelsTime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	server, err := l.Accept()
	require.NoError(t, err)
	defer server.Close()
	pace, err := newPacer()
	require.NoError(t, err)
	defer pace.close()
	raw, err := server.(syscall.Conn).SyscallConn()
	require.NoError(t, err)

	var known, unknown inbox
	known.open(server, raw, pace)
	unknown.open(server, nil, pace)
	const late = 20 * time.Millisecond
	byKernel := func(i *inbox) bool {
		before := pace.now()
		_, err = client.Write([]byte("GET"))
		require.NoError(t, err)
		after := pace.now()
		time.Sleep(late)
		n, err := i.Read(make([]byte, 10))
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.GreaterOrEqual(t, i.arrived, before)
		return i.arrived < after+int64(late)/2
	}
	require.False(t, byKernel(&unknown))
	// The kernel starts to record times some moments after the first socket requests them.
	require.Eventually(t, func() bool { return byKernel(&known) }, time.Minute, time.Millisecond)
	for _, age := range []time.Duration{-time.Hour, time.Hour} { // the wall clock was set meanwhile
		require.Zero(t, known.age(time.Now().Add(age)))
	}
	require.NoError(t, server.SetReadDeadline(time.Now()))
	_, err = known.Read(make([]byte, 10))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, server.SetReadDeadline(time.Time{}))
	require.NoError(t, client.Close())
	_, err = known.Read(make([]byte, 10))
	require.ErrorIs(t, err, io.EOF)
}
