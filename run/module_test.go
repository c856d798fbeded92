package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asAnother turns the project's go.mod into that of the module in ../example, which needs the project and its
// dependencies. It lists every version, so that the go command downloads no module beyond the project's.
func asAnother(t *testing.T, project, root string) string {
	t.Helper()
	const old = "module github.com/mlperf-go/mlperf-go\n"
	require.True(t, strings.HasPrefix(project, old))
	return "module example.org/mine\n" + strings.TrimPrefix(project, old) +
		"\nrequire github.com/mlperf-go/mlperf-go v0.0.0\n\nreplace github.com/mlperf-go/mlperf-go => " + root + "\n"
}

// The module in ../example is like any other program: it builds with the exported names alone, and gets a verdict.
func TestASecondModule(t *testing.T) {
	program(t) // or skip
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	for from, to := range map[string]string{"example/main.go": "main.go", "go.mod": "go.mod", "go.sum": "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, from))
		require.NoError(t, err)
		if to == "go.mod" {
			text = []byte(asAnother(t, string(text), root))
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

var required = regexp.MustCompile(`(?m)^\s*(?:require )?([a-z][\w./-]*\.[a-z]+/\S+) (v\S+)`)

// versions are the modules that a go.mod names, each with its version.
func versions(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	all := map[string]string{}
	for _, m := range required.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = m[2]
	}
	require.Greater(t, len(all), 10, name)
	return all
}

// Users who build ../example unchanged get the versions that the project is tested with.
func TestTheExampleNamesTheSameVersions(t *testing.T) {
	project := versions(t, "../go.mod")
	shared := 0
	for module, version := range versions(t, "../example/go.mod") {
		if known, ok := project[module]; ok {
			shared++
			require.Equal(t, known, version, "%s in example/go.mod and go.mod; type 'go mod tidy' in example", module)
		}
	}
	require.Greater(t, shared, 10)
}
