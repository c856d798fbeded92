package truncate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// State is the outcome for one accuracy log.
type State string

// The states of a log.
const (
	Truncated State = "truncated" // hashed now, and truncated if it was long enough
	Hashed    State = "hashed"    // already hashed and short
	Refused   State = "refused"   // not changed; see Target.Reason
)

// Target is the result for one accuracy log.
type Target struct {
	Path   string `json:"path"` // of the log, relative to the root, with slashes
	State  State  `json:"state"`
	SHA256 string `json:"sha256,omitempty"` // of the whole log; "" unless State is Truncated
	Before int64  `json:"size_before"`      // bytes
	After  int64  `json:"size_after"`       // bytes
	Reason string `json:"reason,omitempty"` // why it was refused
}

// Options are the inputs of Tree.
type Options struct {
	Submitter string   // name of the submitter's folder in each division
	Backup    string   // folder for the originals, outside the tree; created if absent
	Skip      []string // names of scenario folders to skip
}

// logName is the log to truncate, and txtName the file for its hash.
const (
	logName = mllog.AccuracyName
	txtName = layout.ScoreFile
)

// kind describes the accuracy.txt of a folder with an accuracy log.
type kind struct {
	needsText bool // whether accuracy.txt must exist and keeps its lines; otherwise it contains only the hash
}

// audits lists the audits whose logs are truncated (docs/reference/submission-rules.md#truncation).
var audits = map[string]kind{
	"TEST01": {needsText: true},
	"TEST07": {},
	"TEST09": {},
}

// Tree truncates every accuracy log of the submitter in the tree. A refused log does not stop the others; the error
// joins all refusals. The targets describe all logs processed so far. Links in the tree are refused.
func Tree(ctx context.Context, root string, o Options) ([]Target, error) {
	if err := o.check(root); err != nil {
		return nil, err
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("truncate the accuracy logs of a tree: %w; pass the folder that contains closed, open or "+
			"network", err)
	}
	defer tree.Close()
	w := work{tree: tree, root: root, backup: originals{path: o.Backup}}
	defer w.backup.close()
	for _, division := range layout.Divisions() {
		found := w.logs(layout.Submitter{Division: division, Name: o.Submitter}.Results(), o.Skip)
		for _, l := range found {
			if err := ctx.Err(); err != nil {
				return w.targets, fmt.Errorf("truncate the accuracy logs in %s: %w", root, context.Cause(ctx))
			}
			w.truncate(l)
		}
	}
	if len(w.targets) == 0 {
		return nil, fmt.Errorf("no %s of submitter %q found in %s; check the submitter's spelling and the folder, which "+
			"must contain closed, open or network", logName, o.Submitter, root)
	}
	return w.targets, errors.Join(w.failed...)
}

// work is the state of a call of Tree.
type work struct {
	tree    *os.Root
	root    string // for messages
	backup  originals
	targets []Target
	failed  []error
}

func (w *work) add(t Target, err error) {
	if err != nil {
		t.State, t.Reason = Refused, err.Error()
		w.failed = append(w.failed, fmt.Errorf("truncate %s: %w", filepath.Join(w.root, filepath.FromSlash(t.Path)), err))
	}
	w.targets = append(w.targets, t)
}

// originals is the backup folder, created when the first log needs it.
type originals struct {
	path string
	dir  *os.Root
}

func (b *originals) open() (*os.Root, error) {
	if b.dir != nil {
		return b.dir, nil
	}
	err := os.MkdirAll(b.path, 0o755)
	if err == nil {
		b.dir, err = os.OpenRoot(b.path)
	}
	if err != nil {
		return nil, fmt.Errorf("create the backup folder: %w", err)
	}
	return b.dir, nil
}

func (b *originals) close() {
	if b.dir != nil {
		_ = b.dir.Close() // closing a folder cannot lose data
	}
}

func (o Options) check(root string) error {
	switch {
	case o.Submitter != filepath.Base(o.Submitter) || o.Submitter == "..":
		return fmt.Errorf("truncate the logs in %s: invalid submitter %q; pass the name of a folder in closed, open or "+
			"network", root, o.Submitter)
	case o.Backup == "":
		return fmt.Errorf("truncate the logs in %s: no backup folder given, but the organisers may ask for the whole logs; "+
			"choose a folder outside the tree", root)
	}
	inside, err := treefs.Within(root, o.Backup)
	if err != nil {
		return fmt.Errorf("truncate the logs in %s with backup folder %s: %w", root, o.Backup, err)
	}
	if inside {
		return fmt.Errorf("truncate the logs in %s: the backup folder %s is inside the tree and would be submitted with it; "+
			"choose one outside", root, o.Backup)
	}
	return nil
}

// accuracyLog is a folder with an accuracy log, relative to the root and with slashes.
type accuracyLog struct {
	dir  string
	kind kind
}

// logs finds the accuracy logs of every system, benchmark and scenario in results. A folder that cannot be read, or a
// link, becomes a refused target.
func (w *work) logs(results string, skip []string) []accuracyLog {
	var found []accuracyLog
	scenarios := []string{results}
	for range 3 { // system, benchmark, scenario
		var below []string
		for _, dir := range scenarios {
			below = append(below, w.folders(dir)...)
		}
		scenarios = below
	}
	for _, scenario := range scenarios {
		if slices.Contains(skip, path.Base(scenario)) {
			continue
		}
		found = append(found, accuracyLog{path.Join(scenario, layout.Accuracy), kind{needsText: true}})
		for _, dir := range w.folders(scenario) {
			if k, ok := audits[path.Base(dir)]; ok {
				found = append(found, accuracyLog{path.Join(dir, layout.Accuracy), k})
			}
		}
	}
	return slices.DeleteFunc(found, w.absent)
}

// absent reports whether a folder legitimately has no log: a result of another client than LoadGen, or an audit without
// a log.
func (w *work) absent(l accuracyLog) bool {
	if _, err := w.tree.Lstat(path.Join(l.dir, logName)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, name := range []string{"config.yaml", "config.yml"} {
		if _, err := w.tree.Lstat(path.Join(path.Dir(l.dir), name)); err == nil {
			return true
		}
	}
	_, err := w.tree.Lstat(l.dir)
	return errors.Is(err, fs.ErrNotExist) && !l.kind.needsText
}

// folders returns the folders and links in dir, or none if dir does not exist.
func (w *work) folders(dir string) []string {
	entries, err := treefs.Entries(w.tree, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		w.add(Target{Path: dir}, fmt.Errorf("find accuracy logs: %w", err))
		return nil
	}
	var below []string
	for _, e := range entries {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			below = append(below, path.Join(dir, e.Name()))
		}
	}
	return below
}
