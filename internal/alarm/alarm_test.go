package alarm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAlarm(t *testing.T) {
	a, err := New()
	require.NoError(t, err)
	defer a.Close()
	start := time.Now()
	a.Set(5 * time.Millisecond)
	a.Sleep(10 * time.Second)
	require.GreaterOrEqual(t, time.Since(start), 5*time.Millisecond)
	go a.Set(0) // from another goroutine
	a.Sleep(10 * time.Second)
	require.Less(t, time.Since(start), 5*time.Second)
	start = time.Now()
	a.Sleep(2 * time.Millisecond)
	require.GreaterOrEqual(t, time.Since(start), 2*time.Millisecond, "it is cleared after it went off")
}
