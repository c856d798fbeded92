package measure

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// The series of a run is in the order of sending, without values that its total omits.
func TestSeries(t *testing.T) {
	path := filepath.Join(t.TempDir(), eventlog.FileName)
	w, err := eventlog.Create(path, eventlog.Header{})
	require.NoError(t, err)
	for _, r := range []eventlog.Request{
		{Seq: 1, DueNS: 2e9, SentNS: 2e9, EndNS: 5e9, OutputTokens: 1, Events: []eventlog.Event{{AtNS: 3e9, Tokens: 1}}},
		{Seq: 0, DueNS: 1e9, SentNS: 1e9, EndNS: 3e9, OutputTokens: 2, Events: []eventlog.Event{{AtNS: 2e9, Tokens: 2}}},
		{Seq: 2, DueNS: 3e9, SentNS: 3e9, EndNS: 4e9, Reason: "reset", OutputTokens: 1,
			Events: []eventlog.Event{{AtNS: 3.5e9, Tokens: 1}}},
	} {
		require.NoError(t, w.Add(&r))
	}
	require.NoError(t, w.Close(eventlog.End{Complete: true}))
	s, err := ReadSeries(path, Options{})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2}, s.Seq)
	require.Equal(t, []float64{2, 1, 0}, s.Tokens)
	require.Equal(t, []bool{true, true, false}, s.OK)
	require.Equal(t, int64(1e9), s.StartNS)
	require.Equal(t, []float64{1, 1}, s.Latency["ttft"][:2])
	require.True(t, math.IsNaN(s.Latency["ttft"][2]), "it failed")
	require.NotContains(t, s.Latency, "itl")
}
