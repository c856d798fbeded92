package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Without a request log the percentiles of the record are compared, those with decimals too.
func TestPercentilesOfRecords(t *testing.T) {
	result := func(p999 float64) *Result {
		value := 100.0
		r := &Result{tails: map[tail]float64{}}
		rec := &record.Record{Verdict: record.Valid, Model: "llama3.1-8b", Scenario: "Server", Mode: "performance"}
		rec.LatencyS.TTFT = &ledger.Stats{P50: 0.1, P90: 0.2, P95: 0.3, P99: 0.4, P999: p999}
		r.fill(rec)
		r.Value, r.Unit = &value, "tokens/s"
		return r
	}
	c := Compare([]*Source{sourceOf(result(0.5)), sourceOf(result(0.75))},
		Settings{Percentiles: []float64{50, 90, 95, 99, 99.9, 99.99}})
	found := map[string][2]float64{}
	for _, row := range c.Pairs[0].Rows {
		if row.Base != nil && row.Other != nil {
			found[row.Name] = [2]float64{*row.Base, *row.Other}
		}
	}
	require.InDelta(t, 500, found["TTFT p99.9"][0], 1e-9)
	require.InDelta(t, 750, found["TTFT p99.9"][1], 1e-9)
	require.Contains(t, found, "TTFT p50")
	require.Contains(t, found, "TTFT p95")
	require.NotContains(t, found, "TTFT p99.99")
}
