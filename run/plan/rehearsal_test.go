package plan

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
)

// A requested rehearsal is short on a server and a data set of the user's, however many rows the file has.
func TestRehearsalOnARealServer(t *testing.T) {
	for _, rows := range []int{20, RehearsalSamples} {
		s := real8b("Server")
		s["rehearsal"] = "true"
		p := planned(t, rows, s)
		require.Equal(t, rows, p.Config.Int("samples"))
		require.Equal(t, 10*time.Second, p.Config.Duration("min-duration"))
		require.Equal(t, []string{"a rehearsal was asked for", strconv.Itoa(rows) + " of 13368 rows",
			"min-duration 10s is below 10m0s"}, p.Rehearsal)
		require.Equal(t, "--rehearsal true", p.Causes[0])
		require.Equal(t, "the data set file ("+strconv.Itoa(rows)+" of 13368 rows)", p.Causes[1])
		require.Len(t, p.Causes, 2)
	}
	s := real8b("Server")
	s["rehearsal"], s["samples"] = "true", "30"
	require.Equal(t, []string{"--samples 30 is capped to the 20 rows of the data set"}, planned(t, 20, s).Adjusted,
		"a wish of the user's is not changed silently")
	require.NotContains(t, planned(t, 13368, real8b("Server")).Rehearsal, "a rehearsal was asked for")
}

// Causes contains the user's settings in the user's words, and no setting that follows from another.
func TestCausesOfARehearsal(t *testing.T) {
	c := config.New(config.RunSettings())
	for name, text := range real8b("Server") {
		require.NoError(t, c.Set(name, text, config.Origin{Layer: config.FromFlag, Where: "--" + name}))
	}
	for _, s := range []struct {
		layer             config.Layer
		name, text, where string
	}{{config.FromEnvironment, "samples", "100", "MLPERF_GO_SAMPLES"}, {config.FromFile, "tpot-limit", "1s", "a.yaml:3"},
		{config.FromFlag, "seed-override", "v6.0", "--seed-override"}} {
		require.NoError(t, c.Set(s.name, s.text, config.Origin{Layer: s.layer, Where: s.where}))
	}
	p, err := Resolve(c)
	require.NoError(t, err)
	p.Profilers = []string{"nsys"}
	require.NoError(t, p.Bind(100))
	require.Equal(t, []string{"MLPERF_GO_SAMPLES=100", "tpot-limit: 1s (a.yaml:3)", "--seed-override v6.0",
		"profiled: the servers were started with a profiler (nsys)"}, p.Causes)
	require.Greater(t, len(p.Rehearsal), len(p.Causes))
}

// A test with a profile window is a rehearsal, and one without it is not.
func TestAProfileWindowIsARehearsal(t *testing.T) {
	s := real8b("Server")
	require.NotContains(t, strings.Join(planned(t, 13368, s).Rehearsal, "\n"), "profiled")
	s["profile-window"] = "100,50"
	p := planned(t, 13368, s)
	require.Contains(t, p.Rehearsal, "profiled: --profile-window 100,50 profiles the servers")
	require.Equal(t, []string{"--profile-window 100,50"}, p.Causes)
}

// A plan can be checked and bound again: no reason is listed twice, and reasons of other rows are removed.
func TestRehearsalsOfOtherRowsAreForgotten(t *testing.T) {
	s := real8b("Server")
	s["rehearsal"] = "true"
	p := planned(t, 20, s)
	short, causes := p.Rehearsal, p.Causes
	require.NotEmpty(t, short)
	require.NoError(t, p.CheckInput(20))
	require.NoError(t, p.CheckInput(20))
	require.NoError(t, p.Bind(20))
	require.Equal(t, short, p.Rehearsal)
	require.Equal(t, causes, p.Causes)
	require.NoError(t, p.Bind(13368))
	require.NotEqual(t, short, p.Rehearsal)
	require.NotContains(t, strings.Join(p.Rehearsal, "\n"), "20 ")
}

// Limits of tokens make a rehearsal where the benchmark has them, and only if they are others.
func TestTheLimitsOfARehearsal(t *testing.T) {
	for _, c := range []struct {
		scenario, ttft, tpot string
		short                int
	}{{"Server", "", "", 0}, {"Server", "2s", "100ms", 0}, {"Server", "1s", "", 1}, {"Server", "", "101ms", 1},
		{"Server", "3s", "1ms", 2}, {"Interactive", "500ms", "30ms", 0}, {"Interactive", "2s", "", 1},
		{"Offline", "1s", "1ms", 0}} {
		s := real8b(c.scenario)
		for name, text := range map[string]string{"ttft-limit": c.ttft, "tpot-limit": c.tpot} {
			if text != "" {
				s[name] = text
			}
		}
		require.Len(t, planned(t, 13368, s).Rehearsal, c.short, "%+v", c)
	}
}

// The user's percentile makes a rehearsal only where LoadGen judges one, and only if it is another.
func TestThePercentileOfARehearsal(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	for _, c := range []struct {
		scenario, percentile string
		short                bool
	}{{"Server", "", false}, {"Server", "99", false}, {"Server", "90", true}, {"Server", "99.9", true},
		{"Interactive", "99", false}, {"Interactive", "98", true}, {"Offline", "90", false}, {"Offline", "99", false}} {
		s := real8b(c.scenario)
		if c.percentile != "" {
			s["latency-percentile"] = c.percentile
		}
		p := planned(t, 13368, s)
		require.Equal(t, c.short, len(p.Rehearsal) > 0, "%+v: %v", c, p.Rehearsal)
		if c.short {
			require.Contains(t, p.Rehearsal[0], "latency-percentile "+c.percentile+" is not the benchmark's 99")
		}
	}
}
