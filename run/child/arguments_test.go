package child

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifferences(t *testing.T) {
	before := []string{"--model=a", "--max-tokens=4", "--seed=1"}
	require.Equal(t, "before --max-tokens=4 --seed=1, now --max-tokens=5",
		Differences(before, []string{"--model=a", "--max-tokens=5"}))
	require.Equal(t, "now --http2=true", Differences(before, append(before[:3:3], "--http2=true")))
	require.Empty(t, Differences(before, before))
	require.Equal(t, "now --seed=2", Differences(nil, []string{"--seed=2", "--seed=2"}), "once")
}
