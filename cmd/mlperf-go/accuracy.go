package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
)

func (p *program) accuracyCommand() *cli.Command {
	return &cli.Command{
		Name: "accuracy", Usage: "score an accuracy log as the benchmark's reference does", HideHelpCommand: true,
		OnUsageError: usageError,
		Description: "LOG is a run's folder, a folder of LoadGen's logs, or an accuracy log. From a run's folder, model, " +
			"scenario and data set are known.\n" +
			"Writes accuracy.txt, which the submission checker reads, and accuracy.json. Exit code 1: below target, or " +
			"answers are missing.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "log", Required: true, Usage: "run's folder, log folder or accuracy log"},
			&cli.StringFlag{Name: "model", Usage: "benchmark"},
			&cli.StringFlag{Name: "scenario", Usage: "scenario, where targets differ"},
			&cli.StringFlag{Name: "round", Usage: "round whose targets hold; default: the run's, else the newest that has the " +
				"benchmark"},
			&cli.StringFlag{Name: "dataset", Usage: "data set with the reference outputs"},
			&cli.StringFlag{Name: "output-dir", Usage: "folder for accuracy.txt and accuracy.json; default: the log's"},
			runSetting("shared-output"),
			&cli.BoolFlag{Name: "per-sample", Usage: "keep the score of every sample in accuracy.json", Value: true},
			&cli.StringFlag{Name: "dtype", Usage: "type of a token in the log: int32, int64 or float",
				Value: string(accuracy.Int32)},
			&cli.StringFlag{Name: "punkt", Usage: "folder english of NLTK's punkt_tab data; default: the data that the " +
				"program has"},
			&cli.BoolFlag{Name: "run-code", Usage: "run the programs among the answers in a sandbox; without it they are not " +
				"scored, and no total is claimed; default in rehearsals: yes"},
			&cli.StringFlag{Name: "code-tests", Usage: "LiveCodeBench's tests: a JSONL file or a folder of them"},
			&cli.StringFlag{Name: "code-service", Usage: "address (ws://...) of a service that runs LiveCodeBench's programs, " +
				"in place of the sandbox"},
			&cli.StringFlag{Name: "math-grader", Usage: "command that decides which mathematical expressions are equal, in " +
				"place of the built-in comparison"},
		}, tokenizerFlags()...),
		Action: p.score,
	}
}

// scoring is what a log is scored with, found from flags and, where there is one, the run's record.
type scoring struct {
	log, dataset, folder string
	row                  *models.Row
	scenario             models.Scenario
	round                string
	record               *run.Record // nil: the log is of another program's run
	access               atomicfile.Access
	audit                bool // the log is an audit's, which holds a part of a performance test
}

// accessOf is who may read what a command writes.
func accessOf(c *cli.Context) atomicfile.Access {
	if c.Bool("shared-output") {
		return atomicfile.Shared
	}
	return atomicfile.Private
}

func findScoring(c *cli.Context) (*scoring, error) {
	s := &scoring{log: c.String("log"), dataset: c.String("dataset"), folder: c.String("output-dir"), access: accessOf(c)}
	model, scenario, round := c.String("model"), c.String("scenario"), c.String("round")
	if _, err := os.Stat(s.log); err != nil {
		return nil, run.UsageError("log", "Give --log the folder of an accuracy run, a folder of LoadGen's logs, or a "+
			mllog.AccuracyName, "the log to score can not be read: %w", err)
	}
	if r, err := run.ReadRecord(s.log); err == nil {
		if s.record = r; r.Mode != string(models.Accuracy) {
			return nil, run.UsageError("log", "Give the folder of an accuracy run (run --mode accuracy)",
				"%s holds a %s run, whose log has no answers to score", s.log, r.Mode)
		}
		model, scenario, round = orElse(model, r.Model), orElse(scenario, r.Scenario), orElse(round, r.Round)
		s.dataset = orElse(s.dataset, datasetOf(s.log, r))
		s.folder = orElse(s.folder, s.log)
		if s.log, err = logFolderOf(s.log); err != nil {
			return nil, run.UsageError("log", "Copy the run's whole folder", "%w", err)
		}
	}
	if info, err := os.Stat(s.log); err == nil && info.IsDir() {
		s.log = filepath.Join(s.log, mllog.AccuracyName)
	} else if file, err := filepath.EvalSymlinks(s.log); err == nil {
		// the user's own link; those inside of a folder are not followed
		s.log = file
	}
	s.folder = orElse(s.folder, filepath.Dir(s.log))
	for _, needed := range []struct{ name, value string }{{"model", model}, {"dataset", s.dataset}} {
		if needed.value == "" {
			return nil, run.UsageError(needed.name, "Give --"+needed.name,
				"no --%s is given, and %s is no run's folder that would tell it", needed.name, c.String("log"))
		}
	}
	if _, err := os.Stat(s.dataset); err != nil && s.record != nil && c.String("dataset") == "" {
		return nil, run.UsageError("dataset", "Start where the run was started, or give --dataset",
			"the run's data set, %s as its record names it, is not found from this folder: %w", s.dataset, err)
	}
	m, err := models.Find(model)
	if err != nil {
		return nil, err
	}
	s.round = orElse(round, rounds.Last(m.Row))
	of, err := rounds.Find(s.round)
	if err == nil {
		s.row, err = of.Row(m.Row)
	}
	if err != nil {
		return nil, run.UsageError("round", "", "--round %s: %w", s.round, err)
	}
	s.scenario = m.Scenario
	if scenario != "" {
		if s.scenario, err = models.ParseScenario(scenario); err != nil {
			return nil, run.UsageError("scenario", "", "%w", err)
		}
	}
	return s, nil
}

