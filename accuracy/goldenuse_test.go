package accuracy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
)

// Every file of recorded results is read by a test of the package it belongs to. Each of those tests runs every case of
// its file and fails on an unknown kind of case.
func TestGoldenEveryFileIsRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Dir(t, "accuracy"), "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var tests strings.Builder
	for _, folder := range []string{".", "../datasets", "../tokenizer"} {
		sources, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		for _, source := range sources {
			text, err := os.ReadFile(source)
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "endpoints_extractors.json" {
			continue // the endpoints client scores these answers itself
		}
		named := strings.Contains(tests.String(), `"`+name+`"`) ||
			strings.Contains(tests.String(), `"`+strings.TrimSuffix(name, ".json")+`"`)
		require.True(t, named, "no test reads %s", name)
	}
}
