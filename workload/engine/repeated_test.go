package engine

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// The server cuts the first attempt after 300 ms. This wait is part of the latency, and no delay of the client.
func TestRepeatedRequest(t *testing.T) {
	const wait = 300 * time.Millisecond
	var seen atomic.Int64
	s := serve(t, 0, func(n int64) int {
		if n == 1 {
			seen.Store(time.Now().UnixNano())
			time.Sleep(wait)
			panic(http.ErrAbortHandler)
		}
		return http.StatusOK
	})
	s.again = 1
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 1})
	_, all, _ := run(t, t.Context(), s, p, randomIDs(t, p), 1)
	require.Len(t, all, 1)
	r := &all[0]
	require.True(t, r.OK(), r.Reason)
	require.Equal(t, 1, r.Retries)
	require.GreaterOrEqual(t, r.FirstNS()-r.SentNS, int64(wait))
	require.Equal(t, r.DueNS, r.ReadyNS)
	require.LessOrEqual(t, r.SentNS, seen.Load())
}

// The server refuses connections for 300 ms. Nothing was sent before, so latencies begin afterwards, and the wait is no
// delay of the client.
func TestRefusedConnections(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	port := os.NewFile(uintptr(fd), "port")
	defer port.Close()
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := unix.Getsockname(fd)
	require.NoError(t, err)
	s := &server{Server: &httptest.Server{Config: &http.Server{}}, again: 1000}
	s.Config.Handler = s
	s.URL = fmt.Sprintf("http://127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	p := profileOf(profile.Stage{Arrival: profile.Burst, Requests: 1})
	e, _ := engineOf(t, s, p, randomIDs(t, p), 1)
	var refused sync.Once
	var listening atomic.Int64
	e.Failed = func(backends.Attempt) {
		refused.Do(func() {
			time.AfterFunc(300*time.Millisecond, func() {
				listening.Store(time.Now().UnixNano())
				require.NoError(t, unix.Listen(fd, 8))
				l, err := net.FileListener(port)
				require.NoError(t, err)
				s.Listener = l
				s.Config.Serve(l)
			})
		})
	}
	var r eventlog.Request
	e.Ended = func(of *eventlog.Request) { r = *of }
	_, err = e.Run(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Config.Close())
	require.NoError(t, e.Log.Close(eventlog.End{Complete: true}))
	require.True(t, r.OK(), r.Reason)
	require.Positive(t, r.Retries)
	require.Greater(t, r.SentNS, listening.Load())
	require.GreaterOrEqual(t, r.SentNS-r.DueNS, int64(300*time.Millisecond))
	require.Less(t, r.SentNS-r.ReadyNS, listening.Load()-r.DueNS, "the client's part")
}
