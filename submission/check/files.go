package check

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

// files opens what lies below a root by slash-separated names, relative to the opened folder: a link is followed inside
// the root and never out of it, whatever changes meanwhile.
type files struct {
	root  string // for messages
	dir   *os.Root
	links *atomic.Int64 // that lists have followed
}

// The bounds of what is read.
const (
	maxDocument = 4 << 20 // bytes of a JSON or YAML document
	maxEntries  = 100_000 // entries of one folder
	maxLinks    = 20_000  // links to folders and files that lists follow
	maxLog      = 2 << 30 // bytes of one LoadGen log
	maxText     = 64 << 20
)

// openFiles opens a root whose names can be read. Close it with close.
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

func (f files) close() { _ = f.dir.Close() } // it was only read

// outside reports whether err says that a name leads out of the root. It is the one error of a Root that the system did
// not make.
func outside(err error) bool {
	var system syscall.Errno
	return err != nil && !errors.As(err, &system)
}

var (
	errNotPlain = errors.New("it is no plain file")
	errOutside  = errors.New("a link leads out of the tree")
)

func (f files) stat(name string) (fs.FileInfo, error) {
	info, err := f.dir.Stat(filepath.FromSlash(name))
	if outside(err) {
		err = errOutside
	}
	return info, err
}

// open refuses what is no plain file: a pipe would never answer, a device never end.
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

// read gives a whole file of at most limit bytes.
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

// size gives the size of what has that name, links followed.
func (f files) size(name string) (bytes int64, there bool) {
	info, err := f.stat(name)
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// plainSize is size where only a plain file counts.
func (f files) plainSize(name string) (bytes int64, there bool) {
	info, err := f.stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// entries returns at most limit entries of a folder, sorted by name; limit is more than 0.
func (f files) entries(folder string, limit int) ([]fs.DirEntry, error) {
	// With O_NONBLOCK a pipe in the folder's place does not wait for its other end.
	d, err := f.dir.OpenFile(filepath.FromSlash(folder), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// maxDepth bounds the folders that a walk holds open, one below the other. A tree has about ten.
const maxDepth = 200

// found is one entry of a walk.
type found struct {
	fs.DirEntry
	dir   *os.Root // that holds it
	name  string   // below the root
	empty bool     // a folder without entries
	err   error    // why a folder is not walked
}

// walk calls visit for every entry below a folder, sorted by name, a folder ahead of its content, until visit returns
// false. Links are entries and not followed. limit bounds the entries of each folder.
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

// listing is what a folder holds, sorted, links followed.
type listing struct {
	folders, plain []string
	outside        []string // links that lead out of the tree
	err            error    // the folder can not be read, or has too many entries
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
				continue // the rule about broken links names it
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
