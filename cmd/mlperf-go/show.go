package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/experiment"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/internal/statefile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report/lengths"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/sweep"
	"github.com/mlperf-go/mlperf-go/tune"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/search"
)

// showCommand prints results again.
type showCommand struct{ *program }

func (cmd showCommand) command() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print the results of runs, tunes, searches, sweeps, experiments and campaigns again",
		ArgsUsage: "RUN...",
		Description: "RUN is the folder of a run, a tune, a search, a sweep, an experiment or a campaign, or the link " +
			"latest beside it. The exit code does not depend on the verdicts.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "answers", Usage: "add statistics of the answers: lengths of inputs and outputs, their ratio, " +
				"finish reasons"},
			percentilesFlag(), plotFlag(),
			&cli.StringFlag{Name: "definitions", Usage: "for the run of a workload: client whose definitions the figures " +
				"follow: " + definitionsUsage()},
			sloFlag(),
		},
		Action: cmd.show, OnUsageError: usageError,
	}
}

// shown is one run of the command's result.
type shown struct {
	Folder  string          `json:"folder"`
	Record  *record.Record  `json:"record,omitempty"`  // of a run
	Crashed *record.Crashed `json:"crashed,omitempty"` // of a run without a record
	Answers *lengths.Report `json:"answers,omitempty"`
	Version string          `json:"other_version,omitempty"` // how the record is not of this version

	Bench      *bench.Record     `json:"bench,omitempty"` // of a workload
	Tune       *tune.State       `json:"tune,omitempty"`
	Peak       *tune.Peak        `json:"find_peak,omitempty"` // of a search by LoadGen
	Sweep      *sweep.State      `json:"sweep,omitempty"`
	Campaign   map[string]any    `json:"campaign,omitempty"`
	Experiment *experiment.State `json:"experiment,omitempty"`
	Search     *search.State     `json:"search,omitempty"` // of a workload

	state    *campaign.State
	outcomes []campaign.Outcome
	other    *statefile.OtherVersion
}

func (cmd showCommand) show(c *cli.Context) error {
	if c.NArg() == 0 {
		return exit.Usage(exit.CodeArgument, nearRuns("show", results.Root, "Write `mlperf-go show RUN...`"),
			"this command requires the folder of a run")
	}
	format, err := plotFormat(c)
	if err != nil {
		return err
	}
	percentiles, err := percentilesOf(c)
	if err != nil {
		return err
	}
	var runs []shown
	var panels []plot.Panel
	for _, folder := range c.Args().Slice() {
		s, err := readShown(folder, c.Bool("answers") || format != "", percentiles)
		if err == nil {
			err = s.remeasure(c)
		}
		if err != nil {
			return err
		}
		if runs = append(runs, *s); s.Answers != nil {
			panels = append(panels, s.Answers.Panels(filepath.Clean(folder))...)
		}
	}
	if format != "" {
		if err := drawReports(c.String("plot"), format, panels); err != nil {
			return err
		}
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"runs": runs, "plot": c.String("plot")})
		return nil
	}
	for i, s := range runs {
		if i > 0 && !cmd.quiet {
			cmd.out.line("")
		}
		if err := cmd.print(&s); err != nil {
			return err
		}
	}
	return nil
}

// readShown reads the state of a tune, a sweep, an experiment or a campaign, or a run. The record or state may be of
// another version.
func readShown(folder string, answers bool, percentiles []float64) (*shown, error) {
	s := &shown{Folder: filepath.Clean(folder)}
	err := checkIsFolder(folder)
	if err != nil {
		return nil, err
	}
	for _, read := range []func() (bool, error){
		func() (bool, error) { return readState(s, &s.Tune, tune.ReadState, exit.CodeTune) },
		func() (bool, error) { return readState(s, &s.Peak, tune.ReadPeak, exit.CodeTune) },
		func() (bool, error) { return readState(s, &s.Sweep, sweep.ReadState, exit.CodeSweep) },
		func() (bool, error) { return readState(s, &s.Experiment, experiment.ReadState, exit.CodeExperiment) },
		func() (bool, error) { return readState(s, &s.Search, search.ReadState, exit.CodeSearch) },
	} {
		if found, err := read(); found || err != nil {
			if s.Tune != nil {
				s.Tune.Recheck(s.Folder)
			}
			return s, err
		}
	}
	if _, err = os.Lstat(filepath.Join(folder, layout.StateName)); err == nil {
		s.state, s.outcomes, err = campaign.Inspect(folder)
		if err = s.allow(err); err != nil {
			return nil, exit.Usage(exit.CodeCampaign, nearRuns("show", folder, ""), "%w", err)
		}
		s.Campaign = outcomesJSON(s.state, s.outcomes)
		return s, nil
	}
	if bench.Holds(folder) {
		s.Bench, err = bench.Read(folder)
		if err = s.allow(err); err == nil && s.other != nil {
			s.Bench, _ = s.other.Value.(*bench.Record)
		}
		return s, err
	}
	return s, s.readRun(folder, answers, percentiles)
}

// readState reads a state of one kind, also that of another version. found is false if the folder has none.
func readState[S any](s *shown, into **S, read func(string) (*S, error), code exit.Code) (found bool, err error) {
	*into, err = read(s.Folder)
	if errors.Is(err, statefile.ErrNone) {
		return false, nil
	}
	if err = s.allow(err); err != nil {
		return true, exit.Usage(code, nearRuns("show", s.Folder, ""), "%w", err)
	}
	if s.other != nil {
		*into, _ = s.other.Value.(*S)
	}
	return true, nil
}

