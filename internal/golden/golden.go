package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// Env names the environment variable with the folder of recorded results.
const Env = "MLPERF_GO_GOLDEN"

// Dir returns the folder of one part, such as "loadgen". It skips the test if the folder is missing.
func Dir(t testing.TB, part string) string {
	t.Helper()
	root := os.Getenv(Env)
	if root == "" {
		root = filepath.Join(repository(t), "..", "shared", "golden")
	}
	dir := filepath.Join(root, part)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded results at %s; set %s to the folder that holds them", dir, Env)
	}
	return dir
}

// repository walks up from the test's working directory to the folder with go.mod.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test's working directory")
		}
		dir = filepath.Dir(dir)
	}
}
