package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// partSuffix marks an incomplete tree. A later build continues it.
const partSuffix = ".partial"

// place is the location of the tree: its parent folder, and its names before and after it is complete.
type place struct {
	parent       *os.Root
	part, output string
}

// writer writes the files of a tree to its folder.
type writer struct {
	output string
	force  bool // replace an existing tree
	files  *content
	keep   func(old *os.Root) // adds the files of the tree to replace that stay; called before any is written
	reused int                // files kept from an interrupted build
	bytes  int64
}

// write writes the tree under its temporary name and then renames it. All files are written relative to opened folders,
// so that a link in place of a folder is an error.
func (w *writer) write(ctx context.Context) error {
	output := w.output
	replace, err := w.taken()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return environment(fmt.Errorf("cannot create the tree: %w", err))
	}
	parent, err := os.OpenRoot(filepath.Dir(output))
	if err != nil {
		return environment(fmt.Errorf("cannot create the tree: %w", err))
	}
	defer parent.Close()
	at := place{parent, filepath.Base(output) + partSuffix, filepath.Base(output)}
	part, err := atomicfile.MakeFolderIn(parent, at.part)
	if err != nil {
		return environment(fmt.Errorf("cannot create the tree: %w", err))
	}
	defer part.Close()
	unlock, err := lock(part)
	if err != nil {
		return err
	}
	defer unlock()
	if replace {
		old, err := os.OpenRoot(output)
		if err != nil {
			return environment(fmt.Errorf("cannot read the tree to replace: %w", err))
		}
		defer old.Close()
		w.keep(old)
	}
	if err := w.fill(ctx, part); err != nil {
		return err
	}
	if err := w.prune(ctx, part); err != nil {
		return environment(fmt.Errorf("cannot remove files of an earlier build: %w", err))
	}
	if err := at.publish(replace); err != nil {
		return environment(fmt.Errorf("cannot rename the finished tree %s to %s: %w", output+partSuffix, output, err))
	}
	return nil
}

func environment(err error) error {
	return exit.Environment(exit.CodeOutputDir, "Check space and permissions of the disk; then repeat the command, which "+
		"continues where this one stopped", "%w", err)
}

// taken reports whether the output folder contains a tree to replace. It is an error without force, or if the
// folder contains anything else.
func (w *writer) taken() (bool, error) {
	entries, err := os.ReadDir(w.output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, environment(fmt.Errorf("cannot read the folder of the tree: %w", err))
	case len(entries) > 0 && !w.force:
		return false, exit.Usage(exit.CodeOutputUsed, "Choose another --output, or pass --force to replace the tree",
			"the folder %s exists and is not empty", w.output)
	}
	for _, e := range entries { // never replace anything but a tree
		if !slices.Contains(layout.Divisions(), e.Name()) {
			return false, exit.Usage(exit.CodeOutputUsed, "Choose another --output",
				"the folder %s contains %s, which is not part of a submission tree", w.output, e.Name())
		}
	}
	return true, nil
}

// lock prevents a second build in the same folder. The kernel releases it when the process ends.
func lock(folder *os.Root) (unlock func(), err error) {
	d, err := folder.Open(".")
	if err != nil {
		return nil, environment(err)
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = d.Close()
		return nil, exit.Usage(exit.CodeOutputUsed, "Wait until it ends", "another build is writing %s", folder.Name())
	}
	return func() { _ = d.Close() }, nil
}

// fill writes every file that is missing or differs.
func (w *writer) fill(ctx context.Context, part *os.Root) error {
	for _, e := range w.files.entries {
		if ctx.Err() != nil {
			return fmt.Errorf("build the tree %s: %w", part.Name(), context.Cause(ctx))
		}
		want, err := e.hash()
		if err != nil {
			return environment(err)
		}
		if got, err := atomicfile.SHA256In(part, e.to); err == nil && got == want {
			w.reused++
		} else if err := e.write(part, want); err != nil {
			return err
		}
		if info, err := part.Lstat(e.to); err == nil {
			w.bytes += info.Size()
		}
	}
	return nil
}

// prune removes files of an earlier build that are not planned, and folders that are then empty.
func (w *writer) prune(ctx context.Context, part *os.Root) error {
	planned := w.files.planned()
	var dirs []string
	err := treefs.Walk(ctx, part, ".", func(e treefs.Entry) error {
		switch {
		case e.IsDir():
			dirs = append(dirs, e.Path)
		case !planned[e.Path]:
			return e.Dir.Remove(e.Name())
		}
		return nil
	})
	if err != nil {
		return err
	}
	ordering.Sort(dirs, func(a, b string) int { return strings.Compare(b, a) })
	for _, d := range dirs {
		_ = part.Remove(d) // fails if the folder is not empty, as intended
	}
	return nil
}

// publish renames the finished tree. It exchanges it with an old tree in one step, so that there always is one.
func (p place) publish(old bool) error {
	if !old {
		return p.parent.Rename(p.part, p.output)
	}
	d, err := p.parent.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = unix.Renameat2(int(d.Fd()), p.part, int(d.Fd()), p.output, unix.RENAME_EXCHANGE)
	if cannotExchange(err) {
		return p.replace()
	}
	if err != nil {
		return err
	}
	return p.parent.RemoveAll(p.part)
}

// cannotExchange reports whether the kernel or the file system does not support an exchange (renameat2(2)).
func cannotExchange(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}

// replace is publish in two steps. Between them there is no tree.
func (p place) replace() error {
	aside := p.output + ".old"
	if err := p.parent.Rename(p.output, aside); err != nil {
		return err
	}
	if err := p.parent.Rename(p.part, p.output); err != nil {
		return err
	}
	return p.parent.RemoveAll(aside)
}
