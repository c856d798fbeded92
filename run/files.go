package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/environment"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// CheckFolder rejects a folder that cannot be read, that a run is writing, that contains results of another kind (as of
// results.Holds), or that contains an earlier run, unless force is set. A run removes the files of an earlier one, so a
// folder without an earlier run must not have files of these names.
func CheckFolder(folder, kind string, force bool) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.Environment(exit.CodeOutputDir, "Choose another --output-dir", "the output folder cannot be read: %w",
			err)
	}
	if err := idle(folder); err != nil {
		return err
	}
	if other := results.Holds(folder, kind); other != "" {
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output-dir (with make: OUT=folder)",
			"the output folder %s is the folder of %s", folder, plural.Article(other))
	}
	switch mark := markOf(folder, entries); {
	case mark != "" && !force:
		return used(folder, mark)
	case mark != "":
		return nil
	}
	if err := results.Foreign(folder, record.Entries); err != nil {
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output-dir (with make: OUT=folder)", "%w", err)
	}
	return nil
}

// logPrefix begins the names of LoadGen's logs.
const logPrefix = "mlperf_log_"

// markOf returns the name that shows that a folder is a run's: the record, or the folder of LoadGen's logs, which a run
// creates first. It is empty for any other folder.
func markOf(folder string, entries []fs.DirEntry) string {
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == record.FileName }) {
		return record.FileName
	}
	logs, err := os.ReadDir(filepath.Join(folder, record.LogFolder))
	isForeign := func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), logPrefix) }
	if err != nil || slices.ContainsFunc(logs, isForeign) {
		return ""
	}
	return record.LogFolder
}

func used(folder, name string) error {
	return exit.Usage(exit.CodeOutputUsed,
		"Choose another --output-dir, or give --resume or --force (with make: OUT=folder, "+
			"ARGS=--force)", "the output folder %s holds an earlier run (%s)", folder, name)
}

// missing returns the folders of a path that do not exist yet, the deepest first.
func missing(folder string) []string {
	var folders []string
	for {
		if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
			return folders
		}
		folders = append(folders, folder)
		folder = filepath.Dir(folder)
	}
}

// removeEmpty removes the run's folder, and the folders above it that the run created, as far as they are empty.
func (o *output) removeEmpty() {
	for _, path := range append([]string{o.path(record.LogFolder), o.folder}, o.created...) {
		_ = os.Remove(path) // fails if it contains something
	}
}

// claim creates the run's folder and locks it until the lock is released.
func claim(folder string, force bool, access atomicfile.Access) (*folderLock, error) {
	if err := CheckFolder(folder, "run", force); err != nil {
		return nil, err
	}
	err := makeFolder(folder, access)
	if err == nil && !force { // with force, replace locks the folder after it has removed the old files
		err = makeOwnFolder(filepath.Join(folder, record.LogFolder), access)
	}
	if err != nil {
		return nil, err
	}
	return lockFolder(folder)
}

// replace removes an earlier run and its report from a folder. The notes name what else is there and stays.
func replace(folder string, access atomicfile.Access) (notes []string, err error) {
	names := slices.Clone(record.Entries)
	if isOurReport(folder) {
		names = append(names, record.ReportName)
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		atomicfile.RemoveUnfinished(path)
		if err := os.RemoveAll(path); err != nil {
			return nil, exit.Environment(exit.CodeOutputDir, "Choose another --output-dir",
				"the earlier run cannot be removed: %w", err)
		}
	}
	if kept, err := os.ReadDir(folder); err == nil && len(kept) > 0 {
		notes = append(notes, keptNote(kept))
	}
	return notes, makeOwnFolder(filepath.Join(folder, record.LogFolder), access)
}

// maxKept bounds the names in a keptNote.
const maxKept = 5

// keptNote warns of files in a run's folder that may show an earlier run, such as a plot.
func keptNote(kept []fs.DirEntry) string {
	var names []string
	for _, e := range kept[:min(len(kept), maxKept)] {
		names = append(names, foreign.Line(e.Name(), 100))
	}
	if more := len(kept) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return "the output folder still holds files that no run writes: " + strings.Join(names, ", ")
}

// isOurReport reports whether a folder's report.html is a page that this program wrote.
func isOurReport(folder string) bool {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return false
	}
	defer root.Close()
	if info, err := root.Lstat(record.ReportName); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := root.Open(record.ReportName)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<10)
	n, _ := io.ReadFull(f, head) // a shorter page has the mark or not
	return bytes.Contains(head[:n], []byte(record.ReportMark))
}

func makeFolder(folder string, access atomicfile.Access) error {
	return notMade(os.MkdirAll(folder, access.Folder()))
}

func notMade(err error) error {
	if err == nil {
		return nil
	}
	return exit.Environment(exit.CodeOutputDir, "Choose another --output-dir, or change its rights",
		"the output folder cannot be created: %w", err)
}

// makeOwnFolder creates a folder in a run's folder, such as that of LoadGen's logs. It rejects links, because LoadGen
// would follow them.
func makeOwnFolder(path string, access atomicfile.Access) error {
	return notMade(access.MakeOwnFolder(path))
}

