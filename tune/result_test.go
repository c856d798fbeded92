package tune

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// The result of a confirmed tune names the run that confirmed it: neither an invalid run nor a valid probe.
func TestResultNamesTheConfirmingRun(t *testing.T) {
	probe := func(kind Kind, folder string, valid bool, took time.Duration) Probe {
		return Probe{Measured: Measured{Kind: kind, Valid: valid, Took: took, Tails: []float64{0.1}}, Folder: folder}
	}
	p := &plan.Plan{Test: &plan.Test{Config: config.New(config.RunSettings())}}
	for _, confirmed := range []bool{true, false} {
		tn := &tuner{Options: Options{Plan: p, Folder: t.TempDir()}, state: &State{
			Goal: Goal{Percentile: 0.99, Limits: []Limit{{TTFT, time.Second}}}}}
		tn.state.Probes = []Probe{probe(Confirm, "confirm/1", false, 3*time.Second),
			probe(Confirm, "confirm/2", true, 5*time.Second), probe(Confirm, "confirm/3", false, 7*time.Second),
			probe(Rate, "probes/004", true, time.Second)}
		require.NoError(t, tn.end(&Outcome{Rate: 12, Low: 11, High: 13, Confirmed: confirmed, Why: "it is over"}))
		want := Result{TargetQPS: 12, Low: 11, High: 13, Confirmed: confirmed, Why: "it is over"}
		if confirmed {
			want.Run, want.RunS = "confirm/2", 5
		}
		require.Equal(t, &want, tn.state.Result)
		text, err := os.ReadFile(filepath.Join(tn.Folder, FileName))
		require.NoError(t, err)
		require.Contains(t, string(text), `"it is over"`)
		require.FileExists(t, filepath.Join(tn.Folder, PlotName))
	}
}
