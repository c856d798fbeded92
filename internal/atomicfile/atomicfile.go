package atomicfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Access holds the mode bits that let users other than the owner read a new file. Its zero value is Private.
type Access fs.FileMode

// Private lets only the owner read a file. Shared lets all users read it, unless the umask forbids that.
const (
	Private Access = 0
	Shared  Access = 0o044
)

// File returns the mode of a file.
func (a Access) File() fs.FileMode { return 0o600 | fs.FileMode(a) }

// Folder returns the mode of a folder with the same readers.
func (a Access) Folder() fs.FileMode { return 0o700 | fs.FileMode(a) | fs.FileMode(a)>>2 }

// Append opens path for appending and creates it if needed. It does not follow a link at path, and it accepts only a
// regular file that belongs to this user and has no second name, so that it never writes to a planted file.
func (a Access) Append(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, a.File())
	if err != nil {
		return nil, explain(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.Mode().IsRegular() || int(stat.Uid) != os.Geteuid() || stat.Nlink != 1 {
			err = errors.New("not a regular file of this user; remove it, or choose another folder")
		}
	}
	if err == nil && info.Mode().Perm()&^a.File() != 0 { // created with wider permissions
		err = f.Chmod(a.File())
	}
	if err != nil {
		_ = f.Close() // nothing was written, so an error of Close does not matter
		return nil, explain(path, err)
	}
	return f, nil
}

// Create makes path an empty file that grows in place. It removes an existing file or link at path, and follows no
// link.
func (a Access) Create(path string) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, explain(path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, a.File())
	if err != nil {
		return nil, explain(path, err)
	}
	return f, nil
}

// Write replaces path with the bytes that fill writes. All users may read the file. After an error path is unchanged.
func Write(path string, fill func(io.Writer) error) error { return Shared.Write(path, fill) }

// WriteBytes replaces path with data. All users may read the file.
func WriteBytes(path string, data []byte) error { return Shared.WriteBytes(path, data) }

// WriteJSON replaces path with v as indented JSON and a final newline. All users may read the file.
func WriteJSON(path string, v any) error { return Shared.WriteJSON(path, v) }

// Write replaces path with the bytes that fill writes. After an error path is unchanged. A link at path is replaced,
// not followed.
func (a Access) Write(path string, fill func(io.Writer) error) error {
	f, err := a.create(path)
	if err != nil {
		return err
	}
	return f.finish(fill)
}

// WriteBytes replaces path with data.
func (a Access) WriteBytes(path string, data []byte) error { return a.Write(path, bytesFill(data)) }

// WriteJSON replaces path with v as indented JSON and a final newline.
func (a Access) WriteJSON(path string, v any) error {
	data, err := encodeJSON(path, v)
	if err != nil {
		return err
	}
	return a.WriteBytes(path, data)
}

func bytesFill(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func encodeJSON(path string, v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding %s as JSON: %w", path, err)
	}
	return append(data, '\n'), nil
}

// writable is the mode of access(2) for making files in a folder: W_OK and X_OK.
const writable = 2 | 1

// Replaceable returns an error if Write cannot write a path: its folder is missing or does not allow new files, or it
// is not a regular file.
func Replaceable(path string) error {
	folder := filepath.Dir(filepath.Clean(path))
	if err := syscall.Access(folder, writable); err != nil {
		return explain(path, err)
	}
	return replaceable(path)
}

// create begins the unfinished file for a path that the user chose. The folders in the path may be links.
func (a Access) create(path string) (*unfinished, error) {
	if err := replaceable(path); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(filepath.Dir(filepath.Clean(path)))
	if err != nil {
		return nil, explain(path, err)
	}
	return a.begin(dir, filepath.Base(path), path)
}

// replaceable rejects a path that a rename must not replace: a folder, a device, a pipe, and links to open files such
// as /dev/stdout.
func replaceable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	found := ""
	if link, err := os.Readlink(path); err == nil && strings.HasPrefix(link, "/proc/") {
		found = "a link to an open file"
	}
	if !info.Mode().IsRegular() {
		found = kind(info.Mode())
	}
	if found == "" {
		return nil
	}
	return fmt.Errorf("writing %s: it is %s, expected a regular file or a new name; choose another path", path, found)
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a pipe, a socket or a device"
}

// explain adds the path to an error. It contains no advice about a full or read-only disk, because only the caller can
// name the flag that chose the path.
func explain(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("writing %s: %w; make the folder first", path, err)
	}
	return fmt.Errorf("writing %s: %w", path, err)
}
