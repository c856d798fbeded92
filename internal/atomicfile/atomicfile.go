package atomicfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// tmpSuffix marks a file that is not complete yet.
const tmpSuffix = ".tmp"

// Write makes path hold what fill writes. On any error path is as it was before.
func Write(path string, fill func(io.Writer) error) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		discard(f)
		return explain(path, err)
	}
	return publish(f, path)
}

// WriteBytes makes path hold data.
func WriteBytes(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteJSON makes path hold v as indented JSON with a final newline.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s as JSON: %w", path, err)
	}
	return WriteBytes(path, append(data, '\n'))
}

// create makes the unfinished file. A rename onto a device or a pipe (/dev/stdout, /dev/full) would put a file in its place.
func create(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("writing %s: found %s, expected a regular file or none; give the name of a file", path, kind(info.Mode()))
	}
	f, err := os.OpenFile(path+tmpSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, explain(path, err)
	}
	return f, nil
}

func kind(m os.FileMode) string {
	if m.IsDir() {
		return "a folder"
	}
	return "a pipe, a socket or a device"
}

// publish syncs and closes f and gives it its final name.
func publish(f *os.File, path string) error {
	if err := f.Sync(); err != nil {
		discard(f)
		return explain(path, err)
	}
	if err := f.Close(); err != nil {
		return errors.Join(explain(path, err), os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return errors.Join(explain(path, err), os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(path))
}

// discard drops an incomplete file. Its own errors add nothing to the one that led here.
func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// syncDir makes a rename survive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return explain(dir, err)
	}
	defer d.Close()
	// Some file systems can not sync a folder; the rename is as durable there as it can be.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return explain(dir, err)
	}
	return nil
}

// explain names the file. What to try against a full or read-only disk is for the caller to say: it knows what chose the path.
func explain(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("writing %s: %w; make the folder first", path, err)
	}
	return fmt.Errorf("writing %s: %w", path, err)
}
