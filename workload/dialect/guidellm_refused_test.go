package dialect

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// What this program cannot send or stop is refused or noted, and never dropped silently.
func TestRefusedPartsOfGuidellm(t *testing.T) {
	spec := func(profile, data, constraint string) string {
		return glHead + "  constraints: [{kind: max_requests, count: 9}" + constraint + "]\n  profile: {" + profile + "}\n" +
			"  data: [{prompt_tokens: 20, output_tokens: 30" + data + "}]\n"
	}
	for _, data := range []string{", tool_call_turns: 1", ", tools: [{}]", ", branches: [{}]"} {
		_, err := parse("guidellm", spec("kind: constant, rate: 2", data, ""))
		require.ErrorContains(t, err, "this program makes no synthetic", data)
	}
}

// guidellm rejects a profile without a kind. It is not the sweep that a file without a profile is.
func TestAProfileOfGuidellmNeedsItsKind(t *testing.T) {
	const spec = glHead + "  constraints: [{kind: max_requests, count: 9}]\n  profile: {kind: poisson, rate: 2}\n" +
		"  data: [{prompt_tokens: 20, output_tokens: 30}]\n"
	_, err := parse("guidellm", spec+"benchmarks: [{profile: {rate: 10}}]\n")
	require.ErrorContains(t, err, "benchmarks.0: spec override: profile.kind: the key is required")
	p, err := parse("guidellm", spec+"benchmarks: [{profile.rate: 10}, {profile: {kind: constant, rate: 20}}]\n")
	require.NoError(t, err)
	require.Equal(t, 10.0, p.Load.Stages[0].Rate)
	require.Equal(t, profile.Constant, p.Load.Stages[1].Arrival)
}

// A ramp grows what guidellm's ramp grows, and nothing in the kinds of load that have none there.
func TestRampsOfGuidellm(t *testing.T) {
	ramp := &profile.Ramp{Shape: "linear", Over: 5 * time.Second}
	const many, long = "max_requests, count: 9", "max_duration, seconds: 9"
	const none = "profile.rampup_duration: not read; guidellm has no ramp in a stage of kind "
	for kind, c := range map[string]struct {
		limit string
		stage profile.Stage
		note  string
	}{
		"constant, rate: 2":      {many, profile.Stage{Arrival: profile.Constant, Rate: 2, Ramp: ramp, Requests: 9}, ""},
		"concurrent, streams: 2": {many, profile.Stage{Arrival: profile.Closed, Concurrency: 2, Ramp: ramp, Requests: 9}, ""},
		"throughput, max_concurrency: 4": {many, profile.Stage{Arrival: profile.Burst, Concurrency: 4, Ramp: ramp,
			Requests: 9}, ""},
		"'throughput', max_concurrency: 4": {long, profile.Stage{Arrival: profile.Closed, Concurrency: 4, Ramp: ramp,
			Duration: 9 * time.Second}, ""},
		"throughput": {long, profile.Stage{Arrival: profile.Closed, Concurrency: 10240, Duration: 9 * time.Second},
			none + "throughput without max_concurrency"},
		"'throughput'": {many, profile.Stage{Arrival: profile.Burst, Requests: 9},
			none + "throughput without max_concurrency"},
		"poisson, rate: 2": {many, profile.Stage{Arrival: profile.Poisson, Rate: 2, Requests: 9}, none + "poisson"},
		"synchronous":      {many, profile.Stage{Arrival: profile.Closed, Concurrency: 1, Requests: 9}, none + "synchronous"},
	} {
		p := translated(t, "guidellm", glHead+"  constraints: [{kind: "+c.limit+"}]\n  profile: {rampup_duration: 5, kind: "+
			kind+"}\n  data: [{prompt_tokens: 20, output_tokens: 30}]\n")
		require.Equal(t, []profile.Stage{c.stage}, p.Load.Stages, kind)
		require.Equal(t, c.note, strings.Join(p.Source.Notes, "; "), kind)
	}
	p := translated(t, "guidellm", glHead+"  profile: {kind: sweep, rampup_duration: 5, sweep_size: 5}\n"+
		"  data: [{prompt_tokens: 20, output_tokens: 30}]\n")
	require.Equal(t, &profile.Sweep{Kind: "linear", Stages: 3, Probe: "throughput", Arrival: profile.Constant,
		InFlight: 512, StageDuration: 30 * time.Second, Ramp: 5 * time.Second}, p.Load.Sweep, "two of five are probes")
}

// Each value of over_saturation is guidellm's. Values of 0 stay apart from the defaults.
func TestOverSaturationOfGuidellm(t *testing.T) {
	for text, want := range map[string]profile.Saturation{
		"": {},
		", mode: monitor, stopping_scope: all, min_seconds: 1, max_window_seconds: 2, moe_threshold: 3, minimum_ttft: 0.5, " +
			"maximum_window_ratio: 0.25, minimum_window_size: 4, confidence: 0.5": {Mode: "monitor", Scope: "all",
			MinTime: time.Second, Window: 2 * time.Second, Margin: 3, TTFT: 500 * time.Millisecond, WindowShare: .25,
			MinPoints: 4, Confidence: .5},
		", min_seconds: 0, minimum_ttft: 0, minimum_window_size: 0, moe_threshold: 0, confidence: 1": {MinTime: 1, TTFT: 1,
			MinPoints: 1, Margin: math.SmallestNonzeroFloat64, Confidence: 1 - 1e-9},
		", enabled: false":                         {Mode: "monitor"},
		", enabled: true, stopping_scope: current": {},
	} {
		file := glHead + "  constraints: [{kind: max_requests, count: 9}, {kind: over_saturation" + text + "}]\n" +
			"  profile: {kind: constant, rate: 2}\n  data: [{prompt_tokens: 20, output_tokens: 30}]\n"
		p := translated(t, "guidellm", file)
		require.Equal(t, &want, p.Load.Saturation, text)
		require.Empty(t, p.Source.Notes)
		p = translated(t, "guidellm", strings.Replace(file, "target:", "stream: false, target:", 1))
		require.Nil(t, p.Load.Saturation)
		require.Contains(t, p.Source.Notes[0], "constraints.over_saturation: not read; answers come as a whole")
	}
}
