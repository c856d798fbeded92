package tune

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/schedule"
)

// The percentile, the confidence, the limits and the length of a goal's run must be in range.
func TestInvalidGoals(t *testing.T) {
	goal := func(change func(g *Goal)) error {
		g := &Goal{Percentile: 0.99, Confidence: 0.9, Limits: make([]Limit, 1)}
		change(g)
		return g.check()
	}
	for name, change := range map[string]func(g *Goal){
		"as it is":     func(*Goal) {},
		"one limit":    func(g *Goal) { g.Limits = make([]Limit, 1) },
		"eight limits": func(g *Goal) { g.Limits = make([]Limit, maxLimits) },
		"the longest run": func(g *Goal) {
			g.Load.MinDuration, g.Load.MinQueries, g.Load.Set = maxDuration, maxQueries, maxQueries
		},
		"confidence": func(g *Goal) { g.Confidence = 0.5 },
		"median":     func(g *Goal) { g.Percentile = 0.5 },
		"Offline":    func(g *Goal) { g.Offline, g.Limits = true, nil },
	} {
		require.NoError(t, goal(change), name)
	}
	for name, change := range map[string]func(g *Goal){
		"no limit":          func(g *Goal) { g.Limits = nil },
		"nine limits":       func(g *Goal) { g.Limits = make([]Limit, maxLimits+1) },
		"no percentile":     func(g *Goal) { g.Percentile = 0 },
		"Offline, a limit":  func(g *Goal) { g.Offline = true },
		"all":               func(g *Goal) { g.Percentile = 1 },
		"low confidence":    func(g *Goal) { g.Confidence = 0.49 },
		"certainty":         func(g *Goal) { g.Confidence = 1 },
		"negative duration": func(g *Goal) { g.Load.MinDuration = -1 },
		"too long":          func(g *Goal) { g.Load.MinDuration = maxDuration + time.Nanosecond },
		"negative queries":  func(g *Goal) { g.Load.MinQueries = -1 },
		"too many queries":  func(g *Goal) { g.Load.MinQueries = maxQueries + 1 },
		"a negative set":    func(g *Goal) { g.Load.Set = -1 },
		"too large a set":   func(g *Goal) { g.Load.Set = maxQueries + 1 },
	} {
		require.Error(t, goal(change), name)
	}
}

// The error for a tune that continues with other settings lists them as flags.
func TestTermsAreFlags(t *testing.T) {
	s := &State{Settings: []string{"--ttft-limit=500ms"}, Model: "m", Scenario: "Server", Goal: Goal{Percentile: 0.99,
		Confidence: 0.95, Limits: []Limit{{TTFT, 500 * time.Millisecond}, {Answer, time.Second}},
		Load: schedule.Load{Seed: 7, MinDuration: time.Minute, MinQueries: 100, Set: 64}}}
	require.Equal(t, []string{"--ttft-limit=500ms", "--model=m", "--scenario=Server", "--confidence=0.95",
		"--latency-percentile=99", "--min-duration=1m0s", "--min-queries=100", "rows=64", "schedule seed=7",
		"--ttft-limit=500ms", "limit of the latency=1s"}, s.terms())
	require.Equal(t, "20.31ms", shown(0.0203104).String())
	require.Equal(t, "1.234s", shown(1.23449).String())
}
