package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// lostFolder is an output folder that was moved or removed.
type lostFolder struct {
	was string // its path
	now string // its new path; "" if it was removed
}

func (l *lostFolder) words() string {
	if l.now == "" {
		return fmt.Sprintf("the output folder %s was deleted while the test ran", l.was)
	}
	return fmt.Sprintf("the output folder %s was renamed to %s while the test ran", l.was, l.now)
}

// folderLost compares the locked folder with the folder that now has its path. It returns nil if they are the same.
func (o *output) folderLost() *lostFolder {
	if o.lock == nil {
		return nil
	}
	held, err := o.lock.dir.Stat()
	if err != nil {
		return nil
	}
	if named, err := os.Stat(o.folder); err == nil && os.SameFile(held, named) {
		return nil
	}
	l := &lostFolder{was: o.folder}
	if path, err := os.Readlink(o.heldPath()); err == nil {
		if named, err := os.Stat(path); err == nil && os.SameFile(held, named) {
			l.now = path
		}
	}
	return l
}

// heldPath returns a path to the locked folder, whatever its name is now.
func (o *output) heldPath() string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(o.lock.dir.Fd())))
}

// rescuedInfix joins the name of a lost output folder and the time of its replacement.
const rescuedInfix = ".rescued-"

// replaceLost rescues the run if its folder is lost, which it then returns.
func (t *test) replaceLost() (*lostFolder, error) {
	gone := t.folderLost()
	if gone == nil {
		return nil, nil
	}
	return gone, t.rescue(gone)
}

// rescue creates a folder beside the lost one, or in the system's temporary folder if the parent is gone, and saves the
// run there: what the lost folder still contains, the open logs, and the inputs. The test continues in it.
func (t *test) rescue(l *lostFolder) error {
	at := time.Now().UTC().Format("20060102T150405Z")
	folder := l.was + rescuedInfix + at
	if err := os.Mkdir(folder, 0o700); err != nil {
		if folder, err = os.MkdirTemp("", filepath.Base(l.was)+rescuedInfix+at+"-"); err != nil {
			return exit.Environment(exit.CodeOutputDir, "", "%s, and no other folder can be made for what was measured: %w",
				l.words(), err)
		}
	}
	p := t.plan
	var lost error
	if l.now != "" {
		lost = os.CopyFS(folder, os.DirFS(t.heldPath()))
		_ = os.Remove(filepath.Join(folder, record.ReserveName)) // missing if the disk is full
	}
	t.folder = folder
	lost = errors.Join(lost, os.MkdirAll(t.path(record.LogFolder), p.Access().Folder()),
		t.logs.restore(p.Access(), t.path(record.LogFolder)), t.restoreInputs())
	if rest, ok := strings.CutPrefix(t.dataset.Path, l.was+string(filepath.Separator)); ok {
		t.dataset.Path = t.path(rest)
	}
	if lost != nil {
		t.notes = append(t.notes, "not everything could be saved from the lost output folder: "+
			strings.ReplaceAll(lost.Error(), "\n", "; "))
	}
	return nil
}

// restoreInputs writes missing inputs again.
func (t *test) restoreInputs() error {
	p := t.plan
	var lost error
	for _, f := range []struct {
		name  string
		write func(path string) error
	}{
		{record.UserConfName, p.WriteUserConf},
		{record.ConfigName, p.WriteConfig},
		{record.PreflightName, func(path string) error { return p.WriteJSON(path, t.pre) }},
		{record.MachineName, func(string) error { return t.writeEnvironment() }},
	} {
		if _, err := os.Lstat(t.path(f.name)); errors.Is(err, fs.ErrNotExist) {
			lost = errors.Join(lost, f.write(t.path(f.name)))
		}
	}
	return lost
}

// notStarted returns err, or the loss of the output folder as the reason why LoadGen did not start.
func (o *output) notStarted(err error) error {
	if l := o.folderLost(); l != nil {
		return exit.Environment(exit.CodeOutputLost, "Leave a folder alone while a test writes it, and run again",
			"%s, and LoadGen was not started: %w", l.words(), err)
	}
	return err
}

// afterTest returns an error of a test that has run. It is never a usage error, which would mean that nothing was
// started.
func (o *output) afterTest(err error) error {
	if known := Classify(err); known != nil && known.Exit == ExitUsage {
		return exit.Environment(exit.CodeAfterTest, "What was measured is in "+o.folder,
			"the test ran, and its record could not be made: %w", err)
	}
	return err
}
