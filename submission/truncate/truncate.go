package truncate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// State says what became of one accuracy log.
type State string

// The states of a log.
const (
	Truncated State = "truncated" // hashed now, and cut where it was long enough
	Hashed    State = "hashed"    // hashed and short before this call
	Refused   State = "refused"   // not touched, for Target.Reason
)

// Target is one accuracy log and what was done with it.
type Target struct {
	Path   string `json:"path"` // of the log, below the root, with slashes
	State  State  `json:"state"`
	SHA256 string `json:"sha256,omitempty"` // of the whole log; empty unless State is Truncated
	Before int64  `json:"size_before"`      // bytes
	After  int64  `json:"size_after"`       // bytes
	Reason string `json:"reason,omitempty"` // why it was refused
}

// Options choose what is truncated and where the originals go.
type Options struct {
	Submitter string   // folder below each division
	Backup    string   // folder for the originals, outside of the tree; made where it is absent
	Skip      []string // scenario folders that are left alone
}

// logName is the log that is cut, and txtName what holds its hash.
const (
	logName = mllog.AccuracyName
	txtName = layout.ScoreFile
)

// kind says what a folder with an accuracy log asks of accuracy.txt.
type kind struct {
	needsText bool // accuracy.txt must be there, and keeps its lines; else the hash is all that it holds
}

// audits are the audits whose log is cut. Others are handed in whole (spec/submission.md §6).
var audits = map[string]kind{
	"TEST01": {needsText: true},
	"TEST07": {},
	"TEST09": {},
}

// Tree truncates every accuracy log of the submitter below root. One log that is refused does not stop the others; the error
// joins all refusals. The targets are complete as far as the work went.
func Tree(ctx context.Context, root string, o Options) ([]Target, error) {
	if err := o.check(root); err != nil {
		return nil, err
	}
	var (
		targets []Target
		failed  []error
	)
	for _, division := range layout.Divisions() {
		results := filepath.FromSlash(layout.Submitter{Division: division, Name: o.Submitter}.Results())
		found, err := logs(root, results, o.Skip)
		if err != nil {
			return targets, err
		}
		for _, l := range found {
			if err := ctx.Err(); err != nil {
				return targets, fmt.Errorf("truncating the accuracy logs below %s: %w", root, context.Cause(ctx))
			}
			t, err := l.truncate(root, o.Backup)
			targets = append(targets, t)
			if err != nil {
				failed = append(failed, err)
			}
		}
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("truncating accuracy logs: no %s below %s for submitter %q; look at the root folder (it holds closed, open or network) and the submitter's spelling",
			logName, root, o.Submitter)
	}
	return targets, errors.Join(failed...)
}

func (o Options) check(root string) error {
	switch {
	case o.Submitter == "" || o.Submitter != filepath.Base(o.Submitter) || o.Submitter == "..":
		return fmt.Errorf("truncating below %s: the submitter %q is no folder's name; give the name of the folder below closed, open or network", root, o.Submitter)
	case o.Backup == "":
		return fmt.Errorf("truncating below %s: no backup folder is named, and the organisers may ask for the whole logs; name one outside of the tree", root)
	}
	inside, err := within(root, o.Backup)
	if err != nil {
		return fmt.Errorf("truncating below %s with the originals in %s: %w", root, o.Backup, err)
	}
	if inside {
		return fmt.Errorf("truncating below %s: the backup folder %s lies inside of the tree and would be handed in with it; name one outside", root, o.Backup)
	}
	return nil
}

// within says whether path is root or below it, links followed as far as path exists.
func within(root, path string) (bool, error) {
	base, err := resolve(root)
	if err != nil {
		return false, err
	}
	target, err := resolve(path)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(base, target)
	if err != nil {
		return false, err
	}
	return rel == "." || (rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))), nil
}

// resolve makes path absolute and follows the links of the part that exists.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(abs)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		parent := filepath.Dir(abs)
		if !errors.Is(err, fs.ErrNotExist) || parent == abs {
			return "", err
		}
		rest = filepath.Join(filepath.Base(abs), rest)
		abs = parent
	}
}

// accuracyLog is a folder that holds an accuracy log, below the root.
type accuracyLog struct {
	dir  string
	kind kind
}

// logs finds the accuracy logs of every system, benchmark and scenario below results. Links are not followed.
func logs(root, results string, skip []string) ([]accuracyLog, error) {
	var found []accuracyLog
	scenarios := []string{results}
	for range 3 { // system, benchmark, scenario
		var below []string
		for _, dir := range scenarios {
			names, err := folders(filepath.Join(root, dir))
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				below = append(below, filepath.Join(dir, name))
			}
		}
		scenarios = below
	}
	for _, scenario := range scenarios {
		if slices.Contains(skip, filepath.Base(scenario)) {
			continue
		}
		found = append(found, accuracyLog{filepath.Join(scenario, layout.Accuracy), kind{needsText: true}})
		names, err := folders(filepath.Join(root, scenario))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if k, ok := audits[name]; ok {
				found = append(found, accuracyLog{filepath.Join(scenario, name, layout.Accuracy), k})
			}
		}
	}
	return slices.DeleteFunc(found, func(l accuracyLog) bool { return l.absent(root) }), nil
}

// absent is true where a result has no log because another client than LoadGen made it, and in an audit without one.
func (l accuracyLog) absent(root string) bool {
	if _, err := os.Lstat(filepath.Join(root, l.dir, logName)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, name := range []string{"config.yaml", "config.yml"} {
		if _, err := os.Lstat(filepath.Join(root, filepath.Dir(l.dir), name)); err == nil {
			return true
		}
	}
	_, err := os.Lstat(filepath.Join(root, l.dir))
	return errors.Is(err, fs.ErrNotExist) && !l.kind.needsText
}

// folders gives the names of the folders in dir, sorted; none where dir is absent.
func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s for accuracy logs: %w", dir, err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
