package hostinfo

import (
	"io"
	"os"
	"slices"
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

// A step that is reversed before the end is detected too. The test moves the machine's own clock, so it needs a
// variable.
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

// Of several readings the quickest counts, and the wall clock is assumed to be read in its middle.
func TestTheClosestPairCounts(t *testing.T) {
	widths := []int64{90, 50, 70, 10, 30}
	readings := 0
	read := func(clock int32) (int64, error) {
		round, step := readings/3, readings%3
		require.Equal(t, []int32{unix.CLOCK_MONOTONIC, unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC}[step], clock)
		readings++
		at := int64(round) * 1000
		switch step {
		case 1:
			return at + 5_000_000, nil
		case 2:
			at += append(widths, slices.Repeat([]int64{80}, clockTries)...)[round]
		}
		return at, nil
	}
	got, err := closestPair(read)
	require.NoError(t, err)
	require.Equal(t, Clocks{WallNS: 5_003_000, MonotonicNS: 3005}, got)
	require.Equal(t, 3*clockTries, readings)

	for broken := range 6 {
		readings = 0
		_, err := closestPair(func(clock int32) (int64, error) {
			if readings == broken {
				return 0, unix.EPERM
			}
			return read(clock)
		})
		require.ErrorIs(t, err, unix.EPERM, broken)
	}
	_, err = readClock(-1 << 30)
	require.ErrorContains(t, err, "reading clock -1073741824: ")
}

func TestADriftAtTheLimitIsNoStep(t *testing.T) {
	for drift, want := range map[time.Duration]bool{0: false, ClockStepLimit: false, -ClockStepLimit: false,
		ClockStepLimit + 1: true, -ClockStepLimit - 1: true} {
		require.Equal(t, want, Stepped(drift), drift)
	}
}

// The watch compares the clocks at each report of its timer, and not only at the end. A timer that fails makes the
// watch fail.
func TestClockWatchLooksWhenItsTimerReports(t *testing.T) {
	now, err := ReadClocks()
	require.NoError(t, err)
	timer, reports, err := os.Pipe()
	require.NoError(t, err)
	w := &ClockWatch{start: Clocks{WallNS: now.WallNS - 5e6, MonotonicNS: now.MonotonicNS}, read: ReadClocks,
		timer: timer, done: make(chan struct{})}
	_, err = reports.Write(make([]byte, 8))
	require.NoError(t, err)
	require.NoError(t, reports.Close())
	w.watch()
	require.InDelta(t, 5, float64(w.worst)/float64(time.Millisecond), 0.25)
	_, err = w.Stop()
	require.ErrorIs(t, err, io.EOF)
	require.ErrorContains(t, err, "watching the wall clock: ")
	_, err = w.Stop()
	require.ErrorIs(t, err, os.ErrClosed)
}

// The largest drift counts, backward or forward, and keeps its sign.
func TestClockWatchKeepsTheLargestDrift(t *testing.T) {
	now, err := ReadClocks()
	require.NoError(t, err)
	w := &ClockWatch{read: ReadClocks}
	for _, step := range []struct{ ms, want float64 }{{3, 3}, {-5, -5}, {4, -5}, {-1, -5}, {8, 8}, {-8.5, -8.5}} {
		w.start = Clocks{WallNS: now.WallNS - int64(step.ms*float64(time.Millisecond)), MonotonicNS: now.MonotonicNS}
		w.look()
		require.NoError(t, w.failed)
		require.InDelta(t, step.want, float64(w.worst)/float64(time.Millisecond), 0.25)
		require.True(t, Stepped(w.worst))
	}
}

// A watch that could not read its clocks fails: it does not report a clock without steps.
func TestClockWatchFailsWithItsClocks(t *testing.T) {
	w, err := WatchClocks()
	require.NoError(t, err)
	w.read = func() (Clocks, error) {
		return closestPair(func(int32) (int64, error) { return 0, unix.EPERM })
	}
	_, err = w.Stop()
	require.ErrorIs(t, err, unix.EPERM)
}
