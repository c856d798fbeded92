package run

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// With any number of shards, every sample is reported once: LoadGen logs an error for a first token and a completion
// that two threads report, and the ledger counts a second completion.
func TestShards(t *testing.T) {
	server := simulate(t, "--ttft", "2ms", "--tpot", "0", "--answers", "random", "--output-tokens", "8", "--max-num-seqs",
		"4096")
	for shards := 1; shards <= 4; shards++ {
		for _, scenario := range []string{"Server", "Offline"} {
			t.Run(fmt.Sprintf("%d, %s", shards, scenario), func(t *testing.T) {
				r := start(t, "--model", "llama3.1-8b", "--scenario", scenario, "--endpoint", server.url, "--samples", "64",
					"--warmup",
					"--target-qps", "500", "--min-queries", "301", "--min-duration", "0", "--concurrency", "30", "--shards",
					fmt.Sprint(shards))
				r.sound(t, "scenario_limit", "loadgen_invalid")
				log, err := ledger.ReadRequests(filepath.Join(r.Folder, record.RequestsName))
				require.NoError(t, err)
				require.EqualValues(t, r.Samples.Issued, len(log.Entries))
				for i, e := range log.Entries {
					require.EqualValues(t, i, e.Seq)
					require.NotZero(t, e.DoneNS)
					require.LessOrEqual(t, e.ReadableNS, e.LastTokenNS)
					require.NotZero(t, e.ReadableNS)
				}
				require.Len(t, r.Client.Loops, shards)
				open := 0
				for _, l := range r.Client.Loops {
					require.Positive(t, l.Events, "every loop has its share")
					require.Positive(t, l.Turns)
					require.NotEmpty(t, l.Stalls)
					open += l.ConnectionsMax
				}
				require.Positive(t, open)
				// The warm-up's connections serve the test, so that no more than its 30 requests in flight are open.
				require.LessOrEqual(t, r.Endpoints[0].Connections, int64(30))
				require.Contains(t, r.Notes, fmt.Sprintf("warm-up: %d requests", 32*shards))
			})
		}
	}
}

func TestShares(t *testing.T) {
	for _, c := range []struct{ of, n int }{{1, 1}, {7, 3}, {64, 4}, {5, 5}} {
		sum := 0
		for i := range c.n {
			sum += share(c.of, c.n, i)
			require.Positive(t, share(c.of, c.n, i))
		}
		require.Equal(t, c.of, sum)
	}
}

func TestPinning(t *testing.T) {
	for setting, want := range map[string][]int{"off": {0, 0}, "": {0, 0}, "3,0": {4, 1}, " 1 , 2": {2, 3}} {
		pins, err := pinning(setting, 2)
		require.NoError(t, err)
		require.Equal(t, want, pins)
	}
	pins, err := pinning("auto", 2)
	require.NoError(t, err)
	require.Len(t, pins, 2)
	for setting, text := range map[string]string{"3": "names 1 processors for 2 shards", "a,1": `"a" is not the number`,
		"-1,2": `"-1" is not the number`, "5000,1": "is not the number"} {
		_, err := pinning(setting, 2)
		require.ErrorContains(t, err, text)
	}
}