// openLogFolder opens the folder of LoadGen's logs, and returns a path by which LoadGen reaches this folder even if
// another user, who may write to the run's folder, replaces it by a link.
func (o *output) openLogFolder() (path string, err error) {
	logs := o.path(record.LogFolder)
	o.logFolder, err = os.OpenFile(logs, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", notMade(err)
	}
	info, err := o.logFolder.Stat()
	if err == nil {
		err = atomicfile.CheckOwnFolder(info, logs)
	}
	if err != nil {
		return "", notMade(err)
	}
	path = filepath.Join("/proc/self/fd", strconv.Itoa(int(o.logFolder.Fd())))
	if _, err := os.Stat(path); err != nil { // LoadGen would wait for its logs for ever
		return "", exit.Environment(exit.CodeProc, "Mount it: `mount -t proc proc /proc`",
			"LoadGen reaches its log folder through "+
				"/proc, which is missing: %w", err)
	}
	return path, nil
}

// hideLogs makes LoadGen's logs private unless the run is shared. LoadGen creates them readable by every user.
func hideLogs(folder string, access atomicfile.Access) error {
	if access == atomicfile.Shared {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if e.Type().IsRegular() {
			err = errors.Join(err, root.Chmod(e.Name(), access.File()))
		}
	}
	return err
}

// reserveSize is the size of the file that holds disk space for the record, in bytes.
const reserveSize = 1 << 20

func (o *output) reserve() error {
	f, err := os.OpenFile(o.path(record.ReserveName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.Write(make([]byte, reserveSize))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("the output folder cannot be written: %w", err)
	}
	return nil
}

func (o *output) freeReserve() error {
	if err := os.Remove(o.path(record.ReserveName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the space that was held for the record cannot be freed: %w", err)
	}
	return nil
}

// failures writes failures.jsonl. The first failure creates the file.
type failures struct {
	path    string
	access  atomicfile.Access
	secrets *secret.Redactor
	urls    []string
	start   int64
	mu      sync.Mutex
	lines   *atomicfile.Lines
	recent  []Failure
	ended   bool // later failures belong to a test that has its record already
	err     error
}

// maxRecent and maxDetail bound what is kept for the progress.
const (
	maxRecent = 20
	maxDetail = 300 // bytes
)

type failureLine struct {
	Seq      int           `json:"seq"`
	Index    int           `json:"index"`
	Endpoint string        `json:"endpoint"`
	AtS      float64       `json:"at_s"` // seconds since the run's start
	Reason   ledger.Reason `json:"reason"`
	Retried  bool          `json:"retried"`
	Detail   string        `json:"detail"`
	Body     string        `json:"body,omitempty"`
}

// add appends one failed attempt. Any goroutine may call it. Lines reach the unfinished file at once, where a crash
// leaves them.
func (f *failures) add(a backends.Attempt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || f.ended {
		return
	}
	if f.lines == nil {
		if f.lines, f.err = f.access.CreateLines(f.path); f.err != nil {
			return
		}
	}
	line := failureLine{Seq: a.Query.Seq, Index: a.Query.Index, AtS: time.Duration(a.AtNS - f.start).Seconds(),
		Reason: a.Reason, Retried: a.Retried, Detail: a.Detail, Body: string(a.Body)}
	if a.Endpoint >= 0 && a.Endpoint < len(f.urls) {
		line.Endpoint = f.urls[a.Endpoint]
	}
	if len(f.recent) < maxRecent {
		f.recent = append(f.recent, Failure{At: time.Unix(0, a.AtNS), Endpoint: line.Endpoint, Reason: a.Reason,
			Retried: a.Retried, Detail: foreign.Line(f.secrets.Values(a.Detail), maxDetail)})
	}
	text, err := f.secrets.JSON(line)
	if f.err = err; err == nil {
		f.err = f.lines.AppendRaw(text)
	}
	if f.err == nil {
		f.err = f.lines.Flush()
	}
}

// take returns the failures since the last call, at most maxRecent. It may be called on nil.
func (f *failures) take() []Failure {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.recent
	f.recent = nil
	return list
}

func (f *failures) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	if f.lines != nil {
		f.err = errors.Join(f.err, f.lines.Close())
		f.lines = nil
	}
	return f.err
}

// hashFiles returns the SHA-256 of every regular file under a folder except the record.
func hashFiles(folder string) (map[string]string, error) {
	sums := map[string]string{}
	// DirFS instead of the path, because the user's folder may be a link.
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || name == record.FileName {
			return err
		}
		sums[name], err = atomicfile.SHA256(filepath.Join(folder, name))
		return err
	})
	return sums, err
}

// writeEnvironment describes the machine of the client and the servers, as far as they show it.
func (t *test) writeEnvironment() error {
	p := t.plan
	return notMade(environment.Write(t.folder, &environment.Facts{Access: p.Access(), Secrets: p.Secrets,
		Environ: p.Environ, Servers: t.pre.Endpoints}))
}
