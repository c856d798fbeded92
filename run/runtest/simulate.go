package runtest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/sim"
)

// Simulate serves the simulator in this process until the test ends. It answers with random tokens: the first one
// after ttft, and each further one after tpot. Other settings can be changed. Simulate returns the URL, and the
// server.
func Simulate(t testing.TB, ttft, tpot time.Duration, change ...func(*sim.Config)) (string, *sim.Server) {
	t.Helper()
	config := sim.DefaultConfig()
	config.TTFT, config.TPOT, config.Answers = ttft, tpot, sim.AnswerRandom
	for _, f := range change {
		f(&config)
	}
	s, err := sim.New(config)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		defer crash.Catch()
		ended <- s.Serve(ctx, l)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return "http://" + l.Addr().String(), s
}
