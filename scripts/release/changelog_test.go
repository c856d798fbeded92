package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository is a new repository in which change commits a file and tag names the last commit.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	r := repository{t, t.TempDir()}
	r.git("init", "-q")
	return r
}

func (r repository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

func (r repository) change(subject string, files ...string) {
	r.t.Helper()
	for _, f := range files {
		path := filepath.Join(r.dir, f)
		require.NoError(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(r.t, os.WriteFile(path, []byte(subject), 0o644))
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", subject)
}

func changelog(t *testing.T, r repository, version string) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	var b strings.Builder
	require.NoError(t, writeChangelog(r.dir, version, &b))
	return b.String()
}

func TestTheChangelogListsTheCommitsSinceTheTagBefore(t *testing.T) {
	r := newRepository(t)
	r.change("Begin", "run/run.go")
	require.Regexp(t, `^# mlperf-go v0\.1\.0\n\n1970-01-02, since the beginning\.\n\n## Changes\n\n- Begin \([0-9a-f]+\)\n$`,
		changelog(t, r, "v0.1.0"))
	r.git("tag", "v0.1.0")
	r.change("Explain it", "guide.md", "README.md")
	r.change("Test it", "run/run_test.go", "scripts/x.sh", "Makefile")
	r.change("Change | and test <it>", "run/run.go", "run/run_test.go", "guide.md")
	r.git("tag", "v0.2.0")
	got := changelog(t, r, "v0.2.0")
	require.Regexp(t, `since v0\.1\.0\.\n\n## Changes\n\n- Change \| and test <it> \(\w+\)\n\n`+
		`## Documentation\n\n- Explain it \(\w+\)\n\n## Tests and build\n\n- Test it \(\w+\)\n$`, got)
	require.Equal(t, got, changelog(t, r, "v0.2.0"))
	require.Equal(t, 3, strings.Count(got, "\n- "), "every commit once")
}

func TestAChangelogNeedsTheTimeOfTheCommit(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	require.ErrorContains(t, writeChangelog(".", "v1", &strings.Builder{}), "SOURCE_DATE_EPOCH")
}

func TestUnknownCommands(t *testing.T) {
	for _, args := range [][]string{nil, {"nothing"}, {"sbom", "v1"}} {
		require.Error(t, run(args, nil), "%q", args)
	}
}
