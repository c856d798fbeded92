package run

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// stepClock moves the machine's wall clock.
func stepClock(by time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	then := unix.NsecToTimespec(now.Nano() + int64(by))
	return unix.ClockSettime(unix.CLOCK_REALTIME, &then)
}

// The wall clock steps in the middle of a run and back again before its end. LoadGen measured with it, so the run is
// INVALID. The test moves the machine's clock, which would make every other run INVALID too, so it needs a variable and
// runs alone.
func TestFaultClockStep(t *testing.T) {
	if os.Getenv("TEST_CLOCK_STEPS") == "" {
		t.Skip("moves the machine's clock by 20 ms and back: set TEST_CLOCK_STEPS=1")
	}
	program(t)
	if err := stepClock(0); err != nil {
		t.Skipf("the clock cannot be set here: %v", err)
	}
	moved := make(chan error, 1)
	began := make(chan struct{}, 1)
	s := serveFaults(t, func(x *call) {
		select {
		case began <- struct{}{}:
		default:
		}
		x.good()
	})
	go func() {
		<-began
		forth := stepClock(20 * time.Millisecond)
		time.Sleep(200 * time.Millisecond)
		moved <- errors.Join(forth, stepClock(-20*time.Millisecond))
	}()
	r := start(t, "--served-model", "m", "--dataset", faultSet(t, "", 16), "--endpoint", s.url, "--min-queries", "60",
		"--min-duration", "0",
		"--max-tokens", "4", "--no-preflight-query", "--model", "generic", "--scenario", "Server", "--target-qps", "30",
		"--backend", "vllm")
	require.NoError(t, <-moved)
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, ExitInvalid, r.Exit)
	require.Zero(t, r.Samples.Failed, r.Samples.FailedByReason)
	var codes []record.Code
	for _, c := range r.Reasons {
		codes = append(codes, c.Code)
	}
	require.Contains(t, codes, record.CodeClockStep)
	require.InDelta(t, 20_000, r.Client.ClockDriftUS, 5_000)
}
