package hostinfo

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// ClockStepLimit is the drift between the two clocks above which a test is invalid. LoadGen measures latencies with the
// wall clock, so a clock step falsifies them.
const ClockStepLimit = time.Millisecond

// Clocks is one moment on both clocks, in ns.
type Clocks struct {
	WallNS      int64 `json:"wall_ns"`      // since 1970
	MonotonicNS int64 `json:"monotonic_ns"` // since boot, without the time asleep
}

// clockTries is the number of attempts to read both clocks. The two closest readings count, because a thread may lose
// its CPU between two reads.
const clockTries = 16

// ReadClocks reads both clocks at the same moment, to well under a microsecond on an idle CPU.
//
// NTP slews CLOCK_MONOTONIC just as the wall clock, so two pairs differ only by clock steps and by sleep.
func ReadClocks() (Clocks, error) { return closestPair(readClock) }

// closestPair reads both clocks several times.
func closestPair(read func(clock int32) (int64, error)) (Clocks, error) {
	var best Clocks
	tightest := int64(-1)
	for range clockTries {
		before, err := read(unix.CLOCK_MONOTONIC)
		if err != nil {
			return Clocks{}, err
		}
		wall, err := read(unix.CLOCK_REALTIME)
		if err != nil {
			return Clocks{}, err
		}
		after, err := read(unix.CLOCK_MONOTONIC)
		if err != nil {
			return Clocks{}, err
		}
		if width := after - before; tightest < 0 || width < tightest {
			tightest = width
			best = Clocks{WallNS: wall, MonotonicNS: before + width/2}
		}
	}
	return best, nil
}

func readClock(id int32) (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0, fmt.Errorf("reading clock %d: %w", id, err)
	}
	return ts.Nano(), nil
}

// Drift returns how much more the wall clock advanced than the monotonic clock since start; negative if it was set
// back.
func (c Clocks) Drift(start Clocks) time.Duration {
	return time.Duration((c.WallNS - start.WallNS) - (c.MonotonicNS - start.MonotonicNS))
}

// Stepped reports whether a drift exceeds ClockStepLimit in either direction.
func Stepped(drift time.Duration) bool { return drift.Abs() > ClockStepLimit }
