package calibrate

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/realtime"
)

// earlyNS is how much earlier than the due time the timer of waited ends, as it does for the event loop at most
// (docs/reference/measurements.md#waking-early).
const earlyNS = 100_000

// waited returns the gaps, in seconds, between the moments at which a thread that only waits reaches times that are due
// at a rate. No client on this machine can send with less variation: where these gaps vary, the processor was taken
// away from the thread.
func waited(ctx context.Context, rate float64, length time.Duration) []float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, _ := realtime.Sharpen()
	defer restore()
	n := int(length.Seconds()*rate) + 1
	gaps := make([]float64, 0, n)
	start, before := monotonicNS(), int64(0)
	for i := 1; i <= n && ctx.Err() == nil; i++ {
		due := start + int64(float64(i)/rate*1e9)
		timer := unix.NsecToTimespec(due - earlyNS)
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &timer, nil) // a signal ends it early
		now := monotonicNS()
		for now < due {
			now = monotonicNS()
		}
		if before != 0 {
			gaps = append(gaps, time.Duration(now-before).Seconds())
		}
		before = now
	}
	return gaps
}

func monotonicNS() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // this clock always exists
	return t.Nano()
}
