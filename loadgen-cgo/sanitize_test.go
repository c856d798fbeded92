package loadgen_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The C++ side, LoadGen included, under the address, undefined-behaviour and thread sanitizers.
func TestSanitizers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds LoadGen twice")
	}
	packages, err := filepath.Glob("../third_party/mlcommons_loadgen-*.tar.gz")
	require.NoError(t, err)
	if len(packages) == 0 {
		t.Skip("third_party holds no source package: LoadGen was set up from elsewhere")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "./sanitize.sh", packages[0]).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)
}
