package http1

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestWheel sets, moves and stops timers at random: each goes off once, not before its time, and at most a tick after.
func TestWheel(t *testing.T) {
	const tick = 1 << tickShift
	rapid.Check(t, func(rt *rapid.T) {
		var w wheel
		w.init()
		now := int64(0)
		timers := make([]timer, 30)
		due := map[*timer]int64{}
		for range 200 {
			x := &timers[rapid.IntRange(0, len(timers)-1).Draw(rt, "timer")]
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				at := now + rapid.Int64Range(-tick, 3*slots*tick).Draw(rt, "at")
				w.set(x, at)
				due[x] = max(at, now)
			case 2:
				at := now + rapid.Int64Range(0, 3*slots*tick).Draw(rt, "by")
				if old, set := due[x]; !set || at>>tickShift < old>>tickShift {
					due[x] = at
				}
				w.by(x, at)
			case 3:
				x.stop()
				delete(due, x)
			case 4:
				if wait := w.wait(now); len(due) > 0 {
					require.GreaterOrEqual(rt, wait, int64(0))
					for _, at := range due {
						require.LessOrEqual(rt, now+wait, at+2*tick, "it wakes up in time")
					}
				}
				now += rapid.Int64Range(0, 2*slots*tick).Draw(rt, "pass")
				for x := w.expired(now); x != nil; x = w.expired(now) {
					at, set := due[x]
					require.True(rt, set)
					require.LessOrEqual(rt, at, now)
					delete(due, x)
				}
				for _, at := range due {
					require.Greater(rt, at+2*tick, now, "a timer was forgotten")
				}
			}
		}
	})
}

// TestWheelWhileGoingOff stops and sets timers from what goes off.
func TestWheelWhileGoingOff(t *testing.T) {
	var w wheel
	w.init()
	var a, b, c timer
	w.set(&a, 10)
	w.set(&b, 10)
	w.set(&c, 10)
	const later = 5 << tickShift
	first := w.expired(later)
	require.Same(t, &a, first)
	b.stop()
	w.set(first, later)
	require.Same(t, &c, w.expired(later))
	require.Nil(t, w.expired(later))
	require.Same(t, &a, w.expired(later+2<<tickShift))
}

func BenchmarkWheel(b *testing.B) {
	var w wheel
	w.init()
	timers := make([]timer, 1000)
	for i := range b.N {
		w.set(&timers[i%len(timers)], int64(i)<<10)
	}
}
