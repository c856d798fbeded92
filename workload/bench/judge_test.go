package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Observations besides the answers reach the rules: servers that ended, bytes outside any answer, clock steps.
func TestEvidenceOfTheRules(t *testing.T) {
	died := time.Now()
	for code, change := range map[record.Code]func(*Record, *backends.Traffic, *time.Duration){
		record.CodeServerDied: func(r *Record, _ *backends.Traffic, _ *time.Duration) {
			r.Servers = &servers.Facts{Replicas: []servers.ReplicaFacts{{Died: &died}}}
		},
		record.CodeUnaskedAnswers: func(_ *Record, traffic *backends.Traffic, _ *time.Duration) { traffic.Unasked = 1 },
		record.CodeClockStep:      func(_ *Record, _ *backends.Traffic, drift *time.Duration) { *drift = time.Minute },
	} {
		codes := func(change func(*Record, *backends.Traffic, *time.Duration)) (list []record.Code) {
			r, traffic, drift := &Record{Measured: &measure.Measured{}}, &backends.Traffic{}, time.Duration(0)
			change(r, traffic, &drift)
			tested := &trial{Options: Options{Profile: profile.Defaults()}, target: &target{}}
			_, causes := tested.judge(r, &engine.Outcome{}, traffic, drift)
			for _, c := range causes {
				list = append(list, c.Code)
			}
			return list
		}
		require.Contains(t, codes(change), code)
		require.NotContains(t, codes(func(*Record, *backends.Traffic, *time.Duration) {}), code)
	}
}

// A rehearsal makes every length, number and wait small, and keeps small ones unchanged.
func TestRehearsedData(t *testing.T) {
	long := func() *profile.Distribution { return profile.FixedAt(1000) }
	d := profile.Data{Rows: 9, Prefix: 1000, Input: long(), Output: long(),
		Buckets: []profile.Bucket{{Tokens: 1000}, {Tokens: 3}},
		Groups:  &profile.Groups{Count: 1000, Users: 1000, System: long(), Question: long()},
		Turns: &profile.Turns{Conversations: 1000, SharedSystem: 1000, System: long(), FirstInput: long(), Count: long(),
			ToolLatency: long()},
		Sessions: &profile.SessionFiles{Count: 1000, DefaultOutput: 1000, MaxWait: 1000},
		Images:   &profile.Images{Count: long(), Resolutions: []profile.Resolution{{Width: 1000, Height: 1000}}}}
	shrinkData(&d)
	most := func(n float64) *profile.Distribution { return &profile.Distribution{Kind: "uniform", Min: n, Max: n} }
	tokens, stages, wait := most(rehearsedTokens), most(rehearsedStages), rehearsedWait.Seconds()
	require.Equal(t, profile.Data{Prefix: rehearsedTokens, Input: tokens, Output: tokens,
		Buckets: []profile.Bucket{{Tokens: rehearsedTokens}, {Tokens: 3}},
		Groups: &profile.Groups{Count: rehearsedUsers, Users: rehearsedUsers, System: tokens,
			Question: tokens},
		Turns: &profile.Turns{Conversations: rehearsedUsers, SharedSystem: rehearsedTokens, System: tokens,
			FirstInput: tokens, Count: stages, ToolLatency: most(wait)},
		Sessions: &profile.SessionFiles{Count: rehearsedStages, DefaultOutput: rehearsedTokens, MaxWait: wait},
		Images: &profile.Images{Count: stages, Resolutions: []profile.Resolution{{Width: rehearsedPixels,
			Height: rehearsedPixels}}}}, d)
}

// A stage that over-saturation ended makes a run INVALID, unless it belongs to a sweep, which looks for that load.
func TestVerdictOfOverSaturation(t *testing.T) {
	ended := Stage{Span: engine.Span{Stage: 1, Stopped: "too much", Unsent: 7, BySaturation: true, SaturatedNS: 5}}
	failed := ended
	failed.BySaturation = false
	probe := Stage{Probe: true, Warmup: true}
	for name, c := range map[string]struct {
		stages []Stage
		want   []string
	}{
		"stages":           {[]Stage{{}, ended}, []string{"stage 1 was ended early: too much"}},
		"sweep":            {[]Stage{probe, ended}, nil},
		"failure of sweep": {[]Stage{probe, failed}, []string{"stage 1 was ended early: too much"}},
	} {
		r := &Record{Measured: &measure.Measured{Stages: []measure.Part{{}}}, Stages: c.stages}
		r.Measured.Stages[0].Requests = measure.Counts{Total: 1, OK: 1, Measured: 1}
		r.Measured.Total.Requests = r.Measured.Stages[0].Requests
		_, causes := verdict(evidence(r, profile.Defaults(), nil), r)
		var texts []string
		for _, cause := range causes {
			texts = append(texts, cause.Text)
		}
		require.Equal(t, c.want, texts, name)
	}
}
