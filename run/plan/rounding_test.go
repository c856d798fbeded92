package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{"1000": true, "0x3e8": true, "1000.0000001": true, "1000.1": false,
		"999.9": false, "x": false} {
		require.Equal(t, want, isNumber(text, 1000), text)
	}
	require.True(t, isNumber("1e-6", 1e-6), "the rounding is relative")
	require.False(t, isNumber("2e-6", 1e-6))
	require.False(t, isNumber("0.5e-6", 1e-6))
}
