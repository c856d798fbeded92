package http1_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// A loop reports the processor that it was pinned to, and unpins its thread afterwards.
func TestALoopIsPinned(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	first, none := -1, -1 // processors that we may use, and may not
	for cpu := len(before)*64 - 1; cpu >= 0; cpu-- {
		if before.IsSet(cpu) {
			first = cpu
		} else {
			none = cpu
		}
	}
	for want, got := range map[int]int{0: -1, first + 1: first, none + 1: -1} {
		c := wiretest.Config(wiretest.Canned(t, -1, streamOf(2, 2)...))
		c.PinLoop = want
		b, err := open(c)
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(20).End(), r))
		r.ExactlyOnce(t, 20)
		loop := b.Features().Loop()
		require.Equal(t, got, loop.CPU)
		require.NoError(t, unix.SchedGetaffinity(0, &after))
		require.Equal(t, before, after)
	}
}
