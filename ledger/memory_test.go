package ledger

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// All expected samples have memory before the first comes, and no others.
func TestExpectedSamplesAreResident(t *testing.T) {
	const expected = 3*chunkSize + 1
	l := New(1, expected)
	page := uintptr(os.Getpagesize())
	for i := range 4 {
		c := l.chunks[i].Load()
		require.NotNil(t, c)
		for part, size := range map[unsafe.Pointer]uintptr{
			unsafe.Pointer(c): unsafe.Sizeof(*c), unsafe.Pointer(c.entry): unsafe.Sizeof(*c.entry),
		} {
			first := uintptr(part) &^ (page - 1)
			pages := make([]byte, (uintptr(part)+size-first+page-1)/page)
			_, _, errno := syscall.Syscall(unix.SYS_MINCORE, first, uintptr(len(pages))*page,
				uintptr(unsafe.Pointer(&pages[0])))
			require.Zero(t, errno)
			for at, resident := range pages {
				require.Equal(t, byte(1), resident&1, "page %d of chunk %d", at, i)
			}
		}
	}
	require.Nil(t, l.chunks[4].Load())
	for _, none := range []int{0, -1} {
		require.Nil(t, New(1, none).chunks[0].Load())
	}
}
