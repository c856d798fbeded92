package pack

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// If a component of a path is a link, the error names it, and nothing is written.
func TestNoLinkIsPacked(t *testing.T) {
	var links []string
	root := tree(t)
	require.NoError(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, name)
		if rel != "." {
			links = append(links, filepath.ToSlash(rel))
		}
		return errors.Join(err, relErr)
	}))
	for _, link := range links {
		for _, place := range []string{"outside", "inside"} {
			t.Run(place+" "+link, func(t *testing.T) {
				t.Parallel()
				root, out := tree(t), filepath.Join(t.TempDir(), "out")
				moved := filepath.Join(t.TempDir(), "moved")
				if place == "inside" {
					moved = filepath.Join(root, "open", "Acme", "moved")
					if link == "open" || link == "open/Acme" {
						t.Skip("it is where the others are moved to")
					}
				}
				linked := filepath.Join(root, link)
				require.NoError(t, os.Rename(linked, moved))
				require.NoError(t, os.Symlink(moved, linked))
				_, err := Pack(context.Background(), Options{Root: root, Output: out, Submitter: "Acme"})
				var r *Refusal
				require.ErrorAs(t, err, &r)
				require.Len(t, r.Problems, 1, r.Error())
				require.Equal(t, link, r.Problems[0].Path)
				require.Equal(t, notPlain, r.Problems[0].Code)
				require.NoDirExists(t, out)
			})
		}
	}
}

// A link in place of an output file is not followed, and the output folder must not be a link into the tree.
func TestNoLinkInTheOutputIsFollowed(t *testing.T) {
	for _, suffix := range []string{tarballSuffix, sha1Suffix, sha256Suffix, listSuffix} {
		out, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
		require.NoError(t, os.WriteFile(victim, []byte("keep"), 0o644))
		require.NoError(t, os.Symlink(victim, filepath.Join(out, namePrefix+"Acme"+suffix)))
		_, err := Pack(context.Background(), Options{Root: tree(t), Output: out})
		require.ErrorContains(t, err, "a symbolic link")
		kept, err := os.ReadFile(victim)
		require.NoError(t, err)
		require.Equal(t, "keep", string(kept))
	}
	root, link := tree(t), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Join(root, "closed"), link))
	_, err := Pack(context.Background(), Options{Root: root, Output: filepath.Join(link, "out")})
	require.ErrorContains(t, err, "choose one outside")
}

// The tarball is read again before it counts. If the disk has changed it, it is removed and gets no checksums.
func TestTarballIsReadBack(t *testing.T) {
	t.Cleanup(func() { writeIn = atomicfile.WriteIn })
	for _, password := range []string{"", "a long password"} {
		out := t.TempDir()
		writeIn = func(dir *os.Root, name string, fill func(io.Writer) error) error {
			if err := atomicfile.WriteIn(dir, name, fill); err != nil {
				return err
			}
			path := filepath.Join(out, name)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			text[len(text)/2] ^= 1
			return os.WriteFile(path, text, 0o644)
		}
		_, err := Pack(context.Background(), Options{Root: tree(t), Output: out, Password: password})
		require.ErrorContains(t, err, "differs from the tree")
		entries, err := os.ReadDir(out)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

// A file that changes between hashing and packing is reported.
func TestFileThatChangesWhilePacking(t *testing.T) {
	root, out := tree(t), t.TempDir()
	t.Cleanup(func() { writeIn = atomicfile.WriteIn })
	writeIn = func(dir *os.Root, name string, fill func(io.Writer) error) error {
		put(t, root, "closed/Acme/systems/box.json", "[]\n")
		return atomicfile.WriteIn(dir, name, fill)
	}
	_, err := Pack(context.Background(), Options{Root: root, Output: out})
	require.ErrorContains(t, err, "closed/Acme/systems/box.json has different content")
}
