package check

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// files opens files in a root folder by slash-separated names. Links are followed inside the root, but never out of it,
// even if the tree changes at the same time.
type files struct {
	root  string // for messages
	dir   *os.Root
	links *atomic.Int64 // number of links that list has followed
}

// Limits on reading.
const (
	maxDocument = 4 << 20 // bytes of a JSON or YAML document
	maxEntries  = 100_000 // entries of one folder
	maxLinks    = 20_000  // links that list follows
	maxLog      = 2 << 30 // bytes of one LoadGen log
	maxText     = 64 << 20
)

// openFiles opens a root folder that can be listed. The caller must close it.
func openFiles(root string) (files, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return files{}, err
	}
	f := files{root: filepath.Clean(root), dir: dir, links: new(atomic.Int64)}
	if _, err := f.entries(".", 1); err != nil {
		f.close()
		return files{}, err
	}
	return f, nil
}

func (f files) close() { _ = f.dir.Close() } // read-only, so closing cannot lose data

// outside reports whether err means that a name leads out of the root. It is the only error of os.Root that does not
// come from the system.
func outside(err error) bool {
	var system syscall.Errno
	return err != nil && !errors.As(err, &system)
}

var (
	errNotPlain = errors.New("not a regular file")
	errOutside  = errors.New("a link leads out of the tree")
)

func (f files) stat(name string) (fs.FileInfo, error) {
	info, err := f.dir.Stat(filepath.FromSlash(name))
	if outside(err) {
		err = errOutside
	}
	return info, err
}

// open opens a regular file. It rejects others, because reading a pipe or a device may never end.
func (f files) open(name string) (*os.File, error) {
	info, err := f.stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotPlain
	}
	file, err := f.dir.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errNotPlain
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// read returns the content of a file of at most limit bytes.
func (f files) read(name string, limit int64) ([]byte, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("it has more than %d bytes", limit)
	}
	return b, err
}

// size returns the size of a file or folder, following links, and whether it exists.
func (f files) size(name string) (bytes int64, there bool) {
	info, err := f.stat(name)
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// plainSize is size for regular files only.
func (f files) plainSize(name string) (bytes int64, there bool) {
	info, err := f.stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// entries returns at most limit entries of a folder, sorted by name; limit must be positive.
func (f files) entries(folder string, limit int) ([]fs.DirEntry, error) {
	// With O_NONBLOCK, opening a pipe of that name does not block.
	d, err := f.dir.OpenFile(filepath.FromSlash(folder), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	ordering.Sort(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// maxDepth limits the nesting of folders, which a walk keeps open. A tree has about ten levels.
const maxDepth = 200

// found is one entry of a walk.
type found struct {
	fs.DirEntry
	dir   *os.Root // folder that contains it
	name  string   // relative to the root
	empty bool     // whether it is a folder without entries
	err   error    // why a folder cannot be walked
}

// walk calls visit for every entry below a folder, sorted by name and a folder before its content, until visit returns
// false. Links are not followed. limit is the maximum number of entries per folder.
func (f files) walk(folder string, limit int, visit func(found) bool) error {
	dir, err := f.dir.OpenRoot(filepath.FromSlash(folder))
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := readDir(dir, limit)
	if err != nil {
		return err
	}
	walkFolder(dir, folder, entries, limit, maxDepth, visit)
	return nil
}

func walkFolder(dir *os.Root, folder string, entries []fs.DirEntry, limit, depth int, visit func(found) bool) bool {
	for _, e := range entries {
		at := found{DirEntry: e, dir: dir, name: path.Join(folder, e.Name())}
		if !e.IsDir() {
			if !visit(at) {
				return false
			}
			continue
		}
		if !enterFolder(dir, at, limit, depth-1, visit) {
			return false
		}
	}
	return true
}

func enterFolder(dir *os.Root, at found, limit, depth int, visit func(found) bool) bool {
	if depth == 0 {
		at.err = fmt.Errorf("it lies more than %d folders deep", maxDepth)
		return visit(at)
	}
	var inside []fs.DirEntry
	below, err := dir.OpenRoot(at.Name())
	if err == nil {
		defer below.Close()
		inside, err = readDir(below, limit)
	}
	at.err, at.empty = err, err == nil && len(inside) == 0
	return visit(at) && walkFolder(below, at.name, inside, limit, depth, visit)
}

func readDir(dir *os.Root, limit int) ([]fs.DirEntry, error) {
	return files{dir: dir}.entries(".", limit)
}

// listing is the sorted content of a folder, with links followed.
type listing struct {
	folders, plain []string
	outside        []string // links that lead out of the tree
	err            error    // why the listing is missing or incomplete
}

func (f files) list(name string) listing {
	entries, err := f.entries(name, maxEntries+1)
	l := listing{err: err}
	if len(entries) > maxEntries {
		l.err = fmt.Errorf("it has more than %d entries", maxEntries)
		entries = entries[:maxEntries]
	}
	for _, e := range entries {
		folder := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			if f.links.Add(1) > maxLinks {
				l.err = fmt.Errorf("the tree has more than %d links", maxLinks)
				return l
			}
			info, err := f.stat(path.Join(name, e.Name()))
			switch {
			case errors.Is(err, errOutside):
				l.outside = append(l.outside, e.Name())
				continue
			case err != nil:
				continue // another rule reports broken links
			}
			folder = info.IsDir()
		}
		if folder {
			l.folders = append(l.folders, e.Name())
		} else {
			l.plain = append(l.plain, e.Name())
		}
	}
	return l
}
