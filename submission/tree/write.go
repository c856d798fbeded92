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
)

// partSuffix marks a tree that is not complete. A build that finds one goes on with it.
const partSuffix = ".partial"

// write makes the files aside and gives the whole its name.
func (b *builder) write(ctx context.Context) error {
	output := filepath.Clean(b.o.Output)
	old, err := b.taken(output)
	if err != nil {
		return err
	}
	part := output + partSuffix
	if err := os.MkdirAll(part, 0o755); err != nil {
		return environment(fmt.Errorf("the tree can not be made: %w", err))
	}
	unlock, err := lock(part)
	if err != nil {
		return err
	}
	defer unlock()
	if old {
		b.keepPower(output)
	}
	if err := b.fill(ctx, part); err != nil {
		return err
	}
	if err := b.prune(part); err != nil {
		return environment(fmt.Errorf("files of an earlier build can not be removed: %w", err))
	}
	if err := publish(part, output, old); err != nil {
		return environment(fmt.Errorf("the finished tree %s can not get its name %s: %w", part, output, err))
	}
	return nil
}

func environment(err error) error {
	return &run.Error{Exit: run.ExitEnvironment, Code: "output_dir", Err: err, Hint: "Look at the space and the rights of that disk; the same command goes on where this one ended"}
}

// taken says whether a tree is there that will be replaced.
func (b *builder) taken(output string) (bool, error) {
	entries, err := os.ReadDir(output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, environment(fmt.Errorf("the place of the tree can not be read: %w", err))
	case len(entries) > 0 && !b.o.Force:
		return false, &run.Error{Exit: run.ExitUsage, Code: "output_used", Err: fmt.Errorf("the folder %s is there already, and not empty", output), Hint: "Choose another --output, or give --force to replace the tree"}
	}
	for _, e := range entries { // something that is no tree is not ours to replace
		if !slices.Contains(layout.Divisions(), e.Name()) {
			return false, &run.Error{Exit: run.ExitUsage, Code: "output_used", Err: fmt.Errorf("the folder %s holds %s, which is no part of a submission tree", output, e.Name()), Hint: "Choose another --output"}
		}
	}
	return true, nil
}

// lock keeps a second build out of the same folder; the kernel frees it with the process.
func lock(folder string) (unlock func(), err error) {
	d, err := os.Open(folder)
	if err != nil {
		return nil, environment(err)
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = d.Close()
		return nil, &run.Error{Exit: run.ExitUsage, Code: "output_used", Err: fmt.Errorf("another build is writing %s", folder), Hint: "Wait for its end"}
	}
	return func() { _ = d.Close() }, nil
}

// keepPower takes over the power files of the tree that is replaced: they come from other tools.
func (b *builder) keepPower(output string) {
	planned := b.planned()
	keep := func(folder string) {
		before := len(b.entries)
		b.below(filepath.Join(output, filepath.FromSlash(folder)), folder)
		b.entries = append(b.entries[:before], slices.DeleteFunc(slices.Clone(b.entries[before:]), func(e entry) bool { return planned[e.to] })...)
	}
	for _, s := range b.scenarios {
		for _, power := range []string{layout.PowerName, layout.RangingName} {
			keep(path.Join(s.place.Folder(), layout.Performance, power))
		}
		name := b.submitter.SystemPower(s.system)
		if _, err := os.Stat(filepath.Join(output, name)); err == nil && !planned[name] {
			b.copy(filepath.Join(output, name), name)
		}
	}
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
func (b *builder) fill(ctx context.Context, part string) error {
	for _, e := range b.entries {
		if ctx.Err() != nil {
			return fmt.Errorf("building the tree %s: %w", part, context.Cause(ctx))
		}
		to := filepath.Join(part, filepath.FromSlash(e.to))
		want, err := e.hash()
		if err != nil {
			return environment(err)
		}
		if got, err := atomicfile.SHA256(to); err == nil && got == want {
			b.reused++
		} else if err := e.write(to, want); err != nil {
			return err
		}
		if info, err := os.Stat(to); err == nil {
			b.bytes += info.Size()
		}
	}
	return nil
}

func (e *entry) write(to, want string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return environment(err)
	}
	if e.from == "" {
		if err := atomicfile.WriteBytes(to, e.text); err != nil {
			return environment(err)
		}
		return nil
	}
	got, err := atomicfile.Copy(e.from, to)
	switch {
	case err != nil:
		return environment(err)
	case got != want:
		return environment(fmt.Errorf("%s changed while it was copied", e.from))
	}
	return nil
}

// prune removes what an earlier build left and this one does not want, and folders that are then empty.
func (b *builder) prune(part string) error {
	planned := b.planned()
	var dirs []string
	err := filepath.WalkDir(part, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			dirs = append(dirs, name)
			return nil
		}
		rel, err := filepath.Rel(part, name)
		if err != nil || planned[filepath.ToSlash(rel)] {
			return err
		}
		return os.Remove(name)
	})
	if err != nil {
		return err
	}
	slices.SortFunc(dirs, func(a, b string) int { return strings.Compare(b, a) })
	for _, d := range dirs {
		if d != part {
			_ = os.Remove(d) // fails where something is in it, as it should
		}
	}
	return nil
}

// publish gives the finished tree its name. Where one is there both change places at once, so that at no time there is none.
func publish(part, output string, old bool) error {
	if !old {
		return os.Rename(part, output)
	}
	err := unix.Renameat2(unix.AT_FDCWD, part, unix.AT_FDCWD, output, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) { // a file system that can not exchange
		aside := output + ".old"
		if err := os.Rename(output, aside); err != nil {
			return err
		}
		if err := os.Rename(part, output); err != nil {
			return err
		}
		return os.RemoveAll(aside)
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(part)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
