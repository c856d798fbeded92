package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The functions of this file work below an opened folder whose contents may belong to someone else and may change at
// any time. Names use slashes. A symbolic link at any component is an error, even if it points inside the folder:
// otherwise one entry could pass for another.

// errLink is the cause of every rejected link.
var errLink = errors.New("a symbolic link, which is not followed here; put the file or folder itself there")

// IsLink reports whether err rejects a symbolic link.
func IsLink(err error) bool { return errors.Is(err, errLink) }

// FolderIn opens the folder name below root. The name "." is root itself.
func FolderIn(root *os.Root, name string) (*os.Root, error) {
	return walk(root, name, func(dir *os.Root, part string) error { return nil })
}

// MakeFolderIn opens the folder name below root and makes missing folders with the mode of Shared.
func MakeFolderIn(root *os.Root, name string) (*os.Root, error) {
	return Shared.MakeFolderIn(root, name)
}

// MakeFolderIn opens the folder name below root and makes missing folders.
func (a Access) MakeFolderIn(root *os.Root, name string) (*os.Root, error) {
	return walk(root, name, func(dir *os.Root, part string) error {
		if err := dir.Mkdir(part, a.Folder()); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// walk opens a folder one component at a time, and calls before for each component first.
func walk(root *os.Root, name string, before func(dir *os.Root, part string) error) (*os.Root, error) {
	dir, err := root.OpenRoot(".")
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", root.Name(), err)
	}
	for _, part := range parts(name) {
		err := before(dir, part)
		var next *os.Root
		if err == nil {
			next, err = step(dir, part)
		}
		_ = dir.Close() // only read, so an error of Close does not matter
		if err != nil {
			return nil, fmt.Errorf("opening the folder %s: %w", filepath.Join(root.Name(), name), err)
		}
		dir = next
	}
	return dir, nil
}

func parts(name string) []string {
	name = filepath.ToSlash(filepath.Clean(name))
	if name == "." {
		return nil
	}
	return strings.Split(name, "/")
}

// step opens the folder part of dir and compares it with the result of Lstat. It thereby detects a link planted in
// between, which leads to another folder.
func step(dir *os.Root, part string) (*os.Root, error) {
	seen, err := dir.Lstat(part)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("%s is %w", part, errLink)
	case !seen.IsDir():
		return nil, fmt.Errorf("%s: %w", part, syscall.ENOTDIR)
	}
	next, err := dir.OpenRoot(part)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = fmt.Errorf("%s was replaced while it was opened", part)
	}
	if err != nil {
		_ = next.Close()
		return nil, err
	}
	return next, nil
}

// split opens the folder of name and returns the last component.
func split(root *os.Root, name string) (*os.Root, string, error) {
	dir, base := filepath.Split(filepath.Clean(name))
	if base == "." || base == ".." {
		return nil, "", fmt.Errorf("%s: it is a folder, expected the name of a file", filepath.Join(root.Name(), name))
	}
	folder, err := FolderIn(root, dir)
	return folder, base, err
}

// OpenIn opens the regular file name below root for reading. It never waits for the other end of a pipe.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	dir, base, err := split(root, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	path := filepath.Join(root.Name(), name)
	seen, err := regularIn(dir, base)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	f, err := dir.OpenFile(base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(seen, opened) {
		err = errors.New("it was replaced while it was opened")
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return f, nil
}

// OpenBelow opens the regular file name below a folder for reading. The user chose the folder's path, which may contain
// links; name may not. Errors are of type *fs.PathError.
func OpenBelow(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Clean(folder))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := OpenIn(root, name)
	var system *fs.PathError
	if err != nil && !errors.As(err, &system) {
		err = &fs.PathError{Op: "open", Path: filepath.Join(folder, name), Err: err}
	}
	return f, err
}

// ReadBelow returns the content of the regular file name below a folder, as OpenBelow opens it. A file of more than
// most bytes is an error.
func ReadBelow(folder, name string, most int64) ([]byte, error) {
	f, err := OpenBelow(folder, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", filepath.Join(folder, name), most)
	}
	return data, err
}

func regularIn(dir *os.Root, base string) (fs.FileInfo, error) {
	info, err := dir.Lstat(base)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("found %w", errLink)
	case info.IsDir():
		return nil, fmt.Errorf("found a folder, expected a regular file: %w", syscall.EISDIR)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("found %s, expected a regular file", kind(info.Mode()))
	}
	return info, nil
}

// SHA256In returns the hash of the regular file name below root in 64 lower-case hexadecimal digits.
func SHA256In(root *os.Root, name string) (string, error) {
	f, err := OpenIn(root, name)
	if err != nil {
		return "", err
	}
	return sumOf(f)
}

// WriteIn replaces name below root with the bytes that fill writes. All users may read the file. Its folder must exist.
func WriteIn(root *os.Root, name string, fill func(io.Writer) error) error {
	return Shared.WriteIn(root, name, fill)
}

// WriteBytesIn replaces name below root with data. All users may read the file. Its folder must exist.
func WriteBytesIn(root *os.Root, name string, data []byte) error {
	return Shared.WriteIn(root, name, bytesFill(data))
}

// WriteIn replaces name below root with the bytes that fill writes. After an error name is unchanged.
func (a Access) WriteIn(root *os.Root, name string, fill func(io.Writer) error) error {
	dir, base, err := split(root, name)
	if err != nil {
		return err
	}
	path := filepath.Join(root.Name(), name)
	if _, err := regularIn(dir, base); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = dir.Close()
		return fmt.Errorf("writing %s: %w", path, err)
	}
	f, err := a.begin(dir, base, path)
	if err != nil {
		return err
	}
	return f.finish(fill)
}

// CopyIn replaces name below root with the bytes of from and returns their SHA-256. All users may read the file.
func CopyIn(root *os.Root, name string, from io.Reader) (string, error) {
	sum, fill := copyFill(from)
	if err := WriteIn(root, name, fill); err != nil {
		return "", err
	}
	return sum(), nil
}