// allow keeps the error of another version, which can be shown, and returns others.
func (s *shown) allow(err error) error {
	if !errors.As(err, &s.other) {
		return err
	}
	s.Version = s.other.Note()
	return nil
}

// remeasure computes the figures of a workload's run again if a flag requests others.
func (s *shown) remeasure(c *cli.Context) error {
	if !c.IsSet("definitions") && !c.IsSet("slo") {
		return nil
	}
	if s.Bench == nil {
		flag := map[bool]string{true: "definitions", false: "slo"}[c.IsSet("definitions")]
		return exit.Usage(exit.CodeFlag, "Leave it out, or give the folder of a `mlperf-go bench run`",
			"--%s has no effect on %s, which is not the run of a workload", flag, s.Folder)
	}
	limits, err := measure.ParseLimits(c.String("slo"))
	if err != nil {
		return exit.Usage(exit.CodeSLO, "", "%w", err)
	}
	if _, err := measure.Define(c.String("definitions")); err != nil {
		return exit.Usage(exit.CodeDefinitions, "", "%w", err)
	}
	s.Bench.Measured, err = bench.Remeasure(s.Folder, s.Bench, c.String("definitions"), limits)
	return err
}

// needsRequests is the hint for a run without a request log.
const needsRequests = "This needs " + record.RequestsName + ", which a run with --no-request-log does not write"

// readRun reads a run's record, and on request other percentiles and the statistics of its answers.
func (s *shown) readRun(folder string, answers bool, percentiles []float64) (err error) {
	s.Record, err = record.Read(folder)
	if err = s.allow(err); s.other != nil {
		s.Record, _ = s.other.Value.(*record.Record)
	}
	if err != nil {
		if s.Crashed = record.ReadCrashed(folder); s.Crashed != nil && !answers && len(percentiles) == 0 {
			return nil
		}
		return exit.Usage(exit.CodeRun,
			nearRuns("show", folder, "Give the folder of a run, a tune, a sweep or a campaign"), "%w", err)
	}
	path := filepath.Join(folder, record.RequestsName)
	if len(percentiles) > 0 {
		t, err := ledger.ReadRequests(path)
		if err != nil {
			return exit.Usage(exit.CodeRequests, needsRequests, "--percentiles: %w", err)
		}
		s.Record.Percentiles = &record.Percentiles{Percents: percentiles, Percentiles: t.Percentiles(percentiles)}
	}
	if answers {
		if s.Answers, err = lengths.OfAnswers(path); err != nil {
			return exit.Usage(exit.CodeRequests, needsRequests, "%w", err)
		}
	}
	return nil
}

// printCampaign prints the table that the last run of a campaign printed.
func (cmd showCommand) printCampaign(s *shown) {
	last := s.state.OfLastRun(s.outcomes)
	submissionCommand(cmd).printOutcomes(s.state, last)
	if n := len(s.outcomes) - len(last); n > 0 && !cmd.quiet {
		cmd.out.line("\n%s not chosen by --only of the last run: mlperf-go submission status %s",
			plural.Count(n, "step was", "steps were"), servers.Quote(s.Folder))
	}
}

// crashedLine describes the folder of a run without a record.
func crashedLine(folder string, c *record.Crashed) string {
	return fmt.Sprintf("CRASHED: %s has no %s, because the run was killed or still goes on; it began %s, and left %s",
		folder, record.FileName, c.Began.Format(time.RFC3339), strings.Join(c.Parts, ", "))
}

func (cmd showCommand) print(s *shown) error {
	if s.Version != "" {
		cmd.out.line("OTHER VERSION: %s: %s", s.Folder, foreign.Line(s.Version, 600))
	}
	switch {
	case s.Crashed != nil:
		cmd.out.line("%s", crashedLine(s.Folder, s.Crashed))
		return nil
	case s.Tune != nil:
		return tuneCommand(cmd).print(s.Tune, s.Folder)
	case s.Peak != nil:
		return tuneCommand(cmd).printPeak(s.Peak, s.Folder)
	case s.Sweep != nil:
		return sweepCommand(cmd).print(s.Sweep, s.Folder)
	case s.Experiment != nil:
		return experimentCommand(cmd).print(s.Experiment, s.Folder)
	case s.Search != nil:
		return benchCommand(cmd).printSearch(s.Search, s.Folder)
	case s.state != nil:
		cmd.printCampaign(s)
	case s.Bench != nil && cmd.quiet:
		printBenchVerdict(cmd.out, s.Bench, s.Bench.Measured)
	case s.Bench != nil:
		printBench(cmd.out, s.Bench, s.Bench.Measured)
	case cmd.quiet:
		printVerdictLine(cmd.out, s.Record)
	default:
		printSummary(cmd.out, s.Record)
	}
	if cmd.quiet {
		return nil
	}
	cmd.out.line("\nfolder      %s", s.Folder)
	if s.Answers == nil {
		return nil
	}
	cmd.printLengthTable(s.Answers)
	cmd.printParts("finish reason", "answers", s.Answers.Finishes)
	cmd.printParts("failed", "samples", s.Answers.Failures)
	return nil
}
