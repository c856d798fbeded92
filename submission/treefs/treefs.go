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
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// Limits of lists and walks.
const (
	maxEntries = 1_000_000 // entries per folder
	maxDepth   = 200       // nested folders, which a walk keeps open
)

// Entries returns the entries of a folder in root, sorted by name. A link in the folder's path is an error.
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
	ordering.Sort(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Entry is a file, folder, link or other entry of a walk.
type Entry struct {
	fs.DirEntry
	Path string   // relative to the root of the walk, with slashes
	Dir  *os.Root // the opened folder that contains it; valid during the call
}

// Walk calls visit for every entry below a folder, sorted by name and a folder before its content. visit may return
// fs.SkipDir for a folder. Links are not followed. Walk stops at the first other error of visit, at a folder that
// cannot be read, and when ctx is done.
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
		return fmt.Errorf("the folder %s is nested more than %d folders deep", at.Path, maxDepth)
	}
	below, err := atomicfile.FolderIn(at.Dir, at.Name())
	if err != nil {
		return err
	}
	defer below.Close()
	return walk(ctx, below, at.Path, depth, visit)
}

// Within reports whether name is folder or inside it. It follows the links of the part of name that exists.
func Within(folder, name string) (bool, error) {
	base, err := resolve(folder)
	if err != nil {
		return false, err
	}
	target, err := resolve(name)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(base, target)
	return err == nil && filepath.IsLocal(rel), err
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
