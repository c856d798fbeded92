package pack

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// file is one file of the tree.
type file struct {
	path   string // below the root, with slashes
	size   int64
	sha256 string
}

// maxFiles bounds the tree, and maxFileSize one file: the organisers' bound (spec/submission.md §3.1 O5).
const (
	maxFiles    = 1_000_000
	maxFileSize = 50 << 20
)

// list gives the submitter's files in the order of their names, and the documents beside the divisions.
func list(ctx context.Context, root, submitter string) ([]file, error) {
	l := &lister{root: root}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", root, err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case slices.Contains(layout.Divisions(), name):
			l.walk(ctx, name+"/"+submitter)
		case filepath.Ext(name) == ".md" || filepath.Ext(name) == ".pdf":
			l.take(name, e)
		default:
			l.refuse(name, "stray", "it is no division: only .md and .pdf files lie beside those")
		}
	}
	switch {
	case l.err != nil:
		return nil, fmt.Errorf("packing %s: %w", root, l.err)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("packing %s: %w", root, context.Cause(ctx))
	case len(l.problems) > 0:
		return nil, &Refusal{l.problems}
	}
	slices.SortFunc(l.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return l.files, nil
}

type lister struct {
	root     string
	files    []file
	problems []Problem
	err      error
}

func (l *lister) refuse(path, code, format string, args ...any) {
	l.problems = append(l.problems, Problem{path, code, fmt.Sprintf(format, args...)})
}

func (l *lister) walk(ctx context.Context, folder string) {
	base := filepath.Join(l.root, filepath.FromSlash(folder))
	if _, err := os.Stat(base); os.IsNotExist(err) {
		return
	}
	err := filepath.WalkDir(base, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(l.root, name)
		if err != nil {
			return err
		}
		if len(l.files) > maxFiles {
			return fmt.Errorf("it has more than %d files", maxFiles)
		}
		return l.take(filepath.ToSlash(rel), e)
	})
	if l.err == nil {
		l.err = err
	}
}

// take looks at one entry: a plain file is hashed and searched for secrets.
func (l *lister) take(path string, e fs.DirEntry) error {
	switch {
	case strings.HasPrefix(e.Name(), "."):
		l.refuse(path, "hidden", "its name begins with a dot")
		if e.IsDir() {
			return fs.SkipDir
		}
		return nil
	case strings.ContainsAny(path, " \t\r\n\\"):
		l.refuse(path, "name", "its name has a blank or a backslash in it")
	}
	switch {
	case e.IsDir():
		return nil
	case !e.Type().IsRegular():
		l.refuse(path, "not_plain", "it is no plain file but %s: put the file itself there", e.Type())
		return nil
	}
	at := filepath.Join(l.root, filepath.FromSlash(path))
	info, err := e.Info()
	if err != nil {
		return err
	}
	if info.Size() > maxFileSize {
		l.refuse(path, "too_large", "it has %d bytes, and the organisers take at most %d", info.Size(), maxFileSize)
		return nil
	}
	found, err := secretsIn(at)
	if err != nil {
		return err
	}
	for _, s := range found {
		l.refuse(path, "secret", "line %d looks like %s; take it out, and consider it known", s.line, s.kind)
	}
	sum, err := atomicfile.SHA256(at)
	if err != nil {
		return err
	}
	l.files = append(l.files, file{path, info.Size(), sum})
	return nil
}
