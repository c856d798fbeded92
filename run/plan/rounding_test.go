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

func TestSameNumber(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{{"0x10", "16", true}, {"16", "16", true}, {"x", "x", true}, {"x", "y", false}, {"16", "17", false},
		{"16", "16.0", false}, {"x", "0", false}, {"0", "x", false}} {
		require.Equal(t, c.same, sameNumber(c.a, c.b), "%s and %s", c.a, c.b)
	}
}
