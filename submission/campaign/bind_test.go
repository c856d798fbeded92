package campaign

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// A closed submission of qwen3-vl requires the benchmark's prompt template.
func TestACampaignWithoutItsPromptTemplateIsRejected(t *testing.T) {
	plan, err := plan.New(plan.Settings{"model": "qwen3-vl-235b-a22b", "endpoint": "http://a", "dataset": "f"})
	require.NoError(t, err)
	plan.Dataset = &datasets.Dataset{WithoutTemplate: 48289, Samples: []datasets.Sample{{Input: "What is this?"}}}
	require.NoError(t, plan.Bind(48289))
	k := &Plan{Campaign: Campaign{Runs: Runs{Of: Of{Division: "closed"}, Real: true}}}
	err = k.refuseBreaches(plan)
	require.Equal(t, run.ExitUsage, run.Classify(err).Exit)
	require.ErrorContains(t, err, "the closed division does not allow this: prompt_template: 48289 prompts")
	k.Division = "open"
	require.NoError(t, k.refuseBreaches(plan))
}

// A setting that the closed division does not allow is rejected before hours are spent. The open division allows it.
func TestBreachesAreRejectedExceptInOpen(t *testing.T) {
	plan, err := plan.New(plan.Settings{"model": "llama3.1-8b", "max-tokens": "64", "endpoint": "http://a"})
	require.NoError(t, err)
	require.NoError(t, plan.Bind(13368))
	for division, refused := range map[string]bool{"closed": true, "network": true, "open": false} {
		k := &Plan{Campaign: Campaign{Runs: Runs{Of: Of{Division: division}, Real: true}}}
		err := k.refuseBreaches(plan)
		require.Equal(t, refused, err != nil, division)
		if refused {
			require.Equal(t, run.ExitUsage, run.Classify(err).Exit)
			require.ErrorContains(t, err, "the "+division+" division does not allow this: ")
			require.ErrorContains(t, err, "64")
		}
		k.Real = false
		require.NoError(t, k.refuseBreaches(plan), "a rehearsal's tests warn themselves")
	}
}
