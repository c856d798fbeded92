package study_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/study"
)

func TestContinues(t *testing.T) {
	for _, c := range []struct {
		read   error
		resume bool
		want   bool
		err    string
	}{
		{nil, true, true, ""},
		{nil, false, false, "holds an earlier sweep"},
		{fmt.Errorf("%w", statefile.ErrNone), false, false, ""},
		{fmt.Errorf("%w", statefile.ErrNone), true, false, ""},
		{errors.New("bad JSON"), true, false, "the sweep cannot be continued: bad JSON"},
		{errors.New("bad JSON"), false, false, "holds an earlier sweep"},
	} {
		s := &study.Study{Owner: child.Owner{What: "sweep"}, Folder: t.TempDir(), Resume: c.resume,
			Unreadable: exit.CodeSweepState}
		got, err := s.Continues(c.read)
		require.Equal(t, c.want, got, "%+v", c)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.err)
		}
	}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "campaign.json"), []byte("{}"), 0o600))
	_, err := (&study.Study{Folder: folder}).Continues(statefile.ErrNone)
	require.Error(t, err, "the folder of something else")
}

func TestSettings(t *testing.T) {
	p, err := plan.New(plan.Settings{"model": "generic", "endpoint": "http://here:1", "samples": "3"})
	require.NoError(t, err)
	require.ErrorContains(t, study.Reject(p, "a sweep", [][2]string{{"samples", "Leave it out"}}),
		"--samples has no meaning in a sweep")
	require.NoError(t, study.Reject(p, "a sweep", [][2]string{{"force", ""}}))
	settings := study.Settings(p, map[string]bool{"samples": true})
	require.Contains(t, settings, "--endpoint=http://here:1")
	require.NotContains(t, fmt.Sprint(settings), "--samples")

	p, err = plan.New(plan.Settings{"model": "generic"})
	require.NoError(t, err)
	require.NoError(t, p.Config.Set("endpoint", "http://made:1", plan.SimulatorOrigin))
	require.NotContains(t, fmt.Sprint(study.Settings(p, nil)), "--endpoint")
}
