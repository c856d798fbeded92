package engine

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestSlotsBeginAtALine: slots of this size begin where a line of the cache does.
func TestSlotsBeginAtALine(t *testing.T) {
	require.EqualValues(t, 512, unsafe.Sizeof(slot{}))
}
