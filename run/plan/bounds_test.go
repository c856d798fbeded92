package plan

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Bounds that no test can meet are rejected, whether they come from the user, the benchmark or the defaults.
func TestImpossibleBounds(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		refused  string
	}{
		"tokens": {Settings{"min-tokens": "200", "max-tokens": "100"},
			"min-tokens 200 is above max-tokens 100"},
		"tokens of the row": {Settings{"min-tokens": "129"}, "min-tokens 129 is above max-tokens 128"},
		"tokens that fit":   {Settings{"min-tokens": "128"}, ""},
		"no least tokens":   {Settings{"min-tokens": "0", "max-tokens": "1"}, ""},
		"durations": {Settings{"min-duration": "10s", "max-duration": "5s"},
			"max-duration 5s is below min-duration"},
		"a default duration": {Settings{"max-duration": "5s"}, "max-duration 5s is below min-duration 10s"},
		"SingleStream": {Settings{"model": "generic", "scenario": "SingleStream", "min-duration": "10s",
			"max-duration": "5s"}, "max-duration 5s is below"},
		"durations that fit":  {Settings{"min-duration": "10s", "max-duration": "10s"}, ""},
		"no longest duration": {Settings{"min-duration": "10s", "max-duration": "0"}, ""},
		"Offline ignores it": {Settings{"scenario": "Offline", "min-duration": "10s", "max-duration": "5s"},
			""},
		"an accuracy test, too": {Settings{"mode": "accuracy", "min-duration": "10s", "max-duration": "5s"}, ""},
		"tokens of the accuracy": {Settings{"mode": "accuracy", "accuracy-min-tokens": "129"},
			"min-tokens 129 is above"},
	} {
		s := Settings{"model": "llama3.1-8b", "scenario": "Server", "rehearsal": "true"}
		for k, v := range c.settings {
			s[k] = v
		}
		p, err := New(s)
		if err == nil {
			err = p.Bind(13368)
		}
		if c.refused == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.refused, name)
		require.Equal(t, exit.CodeSetting, exit.Classify(err).Code, name)
		require.Equal(t, exit.StatusUsage, exit.Classify(err).Exit, name)
	}
}

// A benchmark's least number of tokens is a bound unless the user sets another, in every benchmark and mode.
func TestLeastTokensOfEveryBenchmark(t *testing.T) {
	for _, row := range models.Rows() {
		for _, mode := range []models.Mode{models.Performance, models.Accuracy} {
			prefix := ""
			if mode == models.Accuracy {
				prefix = "accuracy-"
			}
			least := row.Sampling[mode].MinTokens
			for _, c := range []struct {
				least, most int // -1: not set
				refused     bool
			}{{-1, least - 1, least > 1}, {-1, least, false}, {0, 1, false}, {1, 1, false}, {5, 4, true}, {5, 5, false}} {
				if c.most < 1 {
					continue
				}
				s := Settings{"model": row.Name, "mode": string(mode), "scenario": string(row.Scenarios[0].Scenario),
					"served-model": "m", "endpoint": "http://a:1", "dataset": "file",
					prefix + "max-tokens": strconv.Itoa(c.most)}
				if c.least >= 0 {
					s[prefix+"min-tokens"] = strconv.Itoa(c.least)
				}
				_, err := New(s)
				require.Equal(t, c.refused, err != nil, "%s, %s, %+v: %v", row.Name, mode, c, err)
			}
		}
	}
}

// A setting of the user's that has no effect is noted.
func TestSettingsWithoutEffect(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		notice   string
	}{
		"serial": {Settings{"offline-strategy": "serial", "concurrency": "8"},
			"--concurrency 8 does nothing with"},
		"serial, no limit": {Settings{"offline-strategy": "serial", "concurrency": "0"},
			"--concurrency 0 does nothing with"},
		"serial, as it is": {Settings{"offline-strategy": "serial", "concurrency": "1"}, ""},
		"serial, endpoints": {Settings{"offline-strategy": "serial", "concurrency": "2", "endpoint": "http://a,http://b"},
			""},
		"a window":           {Settings{"concurrency": "8"}, ""},
		"a limit in Offline": {Settings{"ttft-limit": "500ms"}, "--ttft-limit does nothing in Offline"},
		"the other limit":    {Settings{"tpot-limit": "50ms"}, "--tpot-limit does nothing in Offline"},
		"a limit in Server":  {Settings{"scenario": "Server", "ttft-limit": "500ms"}, ""},
		"no stream in Server": {Settings{"scenario": "Server", "stream": "false"},
			"--stream=false does nothing: Server of"},
		"no stream": {Settings{"stream": "false"}, ""},
	} {
		c.settings["model"] = "llama3.1-8b"
		p, err := New(c.settings)
		require.NoError(t, err, name)
		notices := append(p.Notices(), p.UnusedLimits()...)
		if c.notice == "" {
			require.Empty(t, notices, name)
			continue
		}
		require.Len(t, notices, 1, name)
		require.Contains(t, notices[0], c.notice)
	}
}

// The record contains the values that the run used, not those that had no effect.
func TestRecordedStream(t *testing.T) {
	p := planned(t, 10, Settings{"model": "llama3.1-8b", "scenario": "Server", "stream": "false"})
	require.True(t, p.Config.Bool("stream"))
	require.Contains(t, p.Config.Origin("stream").Where, "stream=false, which does nothing in Server")
	require.False(t, planned(t, 10, Settings{"model": "llama3.1-8b", "stream": "false"}).Config.Bool("stream"))
}
