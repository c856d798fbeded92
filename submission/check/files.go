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
	"syscall"
)

// files opens what lies below a root by slash-separated names.
type files struct{ root string }

// The bounds of what is read.
const (
	maxDocument = 4 << 20 // bytes of a JSON or YAML document
	maxEntries  = 100_000 // entries of one folder
	maxLog      = 2 << 30 // bytes of one LoadGen log
	maxText     = 64 << 20
)

func (f files) at(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

var errNotPlain = errors.New("it is no plain file")

// open refuses what is no plain file: a pipe would never answer, a device never end.
func (f files) open(name string) (*os.File, error) {
	info, err := os.Stat(f.at(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotPlain
	}
	file, err := os.OpenFile(f.at(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
	info, err := os.Stat(f.at(name))
	if err != nil {
		return 0, false
	}
	return info.Size(), true
}

// plainSize is size where only a plain file counts.
func (f files) plainSize(name string) (bytes int64, there bool) {
	info, err := os.Stat(f.at(name))
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// listing is what a folder holds, sorted, links followed.
type listing struct {
	folders, plain []string
	err            error // the folder can not be read, or has too many entries
}

func (f files) list(name string) listing {
	var l listing
	d, err := os.Open(f.at(name))
	if err != nil {
		return listing{err: err}
	}
	defer d.Close()
	if info, err := d.Stat(); err != nil || !info.IsDir() {
		return listing{err: fmt.Errorf("%s is no folder", name)}
	}
	entries, err := d.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		l.err = err
	}
	if len(entries) > maxEntries {
		l.err = fmt.Errorf("it has more than %d entries", maxEntries)
		entries = entries[:maxEntries]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		folder := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(f.at(path.Join(name, e.Name())))
			if err != nil {
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