// logFolderOf is the folder of LoadGen's logs in a run's folder. A link in its place leads to another run's.
func logFolderOf(folder string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	logs, err := atomicfile.FolderIn(root, run.LogFolder)
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, run.LogFolder), logs.Close()
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// datasetOf is the data set of a run: its own copy, or the path that the record names.
func datasetOf(folder string, r *run.Record) string {
	own := filepath.Join(folder, run.DatasetName)
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return r.Dataset.Path
}

func (p *program) score(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	s, err := findScoring(c)
	if err != nil {
		return err
	}
	r, err := p.scoreOf(c, s)
	if err != nil {
		return err
	}
	return p.writeScore(s, r)
}

// scoreOf scores a log. The tokenizer is the one that the command's flags name, where there is need of one.
func (p *program) scoreOf(c *cli.Context, s *scoring) (*accuracy.Result, error) {
	bench, err := accuracy.Find(s.row.Name)
	if err != nil {
		return nil, run.UsageError("model", "", "%w", err)
	}
	if err := s.checkLogs(); err != nil {
		return nil, err
	}
	o := bench.DatasetOptions(datasets.ForRow(s.row))
	if s.record != nil {
		o.Limit = s.record.Dataset.Samples
	}
	ds, err := datasets.Open(s.dataset, o)
	if err != nil {
		return nil, err
	}
	if s.record != nil && s.record.Dataset.SHA256 != "" && s.record.Dataset.SHA256 != ds.SHA256 {
		return nil, run.UsageError("dataset", "Give the run's own with --dataset",
			"%s is not the data set of the run: its SHA-256 is %s, and the run's was %s", s.dataset, ds.SHA256,
			s.record.Dataset.SHA256)
	}
	if err := s.checkCount(len(ds.Samples)); err != nil {
		return nil, err
	}
	references, err := bench.References(ds)
	if err != nil {
		return nil, run.UsageError("dataset", "", "%w", err)
	}
	in := accuracy.Input{Benchmark: s.row.Name, Round: s.round, Scenario: s.scenario, Log: s.log, References: references,
		PerSample: c.Bool("per-sample"), Progress: p.scored(), Rehearsal: s.record != nil && s.record.Rehearsal}
	if bench.NeedsTokenizer() {
		if in.Remote, in.Tokenizer, err = p.tokensOf(c, s.row, ds); err != nil {
			return nil, err
		}
	}
	if in.Punkt, err = punktOf(c.String("punkt")); err != nil {
		return nil, run.UsageError("punkt", "", "%w", err)
	}
	in.DType = accuracy.DType(c.String("dtype"))
	judges, err := p.judges(c.Context, func(name string) string {
		if name == "run-code" && !c.IsSet(name) && in.Rehearsal && c.String("code-service") == "" { // as the run itself does
			return strconv.FormatBool(datasets.AsksForPrograms(s.row))
		}
		return fmt.Sprint(c.Value(name))
	}, &in)
	if err != nil {
		return nil, err
	}
	r, err := accuracy.Score(c.Context, in)
	if err = errors.Join(err, judges.close()); err != nil {
		return nil, run.UsageError("accuracy", "", "%w", err)
	}
	r.Notes = append(r.Notes, judges.notes...)
	return r, nil
}

// scored shows how far a scoring is that takes long: nothing for one that ends at once.
func (p *program) scored() func(done, total int) {
	last := time.Now()
	return func(done, total int) {
		if time.Since(last) >= lineEvery && !p.quiet && !p.noProgress {
			last = time.Now()
			fmt.Fprintf(p.messages, "scored %d of %d answers\n", done, total)
		}
	}
}

// writeScore leaves accuracy.txt and accuracy.json and gives the exit code.
func (p *program) writeScore(s *scoring, r *accuracy.Result) error {
	if err := os.MkdirAll(s.folder, s.access.Folder()); err != nil {
		return err
	}
	if err := run.WriteScore(s.access, s.folder, r); err != nil {
		return err
	}
	rehearsal := s.record != nil && s.record.Rehearsal
	if !r.Reached(rehearsal) {
		p.exit = run.ExitInvalid
	}
	if p.json {
		r.PerSample = nil // the file has it
		return r.WriteJSON(p.stdout)
	}
	if err := p.printMetrics(r.Metrics, rehearsal); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "answers  %d of %d samples, %d missing\n", r.Entries, r.Samples+r.Missing, r.Missing)
	for _, u := range r.Unclaimed {
		fmt.Fprintln(p.stdout, "not claimed:", u)
	}
	for _, u := range r.Unscored {
		fmt.Fprintf(p.stdout, "not scored: %d samples of %s: %s\n", u.Samples, u.Subset, u.Why)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(p.stdout, n)
	}
	return nil
}

// printMetrics shows each metric with its target and whether it is reached.
func (p *program) printMetrics(metrics []accuracy.Metric, rehearsal bool) error {
	w := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	for _, m := range metrics {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, strings.Trim(m.Text, "'"), m.Bounds(), m.Word(rehearsal))
	}
	return w.Flush()
}
