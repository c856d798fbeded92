package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Source names a log to score. Where the log is a run's, its record fills the fields that are empty.
type Source struct {
	Log      string // folder of a run, folder of LoadGen's logs, or an accuracy log
	Model    string
	Scenario string
	Round    string
	Dataset  string
	Folder   string // for accuracy.txt and accuracy.json; empty: the log's
}

// Log is an accuracy log with everything known about its test.
type Log struct {
	Path     string
	Dataset  string
	Folder   string // for accuracy.txt and accuracy.json
	Row      *models.Row
	Scenario models.Scenario
	Round    string
	Record   *record.Record // nil: another program ran the test
	isAudit  bool           // the log holds a part of a performance test's answers
}

// Options are how a log is scored.
type Options struct {
	Environ   []string
	Tokenizer finder.Options
	// Setting returns the text of a judge's setting by its name; IsSet reports whether the user gave it.
	Setting   func(name string) string
	IsSet     func(name string) bool
	Punkt     string // folder of NLTK's punkt_tab data; empty: the built-in data
	DType     accuracy.DType
	PerSample bool
	Progress  func(done, total int)
}

// Find looks for a log and for what is known about its test. Errors are *run.Error of usage.
func Find(s Source) (*Log, error) {
	if _, err := os.Stat(s.Log); err != nil {
		return nil, exit.Usage(exit.CodeLog, "Pass the folder of an accuracy run, a folder of LoadGen logs, or a "+
			mllog.AccuracyName+" with --log", "cannot read the log to score: %w", err)
	}
	l, given := &Log{Path: s.Log}, s
	if r, err := record.Read(s.Log); err == nil {
		if err := l.useRecord(r, &s); err != nil {
			return nil, err
		}
	}
	if info, err := os.Stat(l.Path); err == nil && info.IsDir() {
		l.Path = filepath.Join(l.Path, mllog.AccuracyName)
	} else if file, err := filepath.EvalSymlinks(l.Path); err == nil {
		l.Path = file // the user's own link may be followed; links inside a run's folder are not
	}
	l.Dataset, l.Folder = s.Dataset, cmp.Or(s.Folder, filepath.Dir(l.Path))
	for _, needed := range []struct {
		code  exit.Code
		value string
	}{{exit.CodeModel, s.Model}, {exit.CodeDataset, s.Dataset}} {
		if needed.value == "" {
			return nil, exit.Usage(needed.code, "Give --"+string(needed.code),
				"no --%s given, and %s is not a run's folder, whose record would name it", needed.code, given.Log)
		}
	}
	if _, err := os.Stat(l.Dataset); err != nil && given.Dataset == "" { // named by the record
		return nil, exit.Usage(exit.CodeDataset, "Start where the run was started, or give --dataset",
			"the run's data set %s was not found from this folder: %w", l.Dataset, err)
	}
	return l, l.findTest(s)
}

// useRecord fills the empty fields of s from a run's record.
func (l *Log) useRecord(r *record.Record, s *Source) error {
	if r.Mode != string(models.Accuracy) {
		return exit.Usage(exit.CodeLog, "Give the folder of an accuracy run (run --mode accuracy)",
			"%s holds a %s run, whose log has no answers to score", s.Log, r.Mode)
	}
	l.Record = r
	s.Model, s.Scenario, s.Round = cmp.Or(s.Model, r.Model), cmp.Or(s.Scenario, r.Scenario), cmp.Or(s.Round, r.Round)
	s.Folder, s.Dataset = cmp.Or(s.Folder, s.Log), cmp.Or(s.Dataset, DatasetOf(s.Log, r))
	var err error
	if l.Path, err = logFolder(s.Log); err != nil {
		return exit.Usage(exit.CodeLog, "Copy the run's whole folder", "%w", err)
	}
	return nil
}

// findTest looks up the benchmark's row, round and scenario.
func (l *Log) findTest(s Source) error {
	m, err := models.Find(s.Model)
	if err != nil {
		return err
	}
	l.Round = cmp.Or(s.Round, rounds.Last(m.Row))
	of, err := rounds.Find(l.Round)
	if err == nil {
		l.Row, err = of.Row(m.Row)
	}
	if err != nil {
		return exit.Usage(exit.CodeRound, "", "--round %s: %w", l.Round, err)
	}
	l.Scenario = m.Scenario
	if s.Scenario != "" {
		if l.Scenario, err = models.ParseScenario(s.Scenario); err != nil {
			return exit.Usage(exit.CodeScenario, "", "%w", err)
		}
	}
	return nil
}

// OfAudit returns the log that an audit's test left in its plan's folder.
func OfAudit(plan *plan.Plan) (*Log, error) {
	saved, err := record.Read(plan.Folder())
	if err != nil {
		return nil, err
	}
	return &Log{
		Path:    filepath.Join(plan.Folder(), record.LogFolder, mllog.AccuracyName),
		Dataset: DatasetOf(plan.Folder(), saved), Row: plan.Row, Round: plan.Round.Name,
		Scenario: plan.Scenario.Scenario, Record: saved, isAudit: true,
	}, nil
}

// logFolder returns the folder of LoadGen's logs inside a run's folder. It rejects a link: that would lead to the logs
// of another run.
func logFolder(folder string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	logs, err := atomicfile.FolderIn(root, record.LogFolder)
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, record.LogFolder), logs.Close()
}

// DatasetOf returns the path of a run's data set: the copy in the run's folder, or the path in the record.
func DatasetOf(folder string, r *record.Record) string {
	own := filepath.Join(folder, record.DatasetName)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return r.Dataset.Path
}

