package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/measure"
)

// TestPrice: servers at 36 per hour cost 0.01 per second, which is 10 per million of 1,000 tokens per second.
func TestPrice(t *testing.T) {
	require.Equal(t, &Price{36, 10, 2.5}, NewPrice(36, &measure.Throughput{OutputTokens: 1000, TotalTokens: 4000}))
	require.Equal(t, &Price{PerHour: 36}, NewPrice(36, &measure.Throughput{}))
	require.Nil(t, NewPrice(0, &measure.Throughput{OutputTokens: 1000}))
}
