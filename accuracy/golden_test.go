package accuracy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/stretchr/testify/require"
)

// goldenFile reads a file of recorded results. Numbers decoded into an any keep their text (json.Number).
func goldenFile(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(golden.Dir(t, "accuracy"), name+".json"))
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(t, d.Decode(into))
}

// eachCase runs a subtest for each case of a file.
func eachCase[C any](t *testing.T, name string, fn func(t *testing.T, c C)) {
	t.Helper()
	var file struct{ Cases []C }
	goldenFile(t, name, &file)
	require.NotEmpty(t, file.Cases)
	for i, c := range file.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) { fn(t, c) })
	}
}

// near compares two floating-point numbers with the tolerance of the recorded results.
func near(t *testing.T, want, got float64, what string) {
	t.Helper()
	if math.Abs(want-got) > 1e-12*max(1, math.Abs(want)) {
		t.Errorf("%s: want %v, got %v", what, want, got)
	}
}
