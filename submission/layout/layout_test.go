package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

func TestALeafIsAFolderOfItsOwn(t *testing.T) {
	l := Leaf{System: "sim-8x", Benchmark: "llama3.1-8b", Scenario: models.Interactive, Test: "TEST06"}
	require.Equal(t, filepath.FromSlash("out/sim-8x/llama3.1-8b/Interactive/TEST06"), l.Folder("out"))
	require.Equal(t, filepath.FromSlash("out/sim-8x/llama3.1-8b/Interactive/TEST06/compliance/TEST06"), l.Verified("out"))
	require.True(t, l.Audit())
	l.Test = Accuracy
	require.False(t, l.Audit())
}

// The places of files in the three rounds (docs/reference/submission-rules.md#the-tree).
func TestPlacesOfEachRound(t *testing.T) {
	for _, c := range []struct {
		round, measurements, test06, test09, code string
	}{
		{"v5.1", "closed/Me/measurements/s/llama3.1-8b/Server/s_Server.json",
			"closed/Me/compliance/s/llama3.1-8b/Server/TEST06", "closed/Me/results/s/llama3.1-8b/Server/TEST09",
			"closed/Me/code/llama3.1-8b"},
		{"v6.0", "closed/Me/results/s/llama3.1-8b/Server/measurements.json", "closed/Me/results/s/llama3.1-8b/Server/TEST06",
			"closed/Me/results/s/llama3.1-8b/Server/TEST09", "closed/Me/src/llama3.1-8b"},
		{"v6.1", "closed/Me/results/s/llama3.1-8b/Server/measurements.json", "closed/Me/results/s/llama3.1-8b/Server/TEST06",
			"closed/Me/results/s/llama3.1-8b/Server/TEST09", "closed/Me/src/llama3.1-8b"},
	} {
		t.Run(c.round, func(t *testing.T) {
			r, err := rounds.Find(c.round)
			require.NoError(t, err)
			p := Place(r, Submitter{Closed, "Me"}, "s", "llama3.1-8b", models.Server)
			require.Equal(t, c.measurements, p.Measurements())
			require.Equal(t, c.test06, p.Audit("TEST06"))
			require.Equal(t, c.test09, p.Audit("TEST09"))
			require.Equal(t, c.code, p.Code())
			require.Equal(t, "closed/Me/results/s/llama3.1-8b/Server/performance/run_1", p.Performance())
			require.Equal(t, "closed/Me/results/s/llama3.1-8b/Server/accuracy", p.Accuracy())
		})
	}
}

// Every file of the recorded passing tree is at the place that this package returns.
func TestGoldenTreeHasThisLayout(t *testing.T) {
	base := filepath.Join(golden.Dir(t, "submission"), "base")
	r, err := rounds.Find("v6.1")
	require.NoError(t, err)
	me := Submitter{Closed, "ExampleOrg"}
	folders := []string{me.System("sim-8x"), me.Calibration()[0]}
	for _, s := range []models.Scenario{models.Offline, models.Server} {
		p := Place(r, me, "sim-8x", "llama3.1-8b", s)
		folders = append(folders, p.Performance(), p.Accuracy(), p.Audit("TEST06"), p.Audit("TEST06")+"/accuracy",
			p.Measurements(),
			p.Measured()+"/"+UserConfName, p.Measured()+"/"+ReadmeName, p.Code())
	}
	require.NoError(t, filepath.WalkDir(base, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(base, name)
		require.NoError(t, err)
		rel = filepath.ToSlash(rel)
		require.True(t, slices.Contains(folders, rel) || slices.Contains(folders, filepath.ToSlash(filepath.Dir(rel))), rel)
		return nil
	}))
	for _, f := range folders {
		_, err := os.Stat(filepath.Join(base, f))
		require.NoError(t, err)
	}
}
