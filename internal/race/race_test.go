package race

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnabledFollowsTheBuild(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	built := false
	for _, s := range info.Settings {
		if s.Key == "-race" {
			built = s.Value == "true"
		}
	}
	require.Equal(t, built, Enabled)
}
