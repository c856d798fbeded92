package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stream runs `go test -json` over a module of one package.
func stream(t *testing.T, testFile string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(testFile), 0o644))
	cmd := exec.Command("go", "test", "-json", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	path := filepath.Join(dir, "events.json")
	require.NoError(t, os.WriteFile(path, out, 0o644))
	return path
}

func total(t *testing.T, paths ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := mainCode(append([]string{"-total"}, paths...), strings.NewReader(""), &out)
	return out.String(), code
}

const mixed = `package a
import "testing"
func TestGood(t *testing.T) { t.Run("one", func(*testing.T) {}); t.Run("two", func(*testing.T) {}) }
func TestSkipped(t *testing.T) { t.Skip("not here") }
func TestBad(t *testing.T) { t.Run("case", func(t *testing.T) { t.Error("went wrong") }) }
`

func TestCountsTestsAndSubtestsAndNamesWhatFailed(t *testing.T) {
	path := stream(t, mixed)
	out, code := total(t, path)
	require.Equal(t, 1, code)
	require.True(t, strings.HasSuffix(out, "\n3 passed, 2 failed, 1 skipped\n"), out)
	require.Contains(t, out, "FAIL example TestBad/case\n")
	require.Contains(t, out, "went wrong")
	out, _ = total(t, path, path)
	require.Contains(t, out, "6 passed, 4 failed, 2 skipped", "several streams add up")
}

func TestAPackageThatDiesOrDoesNotBuildIsAFailure(t *testing.T) {
	for what, file := range map[string]string{
		"does not build": "package a\nvar x int = \"text\"\n",
		"dies": "package a\nimport (\"os\"; \"testing\")\nfunc TestMain(*testing.M) { " +
			"os.Stderr.WriteString(\"text\"); os.Exit(7) }\n",
	} {
		out, code := total(t, stream(t, file))
		require.Equal(t, 1, code, what)
		require.True(t, strings.HasSuffix(out, "\n0 passed, 1 failed, 0 skipped\n"), "%s: %s", what, out)
		require.Contains(t, out, "text", what)
	}
}

func TestLivePrintsALinePerPackageAndWhatIsNoEvent(t *testing.T) {
	events, err := os.ReadFile(stream(t, "package a\nimport \"testing\"\nfunc TestGood(*testing.T) {}\n"))
	require.NoError(t, err)
	var out bytes.Buffer
	code := mainCode(nil, strings.NewReader("go: a message\n"+string(events)), &out)
	require.Equal(t, 0, code)
	require.Regexp(t, `^go: a message\nok   example \d+\.\d s\n$`, out.String())
}
