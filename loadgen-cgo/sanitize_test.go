package loadgen_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// whileTestsRun returns a context that ends shortly before this test binary's time limit, because a compiler may be
// slow on a busy machine but must not outlive the test.
func whileTestsRun(t *testing.T) context.Context {
	end, ok := t.Deadline()
	if !ok {
		return t.Context()
	}
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(-20*time.Second))
	t.Cleanup(cancel)
	return ctx
}

// TestSanitizers runs the C++ side, including LoadGen, under the address, undefined-behavior and thread sanitizers.
func TestSanitizers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds LoadGen twice")
	}
	packages, err := filepath.Glob("../third_party/mlcommons_loadgen-*.tar.gz")
	require.NoError(t, err)
	if len(packages) == 0 {
		t.Skip("third_party holds no source package: LoadGen was set up from elsewhere")
	}
	out, err := exec.CommandContext(whileTestsRun(t), "./sanitize.sh", packages[0]).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)
}
