package accuracy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARehearsalIsNotHeldToTotalsOfTheWholeDataSet(t *testing.T) {
	no, yes := false, true
	short := &Result{Metrics: []Metric{{Name: "rouge1", Pass: &yes}, {Name: sumOfLengths, Pass: &no}}, Pass: &no}
	require.False(t, short.Reached(false))
	require.True(t, short.Reached(true))
	require.Len(t, short.Short(false), 1)

	low := &Result{Metrics: []Metric{{Name: "rouge1", Pass: &no}}, Pass: &no}
	require.False(t, low.Reached(true))

	require.False(t, (&Result{Pass: &yes, Unclaimed: []string{"1 sample has no answer"}}).Reached(true))
	require.False(t, (&Result{}).Reached(false), "nothing is claimed, so nothing is reached")
}
