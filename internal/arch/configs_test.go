package arch

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// `run --config` accepts every shipped configuration: its keys are known, its values are valid, and its test can be
// planned.
func TestShippedConfigsCanBePlanned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "configs", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		c := config.New(config.RunSettings())
		require.NoError(t, c.LoadYAMLFile(name))
		p, err := plan.Resolve(c)
		require.NoError(t, err, name)
		require.NotEmpty(t, p.Row.DatasetSamples, name)
		require.NoError(t, p.Bind(p.Row.DatasetSamples), name)
		require.Empty(t, p.Rehearsal, "%s is meant for a real test", name)
		endpoints, err := p.Endpoints()
		require.NoError(t, err, name)
		require.NotEmpty(t, endpoints, name)
	}
}
