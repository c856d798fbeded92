package treefs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// The bounds of what is listed and walked.
const (
	maxEntries = 1_000_000 // of one folder
	maxDepth   = 200       // folders one below the other, each held open
)

// Entries returns the entries of a folder below root, sorted by name. A link at any component of the folder's name is
// an error.
func Entries(root *os.Root, folder string) ([]fs.DirEntry, error) {
	dir, err := atomicfile.FolderIn(root, folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return read(dir)
}

func read(dir *os.Root) ([]fs.DirEntry, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("the folder %s has more than %d entries", dir.Name(), maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Entry is a file or folder of a walk, or what lies in the place of one.
type Entry struct {
	fs.DirEntry
	Path string   // below the root of the walk, with slashes
	Dir  *os.Root // the opened folder that holds it; valid during the call
}

// Walk calls visit for every entry below a folder, sorted by name, a folder ahead of its content. visit may return
// fs.SkipDir for a folder. Links are entries. The walk ends with visit's first other error, with that of a folder that
// cannot be read, and with ctx.
func Walk(ctx context.Context, root *os.Root, folder string, visit func(Entry) error) error {
	dir, err := atomicfile.FolderIn(root, folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	return walk(ctx, dir, path.Clean(filepath.ToSlash(folder)), maxDepth, visit)
}

func walk(ctx context.Context, dir *os.Root, folder string, depth int, visit func(Entry) error) error {
	entries, err := read(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := Entry{e, path.Join(folder, e.Name()), dir}
		err := visit(at)
		switch {
		case err == fs.SkipDir:
		case err != nil:
			return err
		case e.IsDir():
			if err := descend(ctx, at, depth-1, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func descend(ctx context.Context, at Entry, depth int, visit func(Entry) error) error {
	if depth == 0 {
		return fmt.Errorf("the folder %s lies more than %d folders deep", at.Path, maxDepth)
	}
	below, err := atomicfile.FolderIn(at.Dir, at.Name())
	if err != nil {
		return err
	}
	defer below.Close()
	return walk(ctx, below, at.Path, depth, visit)
}

// Within reports whether place is folder or lies below it, links followed as far as place exists.
func Within(folder, place string) (bool, error) {
	base, err := resolve(folder)
	if err != nil {
		return false, err
	}
	target, err := resolve(place)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(base, target)
	if err != nil {
		return false, err
	}
	return filepath.IsLocal(rel), nil
}

// resolve makes a path absolute and follows the links of the part that exists.
func resolve(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		parent := filepath.Dir(abs)
		if !errors.Is(err, fs.ErrNotExist) || parent == abs {
			return "", err
		}
		rest = filepath.Join(filepath.Base(abs), rest)
		abs = parent
	}
}
