package accuracy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRehearsalsIgnoreTotalsOfTheWholeDataSet(t *testing.T) {
	no, yes := false, true
	short := &Result{Metrics: []Metric{{Name: "rouge1", Pass: &yes}, {Name: sumOfLengths, Pass: &no}}, Pass: &no}
	require.False(t, short.Reached(false))
	require.True(t, short.Reached(true))
	require.Len(t, short.Short(false), 1)

	low := &Result{Metrics: []Metric{{Name: "rouge1", Pass: &no}}, Pass: &no}
	require.False(t, low.Reached(true))

	unjudged := &Result{NotJudged: "the data set is synthetic",
		Metrics: []Metric{{Name: "rouge1", Value: 1}, {Name: "rouge2", Value: 50}}}
	unjudged.judge([]Target{{Metric: "rouge1", Min: 38}, {Metric: "rouge2", Min: 15}}, 0)
	require.Nil(t, unjudged.Pass)
	require.True(t, unjudged.Reached(true))
	require.False(t, unjudged.Reached(false), "it is no score for a submission")
	require.Equal(t, "not judged", unjudged.Metrics[1].Word(true))

	require.False(t, (&Result{Pass: &yes, Unclaimed: []string{"1 sample has no answer"}}).Reached(true))
	require.False(t, (&Result{}).Reached(false), "nothing is claimed, so nothing is reached")
}
