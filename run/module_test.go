package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The module in ../example sees what any other program sees: it builds against the exported names alone, and gets a verdict.
func TestASecondModule(t *testing.T) {
	program(t) // or skip
	path := filepath.Join(t.TempDir(), "example")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../example"
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPROXY=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s\nWhere a version changed in go.mod, type 'go mod tidy' in the folder example", out)
	cmd := exec.Command(path)
	cmd.Dir = t.TempDir()
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "VALID: 500 of 500 samples answered, 1500 tokens\n", string(out))
}
