package compliance

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// Severity is the effect of a finding on the strict verdict.
type Severity string

// The severities.
const (
	Fatal   Severity = "error"   // the finding makes the strict verdict a failure
	Warning Severity = "warning" // the finding deserves attention but is not a failure
)

// Finding is a fault that the strict checks found. The official scripts may miss it.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	File     string   `json:"file,omitempty"`
	Text     string   `json:"text"`            // what was found, and what was expected
	Count    int      `json:"count,omitempty"` // number of records with this fault; Text describes the first
}

// Words returns the text and, if several records have the fault, their number.
func (f Finding) Words() string {
	if f.Count < 2 {
		return f.Text
	}
	return fmt.Sprintf("%s (%d records have it)", f.Text, f.Count)
}

// Log is a log that a submission contains next to the verify files.
type Log struct {
	From string // current path of the log
	To   string // path of the copy in the test's folder
}

// Result is the outcome of an audit.
type Result struct {
	Test    string         `json:"test"`
	Pass    bool           `json:"pass"` // verdict of the official script
	Strict  []Finding      `json:"strict"`
	Figures map[string]any `json:"figures"` // numbers that decided the verdict, by name
	// contents of the verify files by name in the test's folder; empty if the official script aborts
	Files map[string]string `json:"-"`
	Logs  []Log             `json:"-"`

	Rehearsal bool `json:"rehearsal,omitempty"` // whether the audit was scaled, so that the verdict does not count
}

// OK reports whether the audit passes the official script and the strict checks find no error.
func (r *Result) OK() bool {
	return r.Pass && !slices.ContainsFunc(r.Strict, func(f Finding) bool { return f.Severity == Fatal })
}

// add keeps the first finding of a code in a file and counts the others.
func (r *Result) add(s Severity, code, file, format string, args ...any) {
	for i := range r.Strict {
		if r.Strict[i].Code == code && r.Strict[i].File == file {
			r.Strict[i].Count++
			return
		}
	}
	r.Strict = append(r.Strict, Finding{Code: code, Severity: s, File: file, Text: fmt.Sprintf(format, args...), Count: 1})
}

// explain appends to the text of a finding.
func (r *Result) explain(code, file, words string) {
	for i := range r.Strict {
		if r.Strict[i].Code == code && r.Strict[i].File == file {
			r.Strict[i].Text += words
		}
	}
}

// codeBroken is the code of the finding that makes the official script abort.
const codeBroken = "log_broken"

// giveUp ends an audit like an official script that aborts: it writes no verify file.
func (r *Result) giveUp(file string, err error) {
	r.Pass = false
	r.add(Fatal, codeBroken, file, "the official script aborts on this and writes no verdict: %v", err)
}

// broken returns the reason why the official script aborts.
func (r *Result) broken() string {
	for _, f := range r.Strict {
		if f.Code == codeBroken {
			return f.Text
		}
	}
	return "it was not verified"
}

// figure keeps a number that decided the verdict. NaN and infinity become text, because JSON lacks them.
func (r *Result) figure(name string, f float64) {
	if r.Figures[name] = f; math.IsNaN(f) || math.IsInf(f, 0) {
		r.Figures[name] = pyrepr.Float(f)
	}
}

// logPlaces are the logs in a test's folder next to its verify files
// (docs/reference/submission-rules.md#audit-folders).
var logPlaces = map[string][]string{
	Test01: {mllog.AccuracyName, mllog.SummaryName, mllog.DetailName},
	Test04: {mllog.SummaryName, mllog.DetailName},
	Test06: {mllog.AccuracyName},
	Test07: {mllog.AccuracyName, mllog.SummaryName, mllog.DetailName},
	Test08: nil,
	Test09: {mllog.AccuracyName, mllog.SummaryName, mllog.DetailName},
}

// logsOf returns the existing logs of a run, with their places.
func logsOf(test, folder string) []Log {
	var logs []Log
	for _, name := range logPlaces[test] {
		from := filepath.Join(folder, name)
		if _, err := os.Lstat(from); err != nil {
			continue
		}
		to := filepath.Join("performance", "run_1", name)
		if name == mllog.AccuracyName {
			to = filepath.Join("accuracy", name)
		}
		logs = append(logs, Log{From: from, To: to})
	}
	return logs
}

// Write creates the test's folder, such as OUT/TEST06, with the verify files and copies of the logs. It returns an
// error if the verification has no verdict. It follows no link below out and no link that replaces a log.
func (r *Result) Write(out string) error {
	if len(r.Files) == 0 {
		return fmt.Errorf("%s has no verdict to write below %s: %s", r.Test, out, r.broken())
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("the folder of %s cannot be created: %w", r.Test, err)
	}
	root, err := os.OpenRoot(out)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if err := r.put(root, name, strings.NewReader(r.Files[name])); err != nil {
			return err
		}
	}
	for _, l := range r.Logs {
		if err := r.copyLog(root, l); err != nil {
			return err
		}
	}
	return nil
}

func (r *Result) copyLog(root *os.Root, l Log) error {
	f, err := atomicfile.OpenBelow(filepath.Split(l.From))
	if err != nil {
		return err
	}
	defer f.Close()
	return r.put(root, l.To, f)
}

// put writes one file into the test's folder.
func (r *Result) put(root *os.Root, name string, from io.Reader) error {
	dir, err := atomicfile.MakeFolderIn(root, filepath.Join(r.Test, filepath.Dir(name)))
	if err != nil {
		return fmt.Errorf("the folder of %s cannot be created: %w", name, err)
	}
	defer dir.Close()
	_, err = atomicfile.CopyIn(dir, filepath.Base(name), from)
	return err
}
