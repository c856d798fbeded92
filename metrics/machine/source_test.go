package machine

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Shares cover the time since the previous reading, without the time in which CPUs were idle.
func TestSource(t *testing.T) {
	root := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc/stat"), []byte(text), 0o600))
	}
	require.Nil(t, Open(root))
	require.NoError(t, os.Mkdir(filepath.Join(root, "proc"), 0o700))
	write("cpu  100 0 100 1000 200 0 0 0 0 0\ncpu0 1 2 3\n")
	s := Open(root)
	_, first, err := s.Read()
	require.NoError(t, err)
	require.True(t, math.IsNaN(first[0]) && math.IsNaN(first[1]))
	write("cpu  130 0 110 1050 210 0 0 0 30 0\ncpu0 1 2 3\n")
	until := time.Now().Add(50 * time.Millisecond)
	for time.Now().Before(until) { // the process works
	}
	known, values, err := s.Read()
	require.NoError(t, err)
	require.Len(t, known, len(values))
	require.InDelta(t, 0.4, values[0], 1e-9)
	require.Positive(t, values[1])
	for _, text := range []string{"", "cpu", "intr 1 2 3 4 5 6", "cpu 1 2 x 4 5 6 7 8", "cpu 1 2 3"} {
		write(text)
		_, _, err := s.Read()
		require.Error(t, err, text)
	}
}

func TestThisMachine(t *testing.T) {
	s := Open("/")
	require.NotNil(t, s)
	_, _, err := s.Read()
	require.NoError(t, err)
}
