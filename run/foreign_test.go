package run

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
)

func TestForeignPrompts(t *testing.T) {
	ids := func(first ...int32) []datasets.Sample {
		samples := []datasets.Sample{{Input: "text alone"}}
		for _, id := range first {
			samples = append(samples, datasets.Sample{InputIDs: []int32{id, 7, 8}})
		}
		return samples
	}
	for _, c := range []struct {
		model   string
		samples []datasets.Sample
		told    bool
	}{
		{"llama3.1-8b", ids(1, 1), true},
		{"llama3.1-8b", ids(1, 128000), false},
		{"llama3.1-8b", ids(), false},
		{"llama2-70b-99", ids(5), true},
		{"llama2-70b-99", ids(1), false},
		{"deepseek-r1", ids(datasets.SynthBOS), false}, // of a synthetic set
		{"gpt-oss-120b", ids(1), false},
		{"generic", ids(1), false},
	} {
		p, err := newPlan(Settings{"model": c.model, "served-model": "m", "dataset": "d.json"})
		require.NoError(t, err)
		require.Equal(t, c.told, foreignPrompts(p, c.samples) != "", "%s %v", c.model, c.samples)
	}
	p, err := newPlan(Settings{"model": "llama3.1-8b"})
	require.NoError(t, err)
	require.Empty(t, foreignPrompts(p, ids(1)), "without a data set the preflight has prompts of its own")
}