// IsRehearsal reports whether the log is known to be a rehearsal's.
func (l *Log) IsRehearsal() bool { return l.Record != nil && l.Record.Rehearsal }

// Score scores the log. Errors are *run.Error, except for those of the data set's reader.
func (l *Log) Score(ctx context.Context, o Options) (*accuracy.Result, error) {
	bench, err := accuracy.Find(l.Row.Name)
	if err != nil {
		return nil, exit.Usage(exit.CodeModel, "", "%w", err)
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	ds, err := l.openDataset(bench)
	if err != nil {
		return nil, err
	}
	references, err := bench.References(ds)
	if err != nil {
		return nil, exit.Usage(exit.CodeDataset, "", "%w", err)
	}
	in := accuracy.Input{Benchmark: l.Row.Name, Round: l.Round, Scenario: l.Scenario, Log: l.Path,
		References: references, PerSample: o.PerSample, DType: o.DType, Progress: o.Progress, Rehearsal: l.IsRehearsal()}
	if bench.NeedsTokenizer() {
		o.Tokenizer.Models = l.Row.ServedModels
		if in.Remote, in.Tokenizer, err = Decoder(ctx, o.Tokenizer, l.Row, ds); err != nil {
			return nil, exit.Usage(exit.CodeTokenizer, "", "%w", err)
		}
	}
	if l.Record != nil {
		in.NotJudged = plan.NotJudged(l.Record.RehearsalReasons, ds)
	}
	if in.Punkt, err = punkt(o.Punkt); err != nil {
		return nil, exit.Usage(exit.CodePunkt, "", "%w", err)
	}
	judges, err := OpenJudges(ctx, o.Environ, l.judgeSetting(o), &in)
	if err != nil {
		return nil, err
	}
	r, err := accuracy.Score(ctx, in)
	if err = errors.Join(err, judges.Close()); err != nil {
		return nil, exit.Usage(exit.CodeAccuracy, "", "%w", err)
	}
	r.Notes = append(r.Notes, judges.Notes...)
	return r, nil
}

// judgeSetting returns the judges' settings with the default that a rehearsal itself has for run-code.
func (l *Log) judgeSetting(o Options) func(name string) string {
	return func(name string) string {
		if name == "run-code" && !o.IsSet(name) && l.IsRehearsal() && o.Setting("code-service") == "" {
			return strconv.FormatBool(datasets.AsksForPrograms(l.Row))
		}
		return o.Setting(name)
	}
}

// punkt returns the parameters of the sentence splitter.
func punkt(folder string) (*accuracy.Punkt, error) {
	if folder == "" {
		return accuracy.EnglishPunkt()
	}
	return accuracy.ReadPunkt(folder)
}

// openDataset opens the data set and rejects one that the test cannot have had.
func (l *Log) openDataset(bench *accuracy.Benchmark) (*datasets.Dataset, error) {
	o := bench.DatasetOptions(datasets.ForRow(l.Row))
	if l.Record != nil {
		o.Limit = l.Record.Dataset.Samples
	}
	ds, err := datasets.Open(l.Dataset, o)
	if err != nil {
		return nil, err
	}
	if l.Record != nil && l.Record.Dataset.SHA256 != "" && l.Record.Dataset.SHA256 != ds.SHA256 {
		return nil, exit.Usage(exit.CodeDataset, "Give the run's own with --dataset",
			"%s is not the data set of the run: its SHA-256 is %s, and the run's was %s", l.Dataset, ds.SHA256,
			l.Record.Dataset.SHA256)
	}
	return ds, l.checkCount(len(ds.Samples))
}

// Keys of LoadGen's detail log.
const (
	detailMode    = "effective_test_mode"
	detailSamples = "qsl_reported_total_count"
)

// check rejects the log of a performance test and a log that was changed after its run.
func (l *Log) check() error {
	if l.isAudit {
		return nil
	}
	if l.Record != nil {
		want := l.Record.Files[path.Join(record.LogFolder, mllog.AccuracyName)]
		if got, err := atomicfile.SHA256(l.Path); err == nil && want != "" && got != want {
			return exit.Usage(exit.CodeLog, "Score a run before its log is truncated; a changed log cannot be scored",
				"%s is not the log that the run left: its SHA-256 is %s, and the record has %s", l.Path, got, want)
		}
	}
	return l.eachDetail(func(e *mllog.Entry) error {
		if mode := e.Value.Any(); e.Key == detailMode && mode != "AccuracyOnly" && mode != "SubmissionRun" {
			return exit.Usage(exit.CodeLog, "Give the log of a test in accuracy mode",
				"the test of %s ran in mode %v, which does not ask each sample exactly once", l.detailPath(), mode)
		}
		return nil
	})
}

// checkCount rejects a data set whose size is not the test's.
func (l *Log) checkCount(samples int) error {
	if l.isAudit {
		return nil
	}
	return l.eachDetail(func(e *mllog.Entry) error {
		if had := fmt.Sprint(e.Value.Any()); e.Key == detailSamples && had != fmt.Sprint(samples) {
			return exit.Usage(exit.CodeDataset, "Give the test's own with --dataset",
				"%s is not the data set of the test: it has %d samples, and %s records %s", l.Dataset, samples,
				l.detailPath(), had)
		}
		return nil
	})
}

func (l *Log) detailPath() string { return filepath.Join(filepath.Dir(l.Path), mllog.DetailName) }

// eachDetail reads the detail log beside the accuracy log. The detail log may be missing or cut off.
func (l *Log) eachDetail(take func(*mllog.Entry) error) error {
	_, err := mllog.ReadDetailFile(l.detailPath(), take)
	var rejected *run.Error
	if errors.As(err, &rejected) {
		return rejected
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
