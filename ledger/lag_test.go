package ledger

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLagCounts(t *testing.T) {
	var c LagCounts
	require.Equal(t, []Bucket{}, c.Buckets())
	for _, ns := range []int64{2001, 4000, 8000, 8001} {
		c.Add(ns)
	}
	require.Equal(t, []Bucket{{4, 2}, {8, 1}, {16, 1}}, c.Buckets())
	for _, ns := range []int64{-5, 0, 1, 1000, 1 << 62} {
		c.Add(ns)
	}
	b := c.Buckets()
	require.Equal(t, Bucket{1, 4}, b[0])
	require.Equal(t, Bucket{2, 0}, b[1], "an empty bucket inside stands")
	require.EqualValues(t, 1, b[len(b)-1].Count, "what is beyond counts in the last")
}

func TestStages(t *testing.T) {
	entries, schedule := threeSamples()
	entries[0].DequeuedNS, entries[0].FirstByteNS = base+2*ms+5000, base+12*ms
	test := &Test{Entries: entries, Schedule: schedule, T0NS: base, Origin: FromSchedule}
	stages := test.Stages()
	require.Len(t, stages, 7)
	require.InDelta(t, 2000, stages["scheduled_to_issued"].Max, 1e-6)
	require.InDelta(t, 5, stages["issued_to_dequeued"].Max, 1e-6, "of the one sample that has the stamp")
	require.InDelta(t, 995, stages["dequeued_to_sent"].P50, 1e-6)
	require.InDelta(t, 9000, stages["sent_to_first_byte"].Max, 1e-6)
	require.Zero(t, stages["first_byte_to_first_token"].Max)
	require.InDelta(t, 40000, stages["first_token_to_last_token"].Max, 1e-6)
	require.InDelta(t, 10000, stages["last_token_to_completed"].Max, 1e-6)

	issue, dispatch := test.LagHistograms()
	require.Equal(t, []Bucket{{1, 1}, {2, 0}, {4, 0}, {8, 0}, {16, 0}, {32, 0}, {64, 0}, {128, 0}, {256, 0}, {512, 0},
		{1024, 1}, {2048, 1}}, issue)
	require.Equal(t, []Bucket{{4096, 2}}, dispatch, "the third was never sent")
}

// The report lag starts at the earliest time at which the bytes could be read, if that time is known.
func TestReportLagIsFromReadable(t *testing.T) {
	entries, schedule := threeSamples()
	entries[0].ReadableNS = base + 45*ms
	m := Compute(entries[:1], schedule, base, Options{})
	require.InDelta(t, .015, m.ReportLag.Max, 1e-12)
}

// Each bucket ends at twice the end of the previous one; the last bucket has no end.
func TestBucketsOfLags(t *testing.T) {
	for ns, upTo := range map[int64]float64{-5: 1, 0: 1, 1000: 1, 1001: 2, 2000: 2, 2001: 4, 4000: 4, 4001: 8,
		(1 << 34) * 1000: 1 << 34, (1<<34)*1000 + 1: 1 << 35, math.MaxInt64: 1 << 35} {
		var c LagCounts
		c.Add(ns)
		require.Equal(t, []Bucket{{upTo, 1}}, c.Buckets(), "%d ns", ns)
	}
	var c LagCounts
	require.Empty(t, c.Buckets())
	for _, ns := range []int64{3000, 9000, 9000} {
		c.Add(ns)
	}
	require.Equal(t, []Bucket{{4, 1}, {8, 0}, {16, 2}}, c.Buckets())
}
