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

// oneShard is a ring whose producer is the test.
func oneShard(t *testing.T) *Shard {
	sut, err := ConstructSUT("ring", 1, 64)
	require.NoError(t, err)
	t.Cleanup(func() { DestroySUT(sut) })
	return sut.Shards()[0]
}

// TestTheLastQueryIsNotLost issues one query and ends the test at once, again and again while the consumer looks: whatever the
// consumer has seen last, it gets the query before it is told of the end.
func TestTheLastQueryIsNotLost(t *testing.T) {
	s := oneShard(t)
	const rounds = 3_000
	var turn atomic.Int64
	go func() {
		runtime.LockOSThread()
		for round := int64(1); round <= rounds; round++ {
			for turn.Load() != round {
			}
			for range round % 64 { // at every place of the consumer's way
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

// TestWaitSleepsAfterALateWakeUp leaves a wake-up behind, as the issue thread does where it has taken the announcement of a consumer
// that was just giving up its wait: the next waits sleep all the same.
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
