//go:build cgo && !noloadgen

package loadgen_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// measureOnly skips a measurement unless scripts/bench.sh runs it. Rows of scripts/benchsum contain its limits.
func measureOnly(t *testing.T) {
	if os.Getenv("BRIDGE_BENCH") == "" {
		t.Skip("a measurement; BRIDGE_BENCH=1 makes it, as make bench does")
	}
}

// TestBridgeCPUPerQuery measures how much processor time the ring and Go cost more than a C++ worker thread. Each runs
// in its own process and reports first token and answer of 200,000 Server queries, which LoadGen issues as fast as it
// can.
func TestBridgeCPUPerQuery(t *testing.T) {
	measureOnly(t)
	const n = 200_000
	perQuery := func(runner string) float64 {
		j := server(1e7, n)
		j.Runner, j.Capacity, j.Lean = runner, 1<<18, true
		return us(must(t, j, 2*time.Minute).CPU / n)
	}
	fmt.Printf("MEASURED bridge/cpp %.4f us\nMEASURED bridge/go %.4f us\n", perQuery("cpp"), perQuery(""))
}

// TestScheduleLag measures how late LoadGen issues queries, first with Go idle, then with all of Go's Ps busy.
func TestScheduleLag(t *testing.T) {
	measureOnly(t)
	lag := func(spin int) float64 {
		j := server(2000, 2000)
		j.LogSettings.EnableTrace, j.Lean, j.MaxProcs, j.Spin = true, true, 2, spin
		lags, err := scheduleLags(must(t, j, time.Minute).dir)
		require.NoError(t, err)
		require.Len(t, lags, 2000)
		return us(time.Duration(quantile(lags, 0.99)))
	}
	fmt.Printf("MEASURED schedule-lag/idle %.4f us\nMEASURED schedule-lag/saturated %.4f us\n", lag(0), lag(2))
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
