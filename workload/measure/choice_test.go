package measure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFirstChoice: vLLM's client counts the first event that has a choice, even without text. The log is small, where
// the first such event of A comes at 102 ms and that of D at 310 ms.
func TestFirstChoice(t *testing.T) {
	list := small()
	list[0].ChoiceNS = list[0].Events[0].AtNS - 8*ms
	list[3].ChoiceNS = list[3].Events[0].AtNS - 10*ms
	m := measured(t, Options{Definition: "vllm"}, list...)
	for _, g := range []golden{
		{"ttft", 3, 142. / 3, 40, 92}, // 92, 40, 10
		{"tpot", 2, 30.5, 30.5, 45},   // 48/3, 90/2
		{"itl", 6, 23, 20, 40},        // 8, 20, 20, 10, 40, 40
		{"e2e", 3, 280. / 3, 100, 140},
	} {
		d := m.Total.Latency[g.metric]
		require.Equal(t, g.count, d.Count, g.metric)
		for i, v := range []float64{g.mean, g.p50, g.max} {
			require.InDelta(t, v/1e3, []float64{d.Mean, d.Percentile["p50"], d.Max}[i], 1e-9, "%s %d", g.metric, i)
		}
	}
	for _, d := range Definitions() {
		if d.Name != "vllm" {
			o := Options{Definition: d.Name}
			require.Equal(t, measured(t, o, small()...).Total, measured(t, o, list...).Total, d.Name)
		}
	}
	list[0].Events = nil // an answer without a token
	require.EqualValues(t, 3, measured(t, Options{Definition: "vllm"}, list...).Total.Latency["ttft"].Count)
	require.EqualValues(t, 3, measured(t, Options{Definition: "vllm"}, list...).Total.Latency["itl"].Count)
}
