package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	tmpSuffix   = ".tmp" // suffix of a file that is not complete yet
	longestName = 255    // maximum length of a file's name in bytes on every common file system
)

// unfinished is a file that is still being written. It is in the folder of its final name, under a random name that
// cannot have been planted, and every operation on it is relative to the opened folder.
type unfinished struct {
	*os.File
	dir  *os.Root // folder of the file, closed with it
	temp string   // file's name in dir until publish
	name string   // file's name in dir from publish on
	path string   // path of the file for messages
}

// system holds the calls that make a file durable. Tests record them and make them fail.
var system = struct {
	create func(dir *os.Root, name string, mode fs.FileMode) (*os.File, error)
	sync   func(*os.File) error
	rename func(dir *os.Root, from, to string) error
}{
	create: func(dir *os.Root, name string, mode fs.FileMode) (*os.File, error) {
		return dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	},
	sync:   (*os.File).Sync,
	rename: (*os.Root).Rename,
}

// begin makes the unfinished file of name in dir. It takes over dir, which finish, publish and discard close.
func (a Access) begin(dir *os.Root, name, path string) (*unfinished, error) {
	removeLeftovers(dir, name)
	temp := tempPrefix(name) + rand.Text() + tmpSuffix
	f, err := system.create(dir, temp, a.File())
	if err != nil {
		_ = dir.Close() // only read, so an error of Close does not matter
		return nil, explain(path, err)
	}
	return &unfinished{File: f, dir: dir, temp: temp, name: name, path: path}, nil
}

// tempPrefix returns the prefix of temporary names. It contains the final name, so that a file left by a crash shows
// its origin.
func tempPrefix(name string) string {
	return name[:min(len(name), longestName-1-len(rand.Text())-len(tmpSuffix))] + "."
}

// removeLeftovers removes the unfinished files that crashed writers of the same name left. A path has one writer at a
// time.
func removeLeftovers(dir *os.Root, name string) {
	d, err := dir.Open(".")
	if err != nil {
		return // create reports the fault of the folder
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // a remaining leftover costs only space
	for _, n := range names {
		if isUnfinished(n, name) {
			_ = dir.Remove(n)
		}
	}
}

// RemoveUnfinished removes the unfinished files that crashed writers of a path left.
func RemoveUnfinished(path string) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return // without the folder there are no files
	}
	defer dir.Close()
	removeLeftovers(dir, filepath.Base(path))
}

// isUnfinished reports whether temp is the name of an unfinished file of name.
func isUnfinished(temp, name string) bool {
	rest, ours := strings.CutPrefix(temp, tempPrefix(name))
	random, unfinished := strings.CutSuffix(rest, tmpSuffix)
	return ours && unfinished && isRandom(random)
}

// isRandom reports whether s has the form of rand.Text.
func isRandom(s string) bool {
	return len(s) == len(rand.Text()) && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// finish fills the file and publishes it, or discards it.
func (u *unfinished) finish(fill func(io.Writer) error) error {
	if err := fill(u.File); err != nil {
		u.discard()
		return explain(u.path, err)
	}
	return u.publish()
}

// publish syncs the file, renames it to its final name and syncs the folder. After an error no unfinished file is left.
func (u *unfinished) publish() error {
	if err := system.sync(u.File); err != nil {
		u.discard()
		return explain(u.path, err)
	}
	if err := u.Close(); err != nil {
		u.discard()
		return explain(u.path, err)
	}
	if err := system.rename(u.dir, u.temp, u.name); err != nil {
		u.discard()
		return explain(u.path, err)
	}
	defer u.dir.Close()
	if err := syncFolder(u.dir); err != nil {
		return explain(u.path, err)
	}
	return nil
}

// discard removes the file. It ignores errors, because the caller already reports one.
func (u *unfinished) discard() {
	_ = u.Close()
	_ = u.dir.Remove(u.temp)
	_ = u.dir.Close()
}

// syncFolder makes a rename survive a power failure.
func syncFolder(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	// Some file systems cannot sync a folder; there the rename cannot be made more durable.
	if err := system.sync(d); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
