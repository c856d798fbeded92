package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// partSuffix marks a tree that is not complete. A build that finds one goes on with it.
const partSuffix = ".partial"

// place is where the tree gets its name: the folder that holds it, and the names of the tree before and after it is
// complete.
type place struct {
	parent       *os.Root
	part, output string
}

// write makes the files aside and gives the whole its name. Everything is written relative to the opened folders: a
// link in the place of one is an error.
func (b *builder) write(ctx context.Context) error {
	output := filepath.Clean(b.o.Output)
	old, err := b.taken(output)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return environment(fmt.Errorf("the tree cannot be made: %w", err))
	}
	parent, err := os.OpenRoot(filepath.Dir(output))
	if err != nil {
		return environment(fmt.Errorf("the tree cannot be made: %w", err))
	}
	defer parent.Close()
	at := place{parent, filepath.Base(output) + partSuffix, filepath.Base(output)}
	part, err := atomicfile.MakeFolderIn(parent, at.part)
	if err != nil {
		return environment(fmt.Errorf("the tree cannot be made: %w", err))
	}
	defer part.Close()
	unlock, err := lock(part)
	if err != nil {
		return err
	}
	defer unlock()
	if old {
		if b.old, err = os.OpenRoot(output); err != nil {
			return environment(fmt.Errorf("the tree that is replaced cannot be read: %w", err))
		}
		b.keepPower()
	}
	if err := b.fill(ctx, part); err != nil {
		return err
	}
	if err := b.prune(ctx, part); err != nil {
		return environment(fmt.Errorf("files of an earlier build cannot be removed: %w", err))
	}
	if err := at.publish(old); err != nil {
		return environment(fmt.Errorf("the finished tree %s cannot get its name %s: %w", output+partSuffix, output, err))
	}
	return nil
}

func environment(err error) error {
	return run.EnvironmentError("output_dir", "Look at the space and the rights of that disk; the same command goes on "+
		"where this one ended", "%w", err)
}

// taken says whether a tree is there that will be replaced.
func (b *builder) taken(output string) (bool, error) {
	entries, err := os.ReadDir(output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, environment(fmt.Errorf("the place of the tree cannot be read: %w", err))
	case len(entries) > 0 && !b.o.Force:
		return false, run.UsageError("output_used", "Choose another --output, or give --force to replace the tree",
			"the folder %s is there already, and not empty", output)
	}
	for _, e := range entries { // something that is no tree is not ours to replace
		if !slices.Contains(layout.Divisions(), e.Name()) {
			return false, run.UsageError("output_used", "Choose another --output",
				"the folder %s holds %s, which is no part of a submission tree", output, e.Name())
		}
	}
	return true, nil
}

// lock keeps a second build out of the same folder; the kernel frees it with the process.
func lock(folder *os.Root) (unlock func(), err error) {
	d, err := folder.Open(".")
	if err != nil {
		return nil, environment(err)
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = d.Close()
		return nil, run.UsageError("output_used", "Wait for its end", "another build is writing %s", folder.Name())
	}
	return func() { _ = d.Close() }, nil
}

// keepPower takes over the power files of the tree that is replaced: they come from other tools.
func (b *builder) keepPower() {
	planned := b.planned()
	before := len(b.entries)
	for _, s := range b.scenarios {
		for _, power := range []string{layout.PowerName, layout.RangingName} {
			folder := path.Join(s.place.Folder(), layout.Performance, power)
			b.below(b.old, folder, folder)
		}
		name := b.submitter.SystemPower(s.system)
		if f, err := atomicfile.OpenIn(b.old, name); err == nil {
			_ = f.Close() // it was not read
			b.entries = append(b.entries, entry{to: name, in: b.old, from: name})
		}
	}
	kept := slices.DeleteFunc(slices.Clone(b.entries[before:]), func(e entry) bool { return planned[e.to] })
	b.entries = append(b.entries[:before], kept...)
	b.unique()
}

func (b *builder) planned() map[string]bool {
	planned := map[string]bool{}
	for _, e := range b.entries {
		planned[e.to] = true
	}
	return planned
}

// fill writes every file that is not there yet as it should be.
func (b *builder) fill(ctx context.Context, part *os.Root) error {
	for _, e := range b.entries {
		if ctx.Err() != nil {
			return fmt.Errorf("building the tree %s: %w", part.Name(), context.Cause(ctx))
		}
		want, err := e.hash()
		if err != nil {
			return environment(err)
		}
		if got, err := atomicfile.SHA256In(part, e.to); err == nil && got == want {
			b.reused++
		} else if err := e.write(part, want); err != nil {
			return err
		}
		if info, err := part.Lstat(e.to); err == nil {
			b.bytes += info.Size()
		}
	}
	return nil
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

// prune removes what an earlier build left and this one does not want, and folders that are then empty.
func (b *builder) prune(ctx context.Context, part *os.Root) error {
	planned := b.planned()
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
	slices.SortFunc(dirs, func(a, b string) int { return strings.Compare(b, a) })
	for _, d := range dirs {
		_ = part.Remove(d) // fails where something is in it, as it should
	}
	return nil
}

// publish gives the finished tree its name. Where one is there both change places at once, so that at no time there is
// none.
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
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // a file system that cannot exchange
		aside := p.output + ".old"
		if err := p.parent.Rename(p.output, aside); err != nil {
			return err
		}
		if err := p.parent.Rename(p.part, p.output); err != nil {
			return err
		}
		return p.parent.RemoveAll(aside)
	}
	if err != nil {
		return err
	}
	return p.parent.RemoveAll(p.part)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
