package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// In an open loop that is faster than its server, queries wait for a connection and none fails. The record counts the
// wait as delay of the client, which makes the run INVALID.
func TestMoreQueriesThanConnections(t *testing.T) {
	server := simulate(t, "--ttft", "300ms", "--tpot", "0", "--answers", "random", "--output-tokens", "4",
		"--max-num-seqs", "4096")
	r := startIn(t, []string{"sh", "-c", `ulimit -n 400 && exec "$@"`, "sh"}, "--model", "llama3.1-8b", "--scenario",
		"Server", "--endpoint", server.url,
		"--samples", "64", "--target-qps", "2500", "--min-queries", "3000", "--min-duration", "0", "--no-preflight-query")
	r.sound(t, "scenario_limit", "loadgen_invalid")
	loop := r.Client.Loops[0]
	require.Positive(t, loop.LimitMax)
	require.LessOrEqual(t, loop.LimitMax, 400)
	require.LessOrEqual(t, loop.ConnectionsMax, loop.LimitMax)
	require.Positive(t, loop.QueueMax, "what had no place waited")
	require.Greater(t, r.Client.StagesUS["dequeued_to_sent"].Max, 1e3, "and the wait is shown, in us")
	require.Equal(t, record.Invalid, r.Verdict)
	require.Equal(t, ExitInvalid, r.Exit)
	require.True(t, r.Has(record.CodeClientLag), "a second's wait is above a tenth of the limit of 2 s: %v, p99 %.0f us",
		r.Reasons, r.Client.DispatchLagUS.P99)
}
