package http1

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// spin looks n times, each interval ns after the one before and with so many events.
func (p *pace) spin(at *int64, n int, interval int64, events int) {
	for range n {
		*at += interval
		p.look(*at, events)
	}
}

func TestPace(t *testing.T) {
	at := int64(1)
	never := pace{}
	never.spin(&at, 100, 1000, 1)
	require.False(t, never.on, "0 means never")

	p := pace{length: 50 * time.Microsecond}
	p.spin(&at, 32, 200_000, 1)
	require.False(t, p.on, "5,000 wake-ups per second are borne")
	p.spin(&at, 16, 10_000, 1)
	require.True(t, p.on, "100,000 are not")
	p.spin(&at, 32, 60_000, 6)
	require.True(t, p.on, "each pause brings six")
	p.spin(&at, 16, 60_000, 1)
	require.False(t, p.on, "a pause that brings one is for nothing")
	p.spin(&at, 32, 10_000, 20)
	require.False(t, p.on, "a loop that has enough to do does not pause")
}

func TestQuickWakeUps(t *testing.T) {
	at := int64(1)
	var p pace
	p.spin(&at, 16, 2_000_000, 1)
	require.False(t, p.quick, "500 wake-ups per second are slow")
	p.spin(&at, 16, 900_000, 1)
	require.True(t, p.quick, "1,100 are quick")
	p.spin(&at, 16, 1_100_000, 1)
	require.False(t, p.quick, "900 are slow again")
}

// A loop that waits and keeps its place must not hold up the garbage collector, which stops the world.
func TestHeldWaitsLetTheWorldStop(t *testing.T) {
	var p poller
	require.NoError(t, p.open())
	defer p.close()
	var over atomic.Bool
	started, done := make(chan bool), make(chan int)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		started <- true
		waits := 0
		for ; !over.Load(); waits++ {
			_, _ = hold(p.epoll, p.events[:], holdMS)
		}
		done <- waits
	}()
	<-started
	const stops = 10
	began := time.Now()
	for range stops {
		time.Sleep(time.Millisecond) // it waits again
		runtime.GC()
	}
	took := time.Since(began)
	over.Store(true)
	signal(p.wake)
	require.Positive(t, <-done)
	require.Less(t, took, stops*holdMS*time.Millisecond/2, "each collection stops the world twice")
}

func TestRestEndsAtItsDeadline(t *testing.T) {
	for _, spare := range []bool{false, true} {
		p := &poller{spare: spare}
		require.NoError(t, p.open())
		defer p.close()
		p.pace.quick = true
		for _, d := range []time.Duration{0, 3 * time.Millisecond, (holdMS + 20) * time.Millisecond} {
			began := time.Now()
			for time.Since(began) < d { // a signal may end a wait
				require.Zero(t, p.rest(d-time.Since(began)))
			}
			require.Less(t, time.Since(began), d+wiretest.Patience)
		}
		signal(p.wake)
		require.Equal(t, 1, p.rest(-1), "an event ends the wait")
	}
}

func TestStats(t *testing.T) {
	var l loop
	l.stats.endRound(50)
	require.Zero(t, l.stats.turns, "none has begun")
	l.stats.beginRound(1000, 3)
	l.stats.endRound(5000)
	l.stats.beginRound(6000, 2)
	l.stats.endRound(6500)
	s := l.summary(1, 2)
	require.EqualValues(t, 2, s.Turns)
	require.EqualValues(t, 5, s.Events)
	require.InDelta(t, 4, s.StallMaxUS, 1e-9)
	require.Len(t, s.Stalls, 3)
}

// soonSource is a source that expects a query soon, or not.
type soonSource struct{ soon bool }

func (s soonSource) Soon(time.Duration) bool { return s.soon }

// TestNoPauseDelaysAQuery has a loop that pauses between wake-ups not do so before a query that comes soon.
func TestNoPauseDelaysAQuery(t *testing.T) {
	for _, soon := range []bool{false, true} {
		var p poller
		require.NoError(t, p.open())
		t.Cleanup(p.close)
		p.pace = pace{length: time.Microsecond, on: true}
		p.wait = func() int { return 0 }
		p.timed = soonSource{soon}
		p.poll(false)
		require.Equal(t, soon, p.stats.pauses == 0)
	}
}
