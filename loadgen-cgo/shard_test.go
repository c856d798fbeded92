//go:build cgo && !noloadgen

package loadgen

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// oneShard returns a ring whose producer is the test.
func oneShard(t *testing.T) *Shard {
	sut, err := ConstructSUT("ring", 1, 64)
	require.NoError(t, err)
	t.Cleanup(func() { DestroySUT(sut) })
	return sut.Shards()[0]
}

// TestTheLastQueryIsNotLost issues one query and ends the test at once, many times while the consumer polls.
// The consumer always gets the query before the end.
func TestTheLastQueryIsNotLost(t *testing.T) {
	s := oneShard(t)
	const rounds = 3_000
	var turn atomic.Int64
	go func() {
		runtime.LockOSThread()
		for round := int64(1); round <= rounds; round++ {
			for turn.Load() != round {
			}
			for range round % 64 { // so that the query arrives at different points of the consumer's loop
				runtime.KeepAlive(s)
			}
			atomic.StoreUint64(s.head, uint64(round))
			atomic.StoreUint32(s.ended, 1)
		}
	}()
	var dst [4]Query
	for round := int64(1); round <= rounds; round++ {
		atomic.StoreUint32(s.ended, 0)
		turn.Store(round)
		got := 0
		for {
			n, open := s.Wait(dst[:], 0)
			got += n
			if !open {
				break
			}
		}
		require.Equal(t, 1, got, "round %d", round)
	}
}

// TestWaitSleepsAfterALateWakeUp leaves an unread wake-up, as the issue thread does if the consumer stops waiting at
// that moment. The next waits must still sleep.
func TestWaitSleepsAfterALateWakeUp(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := oneShard(t)
	_, err := unix.Write(s.FD(), []byte{1, 0, 0, 0, 0, 0, 0, 0})
	require.NoError(t, err)
	before, began := threadCPU(t), time.Now()
	n, open := s.Wait(make([]Query, 1), 300*time.Millisecond)
	require.Zero(t, n)
	require.True(t, open)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	require.Less(t, threadCPU(t)-before, 100*time.Millisecond, "it spins instead of sleeping")
}

func threadCPU(t *testing.T) time.Duration {
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_THREAD, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestParkFailsWhileWorkIsQueued checks that a consumer may sleep only if the ring is empty and the test continues. If
// it may not, no announcement must remain, because it would cost the issue thread a wake-up.
func TestParkFailsWhileWorkIsQueued(t *testing.T) {
	s := oneShard(t)
	announced := func() bool { return atomic.LoadUint32(s.park) == 1 }
	require.True(t, s.Park())
	require.True(t, announced())
	s.Unpark()
	require.False(t, announced())
	atomic.StoreUint64(s.head, 3)
	require.False(t, s.Park(), "three queries are there")
	require.False(t, announced())
	var dst [2]Query
	require.Equal(t, 2, s.Pop(dst[:]))
	require.False(t, s.Park(), "one is left")
	require.Equal(t, 1, s.Pop(dst[:]))
	require.Zero(t, s.Pop(dst[:]))
	require.True(t, s.Park())
	s.Unpark()
	atomic.StoreUint32(s.ended, 1)
	require.False(t, s.Park(), "the test has ended")
	require.False(t, announced())
}

// TestUnparkSwallowsItsWakeUp withdraws the announcement and wakes the consumer, like the issue thread. FD must be
// readable until Unpark.
func TestUnparkSwallowsItsWakeUp(t *testing.T) {
	s := oneShard(t)
	readable := func() bool {
		fds := [1]unix.PollFd{{Fd: int32(s.FD()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds[:], 0)
		require.NoError(t, err)
		return n == 1
	}
	require.True(t, s.Park())
	require.EqualValues(t, 1, atomic.SwapUint32(s.park, 0))
	_, err := unix.Write(s.FD(), []byte{1, 0, 0, 0, 0, 0, 0, 0})
	require.NoError(t, err)
	require.True(t, readable())
	s.Unpark()
	require.False(t, readable())
}

// TestWaitReturnsInTime requires that a wait ends at its time limit, or earlier if a query arrives.
func TestWaitReturnsInTime(t *testing.T) {
	s := oneShard(t)
	var dst [4]Query
	for _, timeout := range []time.Duration{0, 300 * time.Microsecond, 20 * time.Millisecond} {
		began := time.Now()
		n, open := s.Wait(dst[:], timeout)
		require.Zero(t, n)
		require.True(t, open)
		require.GreaterOrEqual(t, time.Since(began), timeout)
	}
	go func() {
		for atomic.LoadUint32(s.park) == 0 { // until the consumer sleeps
			time.Sleep(time.Millisecond)
		}
		atomic.StoreUint64(s.head, 2)
		atomic.StoreUint32(s.park, 0)
		_, _ = unix.Write(s.FD(), []byte{1, 0, 0, 0, 0, 0, 0, 0}) // Wait recognizes the wake-up by its length
	}()
	began := time.Now()
	n, open := s.Wait(dst[:], time.Minute)
	require.Equal(t, 2, n)
	require.True(t, open)
	require.Less(t, time.Since(began), 30*time.Second)
	atomic.StoreUint64(s.head, 3)
	atomic.StoreUint32(s.ended, 1)
	n, open = s.Wait(dst[:], time.Minute)
	require.Equal(t, []any{1, true}, []any{n, open}, "what came before the end")
	n, open = s.Wait(dst[:], time.Minute)
	require.Equal(t, []any{0, false}, []any{n, open})
}
