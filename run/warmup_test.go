package run

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/record"
)

// A warm-up sends each of its samples once, through the connections of the test. No figure counts its answers or
// failures.
func TestAWarmUpIsNotCounted(t *testing.T) {
	program(t)
	const rows, struck, samples = 16, 4, 32
	for name, c := range map[string]struct {
		args []string
		note string
		more int64 // additional requests
	}{
		"with":    {[]string{"--warmup"}, "warm-up: 4 of 16 requests failed", rows},
		"without": {[]string{"--no-warmup"}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			refused := refuse("500 Internal Server Error")
			server := serveFaults(t, func(x *call) {
				if asked.Add(1) <= struck && c.more > 0 {
					refused(x)
					return
				}
				x.good()
			})
			r := faultRun(t, "calm", []string{server.url}, append(c.args, "--concurrency", "4")...)
			r.holdsTogether(t, requestsOf(t, r))
			r.isValid(t)
			require.EqualValues(t, samples, r.Samples.FirstTokens)
			require.EqualValues(t, samples*goodTokens, r.Tokens.Output)
			require.EqualValues(t, samples, r.Endpoints[0].Requests)
			require.Zero(t, r.Endpoints[0].Failed)
			require.LessOrEqual(t, r.Endpoints[0].Connections, int64(4), "those of the warm-up serve the test")
			require.NoFileExists(t, filepath.Join(r.Folder, record.FailuresName))
			require.Equal(t, (samples+c.more)/faultEvery, asked.Load(), "requests that were to be struck")
			if c.note != "" {
				require.Contains(t, r.Notes, c.note)
			}
		})
	}
}
