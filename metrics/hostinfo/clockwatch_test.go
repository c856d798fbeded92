package hostinfo

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestClockWatchOfAQuietClock(t *testing.T) {
	defer goleak.VerifyNone(t)
	w, err := WatchClocks()
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond)
	drift, err := w.Stop()
	require.NoError(t, err)
	require.False(t, Stepped(drift), drift)
}

// A step that is taken back before the end is seen all the same. It moves the machine's own clock, so it is asked for
// by name.
func TestClockWatchOfAStepTakenBack(t *testing.T) {
	if os.Getenv("TEST_CLOCK_STEPS") == "" {
		t.Skip("moves the machine's clock by 20 ms and back: set TEST_CLOCK_STEPS=1")
	}
	w, err := WatchClocks()
	require.NoError(t, err)
	stepClock(t, 20*time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	stepClock(t, -20*time.Millisecond)
	drift, err := w.Stop()
	require.NoError(t, err)
	require.InDelta(t, 20, float64(drift.Microseconds())/1e3, 5)
}

// stepClock moves the wall clock.
func stepClock(t *testing.T, by time.Duration) {
	t.Helper()
	var now unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_REALTIME, &now))
	then := unix.NsecToTimespec(now.Nano() + int64(by))
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &then); err != nil {
		t.Skipf("the clock cannot be set here: %v", err)
	}
}

// The largest drift counts, back as well as forward, and keeps its sign.
func TestClockWatchKeepsTheLargestDrift(t *testing.T) {
	now, err := ReadClocks()
	require.NoError(t, err)
	w := &ClockWatch{}
	for _, step := range []struct{ ms, want float64 }{{3, 3}, {-5, -5}, {4, -5}, {-1, -5}, {8, 8}, {-8.5, -8.5}} {
		w.start = Clocks{WallNS: now.WallNS - int64(step.ms*float64(time.Millisecond)), MonotonicNS: now.MonotonicNS}
		w.look()
		require.NoError(t, w.failed)
		require.InDelta(t, step.want, float64(w.worst)/float64(time.Millisecond), 0.25)
		require.True(t, Stepped(w.worst))
	}
}
