package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// What this program cannot send or stop is refused or noted, and never dropped silently.
func TestRefusedPartsOfGuidellm(t *testing.T) {
	spec := func(profile, data, constraint string) string {
		return glHead + "  constraints: [{kind: max_requests, count: 9}" + constraint + "]\n  profile: {" + profile + "}\n" +
			"  data: [{prompt_tokens: 20, output_tokens: 30" + data + "}]\n"
	}
	for _, kind := range []string{"kind: sweep", "kind: throughput"} {
		_, err := parse("guidellm", spec(kind+", rampup_duration: 5", "", ""))
		require.ErrorContains(t, err, "rampup_duration: this program has no ramp in a stage of kind "+kind[6:])
	}
	p := translated(t, "guidellm", spec("kind: constant, rate: 2, rampup_duration: 5", "", ""))
	require.Equal(t, &profile.Ramp{Shape: "linear", Over: seconds(5)}, p.Load.Stages[0].Ramp)
	for _, data := range []string{", tool_call_turns: 1", ", tools: [{}]", ", branches: [{}]"} {
		_, err := parse("guidellm", spec("kind: constant, rate: 2", data, ""))
		require.ErrorContains(t, err, "this program makes no synthetic", data)
	}
	p = translated(t, "guidellm", spec("kind: constant, rate: 2", "", ", {kind: over_saturation}"))
	require.Contains(t, p.Source.Notes, "constraints.over_saturation: not read; stages run to their end")
}
