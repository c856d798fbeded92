package results

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 7_000_000, time.FixedZone("two hours east", 7200))

func TestNewIsNamedByTheTimeInUTC(t *testing.T) {
	home := t.TempDir()
	require.Equal(t, filepath.Join(home, "20261123T100000.007Z"), New(home, noon))
	require.NoError(t, os.Mkdir(New(home, noon), 0o755))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(home, "20261123T100000.008Z")))
	require.Equal(t, filepath.Join(home, "20261123T100000.009Z"), New(home, noon), "what exists is not used again")
}

func TestPointMovesTheLink(t *testing.T) {
	home := t.TempDir()
	require.Empty(t, Latest(home))
	link := filepath.Join(home, LatestName)
	for i := range 3 {
		folder := New(home, noon.Add(time.Duration(i)*time.Hour))
		require.NoError(t, os.Mkdir(folder, 0o755))
		require.NoError(t, Point(folder))
		require.Equal(t, folder, Latest(home))
		require.Equal(t, folder, Resolve(link))
		require.NoError(t, Point(folder), "a second time changes nothing")
	}
	name, err := os.Readlink(link)
	require.NoError(t, err)
	require.Equal(t, "20261123T120000.007Z", name, "the link still works after results/ was moved")
	require.NoError(t, os.Remove(Latest(home)))
	require.Empty(t, Latest(home), "a link to nothing leads nowhere")
	require.NoError(t, Point(New(home, noon)), "and is replaced")
	require.Equal(t, link, Resolve(link))
	require.Equal(t, home, Resolve(home))
}

func TestDiscard(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := Choose("", "model", false, noon)
	other := filepath.Join(Root, "model", "mine")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run.json"), nil, 0o644))
	Discard(folder)
	require.FileExists(t, filepath.Join(folder, "run.json"), "a folder with something in it stays")
	require.NoError(t, os.Remove(filepath.Join(folder, "run.json")))
	require.NoError(t, os.Mkdir(other, 0o755))
	Discard(folder)
	require.NoDirExists(t, folder)
	Discard(other)
	require.DirExists(t, other, "the user named it")
	require.NoError(t, os.Remove(other))
	require.NoError(t, os.Mkdir(folder, 0o755))
	Discard(folder)
	require.NoDirExists(t, Root)
}

// Links and files that this program did not make are neither followed nor replaced.
func TestForeignLatest(t *testing.T) {
	other := t.TempDir()
	for name, plant := range map[string]func(link string) error{
		"a file":               func(link string) error { return os.WriteFile(link, []byte("mine"), 0o644) },
		"a folder":             func(link string) error { return os.Mkdir(link, 0o755) },
		"a link elsewhere":     func(link string) error { return os.Symlink(other, link) },
		"a link up":            func(link string) error { return os.Symlink("..", link) },
		"a link out by a time": func(link string) error { return os.Symlink("../20261123T100000.007Z", link) },
		"a neighbour's name":   func(link string) error { return os.Symlink("baseline", link) },
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			link := filepath.Join(home, LatestName)
			require.NoError(t, os.Mkdir(filepath.Join(home, "baseline"), 0o755))
			require.NoError(t, plant(link))
			before, err := os.Lstat(link)
			require.NoError(t, err)
			require.Empty(t, Latest(home))
			require.Equal(t, link, Resolve(link))
			require.ErrorContains(t, Point(New(home, noon)), link+" is left as it is")
			after, err := os.Lstat(link)
			require.NoError(t, err)
			require.True(t, os.SameFile(before, after))
			left, err := os.ReadDir(home)
			require.NoError(t, err)
			require.Len(t, left, 2)
		})
	}
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "trial"), 0o755))
	require.NoError(t, Point(filepath.Join(home, "trial")))
	require.NoFileExists(t, filepath.Join(home, LatestName), "a folder that the user named has no link")

	require.NoError(t, os.Symlink(other, filepath.Join(home, "20261123T100000.007Z")))
	require.NoError(t, os.Symlink("20261123T100000.007Z", filepath.Join(home, LatestName)))
	require.Empty(t, Latest(home), "the folder itself is no link")
}

// The link is never missing while it changes.
func TestPointIsAtomic(t *testing.T) {
	home := t.TempDir()
	folders := []string{New(home, noon), New(home, noon.Add(time.Hour))}
	for _, f := range folders {
		require.NoError(t, os.Mkdir(f, 0o755))
	}
	require.NoError(t, Point(folders[0]))
	var wait sync.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		defer close(done)
		for i := range 500 {
			if err := Point(folders[i%2]); err != nil {
				t.Error(err)
			}
		}
	})
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
			if !slices.Contains(folders, Latest(home)) {
				t.Error("the link was missing")
				reading = false
			}
		}
	}
	wait.Wait()
}
