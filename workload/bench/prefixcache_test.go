package bench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
	"github.com/mlperf-go/mlperf-go/sim"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// prefixed returns a profile of two stages of 20 requests, whose prompts of 100 tokens begin with the same 40.
func prefixed(api string) *profile.Profile {
	p := profile.Defaults()
	p.Name, p.API.Kind = "prefixed", api
	p.Data = profile.Data{Kind: profile.Random, Prefix: 40, Input: profile.FixedAt(60), Output: profile.FixedAt(4)}
	stage := profile.Stage{Arrival: profile.Constant, Rate: 200, Requests: 20}
	p.Load = profile.Load{Stages: []profile.Stage{stage, stage}}
	return p
}

func withPrefixCache(c *sim.Config) { c.PrefixCache = true }

// TestThePrefixCacheIsReported compares a run with what the simulator caches: two blocks of 16 tokens for each request
// but the first.
func TestThePrefixCacheIsReported(t *testing.T) {
	url, _ := runtest.Simulate(t, time.Millisecond, time.Millisecond, withPrefixCache)
	folder := t.TempDir()
	r, err := bench.Run(t.Context(), bench.Options{Profile: prefixed("completions"), Endpoints: []string{url},
		Folder: folder})
	require.NoError(t, err)
	schematest.Records(t, folder)
	require.Zero(t, r.Measured.Total.Requests.Failed)
	require.Equal(t, &measure.PrefixCache{Requests: 40, Prompt: 4000, Cached: 39 * 32, HitRate: 0.312},
		r.Measured.Total.PrefixCache)
	require.EqualValues(t, 19*32, r.Measured.Stages[0].PrefixCache.Cached)
	require.EqualValues(t, 20*32, r.Measured.Stages[1].PrefixCache.Cached)
	head, rows := bench.PartTable("stage", r.Measured.Stages)
	require.Equal(t, "cached %", head[8])
	require.Equal(t, []string{"30.40", "32.00"}, []string{rows[0][8], rows[1][8]})
	shown, err := bench.Report(folder)
	require.NoError(t, err)
	require.Contains(t, shown.Workload.Facts, [2]string{"prefix cache", r.Measured.Total.PrefixCache.String()})
}

// TestAServerWithoutAPrefixCache: no report is no hit rate of 0.
func TestAServerWithoutAPrefixCache(t *testing.T) {
	r, err := bench.Run(t.Context(), bench.Options{Profile: prefixed("completions"), Endpoints: []string{simulate(t)},
		Folder: t.TempDir()})
	require.NoError(t, err)
	require.Nil(t, r.Measured.Total.PrefixCache)
	head, rows := bench.PartTable("stage", r.Measured.Stages)
	require.Len(t, head, 8)
	require.Len(t, rows[0], 8)
}

// TestThePrefixCacheOfSessions: later turns find the context of the turns before them.
func TestThePrefixCacheOfSessions(t *testing.T) {
	url, _ := runtest.Simulate(t, time.Millisecond, time.Millisecond, withPrefixCache)
	p := prefixed("chat")
	p.Data = profile.Data{Kind: profile.SharedPrefix, Output: profile.FixedAt(4), Groups: &profile.Groups{Count: 2,
		Users: 3, System: profile.FixedAt(200), Question: profile.FixedAt(50), MultiTurn: true}}
	p.Load = profile.Load{Stages: []profile.Stage{{Arrival: profile.Constant, Rate: 100, Requests: 18}}}
	folder := t.TempDir()
	r, err := bench.Run(t.Context(), bench.Options{Profile: p, Endpoints: []string{url}, Folder: folder})
	require.NoError(t, err)
	m := r.Measured
	require.Zero(t, m.Total.Requests.Failed)
	require.Len(t, m.Turns, 3)
	require.Len(t, m.Groups, 2)
	require.Less(t, m.Turns[0].PrefixCache.HitRate, m.Turns[1].PrefixCache.HitRate)
	require.Less(t, m.Turns[1].PrefixCache.HitRate, m.Turns[2].PrefixCache.HitRate)
	for _, g := range m.Groups {
		require.EqualValues(t, 9, g.PrefixCache.Requests)
		require.Greater(t, g.PrefixCache.HitRate, 0.5)
	}
}
