package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tune"
)

// pacedLimit limits the time per token and nothing else.
var pacedLimit = []string{"--tpot-limit", "10ms"}

// newPaced is newTuned with a server whose time per token is 4 ms, and 100 us more for each further request. It reaches
// pacedLimit with 61 of them.
func newPaced(t *testing.T) *tuned {
	t.Helper()
	d := newUnserved(t)
	d.url, _ = d.serve("--max-num-seqs", "256", "--ttft", "200ms", "--tpot", "4ms", "--tpot-per-sequence", "100us")
	return d
}

// A tune whose time per token is limited finds the rate by the server's pace. A machine that stalls may spoil one, so
// two more may follow.
func TestATuneByTheServersPace(t *testing.T) {
	t.Parallel()
	for tries := 1; ; tries++ {
		d := newPaced(t)
		p := d.limited(append(pacedLimit, "--min-duration", "15s")...)
		code := p.end(15 * time.Minute)
		s, err := tune.ReadState(d.folder)
		require.NoError(t, err, "%s", p.stderr.String())
		byPace := slices.ContainsFunc(s.Probes, func(p tune.Probe) bool { return p.Kind == tune.Confirm && p.ByPace })
		if (code != 0 || !byPace) && tries < 3 {
			t.Logf("again: exit code %d\n%s", code, p.stdout.String())
			continue
		}
		require.Zero(t, code, "%s", p.stdout.String())
		require.True(t, byPace, "%s", p.stdout.String())
		require.True(t, s.Result.Confirmed)

		data, err := ledger.ReadRequests(filepath.Join(d.folder, s.Result.Run, record.RequestsName))
		require.NoError(t, err)
		tokens := 0.0
		for i := range data.Entries {
			tokens += float64(data.Entries[i].OutputTokens) / float64(len(data.Entries))
		}
		const inFlight, first, perToken = 61, 0.2, 0.01
		atLimit := inFlight / (first + (tokens-1)*perToken) // by Little's law, where the mean query reaches the limit
		t.Logf("%.4g QPS, %.2f of the rate where the mean query reaches the limit", s.Result.TargetQPS,
			s.Result.TargetQPS/atLimit)
		require.Less(t, s.Result.TargetQPS, 0.9*atLimit, "the slowest of a hundred queries must meet the limit")
		require.Greater(t, s.Result.TargetQPS, 0.3*atLimit)
		return
	}
}
