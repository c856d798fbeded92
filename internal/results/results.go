package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Root is the folder, below the working folder, of all runs without --output-dir.
const Root = "results"

// LatestName is the name of the link to the newest folder.
const LatestName = "latest"

// timeForm is the format of a folder's name: the time in UTC with milliseconds, without colons, which scp and PATH
// misread.
const timeForm = "20060102T150405.000Z"

// Workload is the kind of a folder of `bench run`.
const Workload = "workload"

// kinds maps the file that marks a kind of results to the name of that kind.
var kinds = map[string]string{
	"run.json": "run", "campaign.json": "campaign", "tune.json": "tune", "sweep.json": "sweep", "probe.json": "probe",
	"bench.json": Workload, "experiment.json": "experiment", "find-peak.json": "search by LoadGen",
	"search.json": "search",
}

// Holds returns the kind of results in a folder if it differs from own: "run", "campaign", "tune", "sweep",
// "experiment", "search by LoadGen", "search", Workload or "probe". It returns "" if nothing marks the folder, or if
// the folder cannot be read.
func Holds(folder, own string) string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if kind := kinds[e.Name()]; kind != "" && kind != own {
			return kind
		}
	}
	return ""
}

// Foreign rejects a folder that contains no run but has a file with a name that a run would replace.
func Foreign(folder string, replaced []string) error {
	for _, name := range replaced {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return fmt.Errorf("the output folder %s has a %s that is not a run's, and would be replaced", folder, name)
		}
	}
	return nil
}

// errForeign is the cause of every rejected link.
var errForeign = errors.New("not a link that this program made")

// New returns the path of a folder in home that does not exist yet, named by the time at. It creates nothing.
func New(home string, at time.Time) string {
	for {
		path := filepath.Join(home, TimeName(at))
		if _, err := os.Lstat(path); err != nil {
			return path // on any error; creating the folder will report it
		}
		at = at.Add(time.Millisecond)
	}
}

// Choose returns the folder of a run. It is the folder that the user named. If named is empty, it is a new folder in
// home below Root, or the latest one there if the run resumes and there is one.
func Choose(named, home string, resume bool, now time.Time) string {
	if named != "" {
		return Resolve(filepath.Clean(named))
	}
	return Below(Root, home, resume, now)
}

// Below returns a new folder in home below another root than Root, or the latest one there if the run resumes and there
// is one.
func Below(root, home string, resume bool, now time.Time) string {
	home = filepath.Join(root, home)
	if resume {
		if folder := Latest(home); folder != "" {
			return folder
		}
	}
	return New(home, now)
}

// Latest returns the folder in home that its link points to, or the empty string.
func Latest(home string) string {
	name, err := target(home)
	if err != nil {
		return ""
	}
	path := filepath.Join(home, name)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return ""
	}
	return path
}

// Resolve returns the target of a path whose last element is the link's name, and any other path unchanged. A run in
// that folder is then not affected when the link changes.
func Resolve(path string) string {
	if filepath.Base(path) == LatestName {
		if folder := Latest(filepath.Dir(path)); folder != "" {
			return folder
		}
	}
	return path
}

// Point makes the link next to a folder of New point to that folder. Other folders get no link. It is an error if the
// link's name is in use for something else.
func Point(folder string) error {
	home, name := filepath.Split(filepath.Clean(folder))
	if err := Check(folder); err != nil || !IsTime(name) {
		return err
	}
	link := filepath.Join(home, LatestName)
	unfinished := filepath.Join(home, "."+LatestName+"-"+name)
	if err := os.Symlink(name, unfinished); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the link %s: %w", link, err)
	}
	if err := os.Rename(unfinished, link); err != nil {
		_ = os.Remove(unfinished)
		return fmt.Errorf("cannot replace the link %s: %w", link, err)
	}
	return nil
}

// Discard removes an empty folder of New, and the folders above it that are then empty too. Other folders stay.
func Discard(folder string) {
	if !IsTime(filepath.Base(folder)) {
		return
	}
	for range 3 { // at most the folder, home and Root
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // the folder is not empty
		}
		folder = filepath.Dir(folder)
	}
}

// Check returns an error if Point cannot make the link because its name is in use for something else.
func Check(folder string) error {
	home, name := filepath.Split(filepath.Clean(folder))
	if _, err := target(home); IsTime(name) && err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is left as it is and does not point to the newest run: %w",
			filepath.Join(home, LatestName), err)
	}
	return nil
}

// target returns the name that the link in home points to. It accepts only a link of this user to a folder in the same
// place whose name is a time.
func target(home string) (string, error) {
	link := filepath.Join(home, LatestName)
	info, err := os.Lstat(link)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if info.Mode()&fs.ModeSymlink == 0 || !ok || int(stat.Uid) != os.Geteuid() {
		return "", errForeign
	}
	name, err := os.Readlink(link)
	if err != nil {
		return "", err
	}
	if !IsTime(name) {
		return "", errForeign
	}
	return name, nil
}

// TimeName returns a time as the name of a folder.
func TimeName(t time.Time) string { return t.UTC().Format(timeForm) }

// IsTime reports whether a name has the form of TimeName, like those of New.
func IsTime(name string) bool {
	at, err := time.Parse(timeForm, name)
	return err == nil && at.Format(timeForm) == name
}
