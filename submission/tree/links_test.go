package tree

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treetest"
)

// plant replaces a file or folder by a link to a copy of it outside, in which every file has the secret at its end.
func plant(t testing.TB, at string) {
	t.Helper()
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.Rename(at, outside))
	require.NoError(t, filepath.WalkDir(outside, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(treetest.Secret)
		require.NoError(t, err)
		return f.Close()
	}))
	require.NoError(t, os.Symlink(outside, at))
}

// If a component of a path in a campaign is a link, its target is not copied to a tree.
func TestNoLinkOfACampaignIsFollowed(t *testing.T) {
	for _, name := range treetest.Entries(t, campaign(t).folder) {
		if !strings.Contains(name, "Server") && strings.Count(name, "/") > 1 {
			continue // Offline would repeat the same checks
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := campaign(t)
			plant(t, filepath.Join(e.folder, name))
			o := e.options()
			o.Output = filepath.Join(t.TempDir(), "tree")
			r, err := Build(context.Background(), o)
			if err != nil {
				require.NotContains(t, err.Error(), treetest.Secret)
				require.NoDirExists(t, o.Output)
				return
			}
			require.NotContains(t, name, mllog.DetailName, "a log that lacks is no tree")
			for file := range treetest.Sums(t, r.Root) {
				text, err := os.ReadFile(filepath.Join(r.Root, file))
				require.NoError(t, err)
				require.NotContains(t, string(text), treetest.Secret, file)
			}
		})
	}
}

// If an unfinished tree, or a component of a path in it, is a link, nothing is written to the target.
func TestNoLinkInTheOutputIsFollowed(t *testing.T) {
	e := campaign(t)
	whole := e.options()
	whole.Output = filepath.Join(t.TempDir(), "whole")
	names := append(treetest.Entries(t, e.build(whole).Root), ".")
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := e.options()
			o.Output = filepath.Join(t.TempDir(), "tree")
			linked := filepath.Join(o.Output+partSuffix, name)
			outside := t.TempDir()
			target := outside
			if info, err := os.Stat(filepath.Join(whole.Output, name)); err == nil && info.Mode().IsRegular() {
				target = filepath.Join(outside, "victim")
				require.NoError(t, os.WriteFile(target, []byte("keep"), 0o644))
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(linked), 0o755))
			require.NoError(t, os.Symlink(target, linked))
			_, err := Build(context.Background(), o)
			require.ErrorContains(t, err, "a symbolic link")
			var known *run.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, run.ExitEnvironment, known.Exit)
			for _, left := range treetest.Entries(t, outside) {
				require.Equal(t, "victim", left)
				text, err := os.ReadFile(target)
				require.NoError(t, err)
				require.Equal(t, "keep", string(text))
			}
		})
	}
}

// Power files of the replaced tree are copied, but links among them are not.
func TestNoLinkOfTheReplacedTreeIsFollowed(t *testing.T) {
	e := campaign(t)
	r := e.build(e.options())
	power := filepath.Join(r.Root, "closed/ExampleOrg/results", systemName, benchmarkName, "Server/performance/power")
	for _, name := range []string{"", "ptd_out.txt"} {
		e.write(filepath.Join(power, "ptd_out.txt"), "watts")
		e.write(filepath.Join(power, "client.json"), "{}")
		plant(t, filepath.Join(power, name))
		o := e.options()
		o.Force = true
		again := e.build(o)
		files := treetest.Sums(t, again.Root)
		kept := filepath.Join("/closed/ExampleOrg/results", systemName, benchmarkName, "Server", layout.Performance,
			layout.PowerName)
		require.NotContains(t, files, filepath.Join(kept, "ptd_out.txt"))
		require.Equal(t, name != "", files[filepath.Join(kept, "client.json")] != "", "%v", files)
		require.NotEmpty(t, again.Notes)
	}
}
