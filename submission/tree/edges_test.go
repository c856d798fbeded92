package tree

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/runtest"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// A record is that of a folder's test only if its model, scenario, mode and audit all are.
func TestARecordOfAnotherTest(t *testing.T) {
	for name, c := range map[string]struct {
		test   string
		change func(*record.Record)
		same   bool
	}{
		"performance":              {layout.Performance, func(*record.Record) {}, true},
		"accuracy":                 {layout.Accuracy, func(r *record.Record) { r.Mode = string(models.Accuracy) }, true},
		"an audit":                 {compliance.Test06, func(r *record.Record) { r.Files[record.AuditName] = "x" }, true},
		"another model":            {layout.Performance, func(r *record.Record) { r.Model = "mixtral-8x7b" }, false},
		"another scenario":         {layout.Performance, func(r *record.Record) { r.Scenario = "Offline" }, false},
		"another mode":             {layout.Performance, func(r *record.Record) { r.Mode = string(models.Accuracy) }, false},
		"performance for accuracy": {layout.Accuracy, func(*record.Record) {}, false},
		"an audit for none":        {layout.Performance, func(r *record.Record) { r.Files[record.AuditName] = "x" }, false},
		"none for an audit":        {compliance.Test06, func(*record.Record) {}, false},
	} {
		r := runtest.Record(benchmarkName, models.Server, models.Performance)
		if r.Files == nil {
			r.Files = map[string]string{}
		}
		c.change(r)
		why := (&judge{}).otherTest(&test{leaf: leafOf(models.Server, c.test), record: r})
		require.Equal(t, c.same, why == "", "%s: %s", name, why)
	}
}

// A tree that cannot be written is the fault of the place, and each step reports it.
func TestPlacesThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	linked := filepath.Join(dir, "linked")
	require.NoError(t, os.Symlink(dir, linked+partSuffix))
	taken := filepath.Join(dir, "taken")
	require.NoError(t, os.WriteFile(taken+partSuffix, nil, 0o600))
	for output, want := range map[string]string{
		file:                                  "cannot read the folder of the tree",
		filepath.Join(file, "tree"):           "cannot read the folder of the tree",
		linked:                                "cannot create the tree",
		taken:                                 "cannot create the tree",
		filepath.Join(dir, "nul\x00", "tree"): "cannot",
	} {
		w := &writer{output: output, files: &content{}}
		err := w.write(context.Background())
		require.ErrorContains(t, err, want, output)
		var place *exit.Error
		require.ErrorAs(t, err, &place, output)
	}
}
