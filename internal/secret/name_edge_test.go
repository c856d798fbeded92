package secret

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsFlag(t *testing.T) {
	for word, want := range map[string]bool{"-a": true, "--Zeta": true, "-z": true, "-A": true, "a": false, "--": false,
		"-1": false, "": false, "-[": false} {
		require.Equal(t, want, isFlag(word), word)
	}
}
