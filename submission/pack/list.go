package pack

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
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// file is one file of the tree.
type file struct {
	path   string // relative to the root, with slashes
	size   int64
	sha256 string
}

const (
	maxFiles    = 1_000_000
	maxFileSize = 50 << 20 // the organisers' limit (docs/reference/submission-rules.md#files-and-names)
)

// list returns the submitter's files and the documents beside the divisions, sorted by name.
func list(ctx context.Context, tree *os.Root, submitter string) ([]file, error) {
	l := &lister{tree: tree}
	entries, err := treefs.Entries(tree, ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		at := treefs.Entry{DirEntry: e, Path: e.Name(), Dir: tree}
		division := slices.Contains(layout.Divisions(), e.Name())
		switch {
		case division && e.IsDir():
			err = l.walk(ctx, path.Join(e.Name(), submitter))
		case division, path.Ext(e.Name()) == ".md", path.Ext(e.Name()) == ".pdf":
			err = l.document(at)
		default:
			l.refuse(e.Name(), "stray", "it is not a division; only .md and .pdf files may be beside those")
		}
		if err != nil {
			return nil, err
		}
	}
	if len(l.problems) > 0 {
		return nil, &Refusal{l.problems}
	}
	ordering.Sort(l.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return l.files, nil
}

type lister struct {
	tree     *os.Root
	files    []file
	problems []Problem
}

func (l *lister) refuse(path, code, format string, args ...any) {
	l.problems = append(l.problems, Problem{path, code, fmt.Sprintf(format, args...)})
}

// walk adds the submitter's folder in a division, if it exists.
func (l *lister) walk(ctx context.Context, folder string) error {
	err := treefs.Walk(ctx, l.tree, folder, func(e treefs.Entry) error {
		if len(l.files) > maxFiles {
			return fmt.Errorf("the tree has more than %d files", maxFiles)
		}
		return l.take(e)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case atomicfile.IsLink(err):
		l.refuse(folder, notPlain, "%v", err)
		return nil
	}
	return err
}

// document adds a file beside the divisions. It refuses a file with the name of a division.
func (l *lister) document(e treefs.Entry) error {
	if e.Type().IsRegular() && slices.Contains(layout.Divisions(), e.Name()) {
		l.refuse(e.Path, notPlain, "it is a file, but a division must be a folder")
		return nil
	}
	return l.take(e)
}

const notPlain = "not_plain"

// take adds an entry. It hashes a regular file and searches it for secrets.
func (l *lister) take(e treefs.Entry) error {
	switch {
	case strings.HasPrefix(e.Name(), "."):
		l.refuse(e.Path, "hidden", "its name begins with a dot")
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	case strings.ContainsAny(e.Path, " \t\r\n\\"):
		l.refuse(e.Path, "name", "its name contains a blank or a backslash")
	}
	switch {
	case e.IsDir():
		return nil
	case !e.Type().IsRegular():
		l.refuse(e.Path, notPlain, "it is not a regular file (%s): replace it by the file itself", e.Type())
		return nil
	}
	if slices.Contains(layout.ProbeFiles(), e.Name()) {
		l.refuse(e.Path, "probe", "it belongs to a tune, a sweep or an experiment, which are no results; remove its folder")
		return nil
	}
	f, err := atomicfile.OpenIn(e.Dir, e.Name())
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxFileSize {
		l.refuse(e.Path, "too_large", "it has %d bytes, but the organisers accept at most %d", info.Size(), maxFileSize)
		return nil
	}
	h := sha256.New()
	found, err := search(io.TeeReader(f, h))
	if err == nil {
		_, err = io.Copy(h, f) // search may stop early
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", e.Path, err)
	}
	for _, s := range found {
		l.refuse(e.Path, "secret", "line %d looks like %s; remove it, and revoke it if others have seen the file", s.line,
			s.kind)
	}
	l.files = append(l.files, file{e.Path, info.Size(), hex.EncodeToString(h.Sum(nil))})
	return nil
}
