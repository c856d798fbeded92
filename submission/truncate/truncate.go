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

// audits are the audits whose log is cut. Others are handed in whole (docs/reference/submission-rules.md#truncation).
var audits = map[string]kind{
	"TEST01": {needsText: true},
	"TEST07": {},
	"TEST09": {},
}

// Tree truncates every accuracy log of the submitter below root. One log that is refused does not stop the others; the
// error joins all refusals. The targets are complete as far as the work went. No link below root is followed: one in
// the place of a folder or a file is refused.
func Tree(ctx context.Context, root string, o Options) ([]Target, error) {
	if err := o.check(root); err != nil {
		return nil, err
	}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("truncating the accuracy logs of a tree: %w; give the folder that holds closed, open or "+
			"network", err)
	}
	defer tree.Close()
	w := work{tree: tree, root: root, backup: originals{path: o.Backup}}
	defer w.backup.close()
	for _, division := range layout.Divisions() {
		found := w.logs(layout.Submitter{Division: division, Name: o.Submitter}.Results(), o.Skip)
		for _, l := range found {
			if err := ctx.Err(); err != nil {
				return w.targets, fmt.Errorf("truncating the accuracy logs below %s: %w", root, context.Cause(ctx))
			}
			w.truncate(l)
		}
	}
	if len(w.targets) == 0 {
		return nil, fmt.Errorf("truncating accuracy logs: no %s below %s for submitter %q; look at the root folder (it "+
			"holds closed, open or network) and the submitter's spelling",
			logName, root, o.Submitter)
	}
	return w.targets, errors.Join(w.failed...)
}

// work is one call of Tree.
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
		w.failed = append(w.failed, fmt.Errorf("truncating %s: %w", filepath.Join(w.root, filepath.FromSlash(t.Path)), err))
	}
	w.targets = append(w.targets, t)
}

// originals is the backup folder, which is made for the first log that goes into it.
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
		return nil, fmt.Errorf("making the backup folder: %w", err)
	}
	return b.dir, nil
}

func (b *originals) close() {
	if b.dir != nil {
		_ = b.dir.Close() // a handle of a folder holds no data
	}
}

func (o Options) check(root string) error {
	switch {
	case o.Submitter == "" || o.Submitter != filepath.Base(o.Submitter) || o.Submitter == "..":
		return fmt.Errorf("truncating below %s: the submitter %q is no folder's name; give the name of the folder below "+
			"closed, open or network", root, o.Submitter)
	case o.Backup == "":
		return fmt.Errorf("truncating below %s: no backup folder is named, and the organisers may ask for the whole logs; "+
			"name one outside of the tree", root)
	}
	inside, err := treefs.Within(root, o.Backup)
	if err != nil {
		return fmt.Errorf("truncating below %s with the originals in %s: %w", root, o.Backup, err)
	}
	if inside {
		return fmt.Errorf("truncating below %s: the backup folder %s lies inside of the tree and would be handed in with "+
			"it; name one outside", root, o.Backup)
	}
	return nil
}

// accuracyLog is a folder that holds an accuracy log, below the root, with slashes.
type accuracyLog struct {
	dir  string
	kind kind
}

// logs finds the accuracy logs of every system, benchmark and scenario below results. A folder that cannot be read, or
// a link in the place of one, becomes a refused target.
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

// absent is true where a result has no log because another client than LoadGen made it, and in an audit without one.
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

// folders gives the folders in dir, and links, which may stand for folders; none where dir is absent.
func (w *work) folders(dir string) []string {
	entries, err := treefs.Entries(w.tree, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		w.add(Target{Path: dir}, fmt.Errorf("looking for accuracy logs: %w", err))
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
