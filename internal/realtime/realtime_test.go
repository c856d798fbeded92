package realtime

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestSharpenIsTakenBack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	policy := func() uint32 {
		a, err := unix.SchedGetAttr(0, 0)
		require.NoError(t, err)
		return a.Policy
	}
	before := policy()
	restore, granted := Sharpen()
	if granted {
		require.EqualValues(t, unix.SCHED_FIFO, policy())
	} else {
		require.Equal(t, before, policy())
	}
	restore()
	require.Equal(t, before, policy())
}
