package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// content is the list of the files of a tree, with notes on what it leaves out.
type content struct {
	entries []entry
	notes   []string
}

// entry is one file of the tree: a copy of a file, or a text.
type entry struct {
	to   string   // path relative to the tree's root, with slashes
	in   *os.Root // root of from
	from string   // file to copy; "": write text
	text []byte
}

// copy adds a copy of a file below an opened folder.
func (c *content) copy(in *os.Root, from, to string) {
	c.entries = append(c.entries, entry{to: to, in: in, from: from})
}

// text adds a file with a text.
func (c *content) text(to string, text []byte) {
	c.entries = append(c.entries, entry{to: to, text: text})
}

// below adds copies of the regular files of a folder, if it exists. Links and the like are skipped with a note.
func (c *content) below(root *os.Root, folder, to string) {
	err := treefs.Walk(context.Background(), root, folder, func(e treefs.Entry) error {
		switch {
		case e.Type().IsRegular():
			rel := strings.TrimPrefix(e.Path, filepath.ToSlash(folder)+"/")
			c.copy(root, e.Path, path.Join(to, rel))
		case !e.IsDir():
			c.noteOnce("%s is skipped: it is not a regular file", e.Path)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.noteOnce("%s is skipped: %v", folder, err)
	}
}

// unique removes repeated entries of files that several scenarios share.
func (c *content) unique() {
	seen := map[string]bool{}
	c.entries = slices.DeleteFunc(c.entries, func(e entry) bool {
		twice := seen[e.to]
		seen[e.to] = true
		return twice
	})
}

// planned returns the paths of all files.
func (c *content) planned() map[string]bool {
	planned := map[string]bool{}
	for _, e := range c.entries {
		planned[e.to] = true
	}
	return planned
}

// noteOnce adds a note for the user, unless there is one like it.
func (c *content) noteOnce(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// open opens the entry's file.
func (e *entry) open() (*os.File, error) {
	return atomicfile.OpenIn(e.in, e.from)
}

// hash returns the SHA-256 of the entry's content.
func (e *entry) hash() (string, error) {
	if e.from == "" {
		return textHash(e.text), nil
	}
	f, err := e.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", e.from, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (e *entry) write(part *os.Root, want string) error {
	dir, err := atomicfile.MakeFolderIn(part, path.Dir(e.to))
	if err != nil {
		return environment(err)
	}
	defer dir.Close()
	if e.from == "" {
		if err := atomicfile.WriteBytesIn(dir, path.Base(e.to), e.text); err != nil {
			return environment(err)
		}
		return nil
	}
	f, err := e.open()
	if err != nil {
		return environment(err)
	}
	defer f.Close()
	got, err := atomicfile.CopyIn(dir, path.Base(e.to), f)
	switch {
	case err != nil:
		return environment(err)
	case got != want:
		return environment(fmt.Errorf("%s changed while it was copied", e.from))
	}
	return nil
}
