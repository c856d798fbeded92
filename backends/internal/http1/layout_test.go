package http1

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestConnectionsAreSmall keeps what a request touches of a connection and of an exchange in two cache lines each, and
// their sizes at multiples of a line, so that one of them never shares a line with another.
func TestConnectionsAreSmall(t *testing.T) {
	const line = 64
	var c conn
	require.Equal(t, uintptr(line), unsafe.Offsetof(c.timer))
	require.Equal(t, uintptr(2*line), unsafe.Offsetof(c.head))
	require.Zero(t, unsafe.Sizeof(c)%line)
	var x exchange
	require.Equal(t, uintptr(line), unsafe.Offsetof(x.deadline))
	require.Equal(t, uintptr(2*line), unsafe.Offsetof(x.timer))
	require.Zero(t, unsafe.Sizeof(x)%line)
}
