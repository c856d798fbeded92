package hostinfo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLocalPorts(t *testing.T) {
	n, err := LocalPorts()
	require.NoError(t, err)
	require.Positive(t, n)
	n, err = portsIn("32768\t60999\n")
	require.NoError(t, err)
	require.Equal(t, 28232, n)
	for _, bad := range []string{"", "1", "5 4", "a b", "0 10", "1 70000"} {
		_, err := portsIn(bad)
		require.ErrorContains(t, err, "not a range of ports", bad)
	}
}
