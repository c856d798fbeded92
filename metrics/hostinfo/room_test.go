package hostinfo

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestRoom(t *testing.T) {
	need := NeededRoom(1<<30, 256<<20)
	require.Greater(t, need.AddressSpace, uint64(2<<30))
	require.NoError(t, CheckRoom(Room{}))
	for _, l := range limits {
		own := uint64(0)
		if l.used != nil {
			own = l.used()
			require.Positive(t, own, "this process has threads")
			l.used = func() uint64 { return own }
		}
		want := l.need(need) + own
		require.NoError(t, l.check(unix.RLIM_INFINITY, need))
		require.NoError(t, l.check(want, need))
		err := l.check(want-1, need)
		if l.resource == unix.RLIMIT_NPROC && os.Geteuid() == 0 {
			require.NoError(t, err, "the kernel spares root")
			continue
		}
		require.ErrorContains(t, err, l.name)
		require.ErrorContains(t, err, l.raise)
	}
}
