package parcel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// Schema is the value of a manifest's schema key.
const Schema = "mlperf-go/parcel/1"

// Manifest lists the files of a folder, sorted by path.
type Manifest struct {
	Schema string `json:"schema"`
	Files  []File `json:"files"`
}

// File is one file of a folder.
type File struct {
	Path   string `json:"path"` // path relative to the folder, with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // SHA-256 of the content in hexadecimal
}

// Bytes returns the total size of the files in bytes.
func (m *Manifest) Bytes() int64 {
	var sum int64
	for _, f := range m.Files {
		sum += f.Size
	}
	return sum
}

// Make returns the manifest of all regular files below root. It omits links and special files, so that a parcel
// contains nothing from outside the folder, and hidden files of unfinished writes.
func Make(root *os.Root) (*Manifest, error) {
	m := &Manifest{Schema: Schema}
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || isHidden(name) {
			return ignoreVanished(err)
		}
		f, err := describe(root, name)
		if err != nil {
			return ignoreVanished(err)
		}
		m.Files = append(m.Files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the files below %s: %w", root.Name(), err)
	}
	return m, nil
}

func isHidden(name string) bool { return path.Base(name)[0] == '.' }

// ignoreVanished returns nil for a file that was removed or renamed between the listing and the reading.
func ignoreVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func describe(root *os.Root, name string) (File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return File{}, err
	}
	sum, err := atomicfile.SHA256In(root, name)
	return File{Path: name, Size: info.Size(), SHA256: sum}, err
}

// check returns the reason why a manifest from a stream cannot be accepted, or nil.
func (m *Manifest) check(limits Limits) error {
	if m.Schema != Schema {
		return fmt.Errorf("its schema is %q, expected %q", m.Schema, Schema)
	}
	if len(m.Files) > limits.Files {
		return fmt.Errorf("it lists %d files, more than %d", len(m.Files), limits.Files)
	}
	var sum int64
	known := map[string]bool{}
	for _, f := range m.Files {
		switch {
		case !fs.ValidPath(f.Path) || f.Path == "." || isHidden(f.Path):
			return fmt.Errorf("the path %q is not one of a result", f.Path)
		case known[f.Path]:
			return fmt.Errorf("it lists %q twice", f.Path)
		case f.Size < 0 || f.Size > limits.Bytes-sum:
			return fmt.Errorf("its files have more than %d bytes", limits.Bytes)
		}
		known[f.Path] = true
		sum += f.Size
	}
	return nil
}
