package catalog

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// factsRow returns the cells of the row of inference-perf's table that contains a text.
func factsRow(t *testing.T, text string) []string {
	for line := range strings.Lines(facts(t)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.Contains(line, text) {
			return cells[1:4]
		}
	}
	t.Fatalf("the facts have no row with %q", text)
	return nil
}

// The profiles of recorded sessions replay as many as the facts state, and read the data set that they name.
func TestTraceProfilesHaveTheFiguresOfTheFacts(t *testing.T) {
	cells := factsRow(t, "trace_session_replay")
	parts := func(i int) []string { return strings.Split(strings.TrimSpace(cells[i]), " / ") }
	names, loads, data := parts(0), parts(1), parts(2)
	require.Len(t, names, 3)
	name := regexp.MustCompile("`[^/]+/(.*)`")
	for i, load := range loads {
		if load == "same" {
			load = loads[i-1]
		}
		p, _ := shipped(t, "inference-perf", names[i])
		require.Len(t, p.Load.Stages, 1)
		s := p.Load.Stages[0]
		require.Equal(t, profile.Sessions, s.Arrival, names[i])
		got := []float64{float64(s.Concurrency)}
		if s.Requests > 0 {
			got = append(got, float64(s.Requests), s.Timeout.Seconds())
		}
		require.Equal(t, numbers(t, load), got, names[i])
		require.Equal(t, s.Requests, p.Data.Sessions.Count, "%s: each session once", names[i])
		if m := name.FindStringSubmatch(data[i]); m != nil {
			require.True(t, strings.HasPrefix(m[1], filepath.Base(p.Data.Path)), "%s: %s", names[i], p.Data.Path)
		}
		if m := aside.FindString(data[i]); m != "" {
			require.Equal(t, numbers(t, m), []float64{float64(p.Data.Sessions.Count), p.Data.Sessions.IdleGapCap}, names[i])
		}
	}
}

// Two profiles are broken upstream (their data are in the wrong place): those that ship have the load of the facts, and
// data that take effect.
func TestRepairedProfilesHaveTheFiguresOfTheFacts(t *testing.T) {
	row := factsRow(t, "broken nesting")
	p, _ := shipped(t, "inference-perf", strings.TrimSpace(row[0]))
	require.Equal(t, steps(t, row[1]), stagesOf(p))
	require.Equal(t, profile.Conversations, p.Data.Kind)
	require.Positive(t, p.Data.Turns.Conversations)

	row = factsRow(t, "720p")
	p, _ = shipped(t, "inference-perf", strings.TrimSpace(row[0]))
	var images float64
	for _, m := range regexp.MustCompile(`(\d+) images`).FindAllStringSubmatch(row[2], -1) {
		images = number(t, m[1])
	}
	require.Equal(t, profile.FixedAt(images), p.Data.Images.Count)
	require.Equal(t, []profile.Resolution{{Width: 1280, Height: 720}}, p.Data.Images.Resolutions)
}

// The deadlines and pauses that the table names are those of the profiles.
func TestProfilesHaveTheTimesOfTheFacts(t *testing.T) {
	timeout, pause := regexp.MustCompile("timeout`? ?(\\d+)"), regexp.MustCompile(`interval (\d+)`)
	checked := 0
	for line := range strings.Lines(facts(t)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		for _, name := range namesOf(strings.TrimSpace(cells[1])) {
			if m := timeout.FindStringSubmatch(cells[2]); m != nil {
				p, _ := shipped(t, "inference-perf", name)
				require.Equal(t, number(t, m[1]), p.API.RequestTimeout.Seconds(), name)
				checked++
			}
			if m := pause.FindStringSubmatch(cells[2]); m != nil {
				p, _ := shipped(t, "inference-perf", name)
				require.Equal(t, number(t, m[1]), p.Load.Pause.Seconds(), name)
				checked++
			}
		}
	}
	require.GreaterOrEqual(t, checked, 6)
}

// otherFacts returns the numbers beside a profile in the list of the other harnesses.
func otherFacts(t *testing.T, pattern string) []float64 {
	m := regexp.MustCompile(pattern + ` \(([^)]*)\)`).FindStringSubmatch(facts(t))
	require.NotNil(t, m, pattern)
	return numbers(t, m[1])
}

// The profile of recorded chats has rate, duration and answers of fmperf's; its prompts are the recorded ones.
func TestFmperfProfilesHaveTheFiguresOfTheFacts(t *testing.T) {
	want := otherFacts(t, "`sanity_sharegpt`") // rate, seconds, users, rounds, system, history, answer
	p, _ := shipped(t, "fmperf", "sanity_sharegpt")
	require.Equal(t, []step{{want[0], want[1]}}, stagesOf(p))
	require.Equal(t, profile.ShareGPT, p.Data.Kind)
	require.Equal(t, profile.FixedAt(want[6]), p.Data.Output)

	medium := otherFacts(t, "`medium_…`")
	large := otherFacts(t, "`large_…`") // after "same qps"
	for name, sizes := range map[string][]float64{
		"medium_model_long_input": medium[6:], "large_model_long_input": large,
	} {
		p, _ := shipped(t, "fmperf", name)
		turns := p.Data.Turns
		require.Equal(t, medium[3:5], []float64{float64(turns.Conversations), turns.Count.Mean}, name)
		require.Equal(t, sizes, []float64{float64(turns.SharedSystem), turns.System.Mean, p.Data.Output.Mean}, name)
		require.Equal(t, medium[5], float64(p.Load.Stages[0].Requests), "%s: users of the warm-up", name)
		stages := stagesOf(p)
		if p.Load.Stages[0].Warmup {
			stages = stages[1:]
		}
		require.Equal(t, medium[:2], []float64{stages[0].of, stages[len(stages)-1].of}, name)
		for _, s := range stages {
			require.Equal(t, medium[2], s.length, name)
		}
		require.Equal(t, "chat", p.API.Kind, name)
	}
}

// Each stage of guidellm's conversations has ten requests for each stream.
func TestStreamsHaveTheRequestsOfTheFacts(t *testing.T) {
	want := otherFacts(t, "`multi-turn`") // first and last streams, requests of each, turns, tokens, prefixes
	p, _ := shipped(t, "guidellm", "multi-turn")
	stages := stagesOf(p)
	require.Equal(t, want[:2], []float64{stages[0].of, stages[len(stages)-1].of})
	for _, s := range stages {
		require.Equal(t, want[2]*s.of, s.length)
	}
	require.Equal(t, want[3], p.Data.Turns.Count.Mean)
	require.Equal(t, []profile.Bucket{{Weight: 1, Count: int(want[5]), Tokens: int(want[4])}}, p.Data.Buckets)

	for _, name := range []string{"concurrent-1k-1k", "concurrent-heavy-heterogeneous"} {
		streams := otherFacts(t, "`concurrent-1k-1k`")
		p, _ := shipped(t, "guidellm", name)
		for i, s := range p.Load.Stages {
			require.Equal(t, streams[i], float64(s.Concurrency), name)
			require.Equal(t, time.Duration(streams[5])*time.Second, s.Duration, name)
		}
	}
}
