package wiretest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Golden finds a folder of recorded cases.
func Golden(t testing.TB, name string) string {
	root := os.Getenv("MLPERF_GO_GOLDEN")
	if root == "" {
		dir, err := os.Getwd()
		require.NoError(t, err)
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test")
			dir = filepath.Dir(dir)
		}
		root = filepath.Join(dir, "..", "shared", "golden")
	}
	path := filepath.Join(root, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no recorded cases in %s", path)
	}
	return path
}

// ContentType is the Content-Type of a response as recorded.
func ContentType(response []byte) string {
	for line := range strings.SplitSeq(string(response), "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "content-type") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
