package run

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The module in ../example sees what any other program sees: it builds against the exported names alone, and gets a verdict.
func TestASecondModule(t *testing.T) {
	program(t) // or skip
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	// A copy, so that a version that has changed in the project's go.mod is taken over without a change in the tree.
	dir := t.TempDir()
	for from, to := range map[string]string{"example/main.go": "main.go", "example/go.mod": "go.mod", "go.sum": "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, from))
		require.NoError(t, err)
		if to == "go.mod" {
			text = bytes.Replace(text, []byte("=> ../"), []byte("=> "+root), 1)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o644))
	}
	path := filepath.Join(dir, "mine")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOPROXY=off", "GOSUMDB=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(path)
	cmd.Dir = t.TempDir()
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "VALID: 500 of 500 samples answered, 1500 tokens\n", string(out))
}
