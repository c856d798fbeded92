package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestIDs(t *testing.T) {
	a, b := NewRequestIDs(), NewRequestIDs()
	seen := map[string]bool{}
	for _, number := range []uint64{0, 1, 15, 16, 255, 1 << 20, 1<<48 - 1} {
		for _, ids := range []*RequestIDs{&a, &b} {
			id := string(ids.Append([]byte("head "), number))
			require.Len(t, id, len("head ")+IDLength)
			require.Empty(t, strings.Trim(id[len("head "):], "0123456789abcdef"))
			require.False(t, seen[id], id)
			seen[id] = true
		}
	}
	buffer := make([]byte, 0, IDLength)
	require.Zero(t, testing.AllocsPerRun(100, func() { buffer = a.Append(buffer[:0], 7) }))
}

func BenchmarkRequestID(b *testing.B) {
	ids := NewRequestIDs()
	buffer := make([]byte, 0, IDLength)
	for i := range b.N {
		buffer = ids.Append(buffer[:0], uint64(i))
	}
}
