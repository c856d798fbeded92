package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// killedWithMetrics runs a test with --metrics, kills it after the first block of metrics is on the disk, and returns
// its folder.
func killedWithMetrics(t *testing.T) string {
	p := startRun(t, append(long["Server"], "--metrics", "--metrics-interval", "100ms")...)
	metrics := filepath.Join(p.folder, filepath.FromSlash(record.MetricsName))
	p.until("a block of metrics", patience, func() bool {
		info, err := os.Stat(atomicfile.Left(metrics))
		return err == nil && info.Size() > 2000
	})
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.end(endWithin))
	require.NoFileExists(t, metrics)
	return p.folder
}

// The metrics of a run that was killed with SIGKILL can be read under the run's folder and their temporary name.
func TestMetricsOfAKilledRun(t *testing.T) {
	t.Parallel()
	folder := killedWithMetrics(t)
	left := atomicfile.Left(filepath.Join(folder, filepath.FromSlash(record.MetricsName)))
	for _, source := range []string{folder, left} {
		text, err := exec.Command("mlperf-go", "metrics", "summary", source).CombinedOutput()
		require.NoError(t, err, "%s", text)
		require.Contains(t, string(text), "the metrics are incomplete")
		require.Contains(t, string(text), "Running requests")

		text, err = exec.Command("mlperf-go", "--json", "metrics", "summary", source).Output()
		require.NoError(t, err)
		var summary struct {
			Incomplete bool           `json:"incomplete"`
			Signals    map[string]any `json:"signals"`
		}
		require.NoError(t, json.Unmarshal(text, &summary))
		require.True(t, summary.Incomplete)
		require.NotEmpty(t, summary.Signals)
	}
	export := exec.Command("mlperf-go", "metrics", "export", folder, "--output", filepath.Join(t.TempDir(), "m.csv"))
	text, err := export.CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Contains(t, string(text), "the metrics are incomplete")
}

// show states what a run that was killed has left, and when it began.
func TestShowOfAKilledRun(t *testing.T) {
	t.Parallel()
	before := time.Now().Add(-time.Minute)
	folder := killedWithMetrics(t)
	text, err := exec.Command("mlperf-go", "show", folder).CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Regexp(t, `\ACRASHED: .* no run.json, .* began 2\S+Z, and left config.yaml, user.conf, .*metrics[^\n]*\n\z`,
		strings.Join(strings.Fields(string(text)), " ")+"\n")

	text, err = exec.Command("mlperf-go", "--json", "show", folder).Output()
	require.NoError(t, err)
	var shown struct {
		Runs []struct{ Crashed *record.Crashed }
	}
	require.NoError(t, json.Unmarshal(text, &shown))
	require.Contains(t, shown.Runs[0].Crashed.Parts, record.MetricsFolder)
	require.WithinRange(t, shown.Runs[0].Crashed.Began, before, time.Now())

	for _, args := range [][]string{{"--answers", folder}, {t.TempDir()}} {
		text, err = exec.Command("mlperf-go", append([]string{"show"}, args...)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(text), "has no run.json")
	}
}
