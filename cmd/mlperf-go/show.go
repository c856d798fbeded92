package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/report/lengths"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// showCommand prints results again.
type showCommand struct{ *program }

func (cmd showCommand) command() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print the results of runs again", ArgsUsage: "RUN...",
		Description: "RUN is the folder of a run, or the link latest beside it. The exit code does not depend on the " +
			"verdicts.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "answers", Usage: "add statistics of the answers: lengths of inputs and outputs, their ratio, " +
				"finish reasons"},
			plotFlag(),
		},
		Action: cmd.show, OnUsageError: usageError,
	}
}

// shown is one run of the command's result.
type shown struct {
	Folder  string          `json:"folder"`
	Record  *record.Record  `json:"record"`
	Answers *lengths.Report `json:"answers,omitempty"`
}

func (cmd showCommand) show(c *cli.Context) error {
	if c.NArg() == 0 {
		return run.UsageError("argument", "Write `mlperf-go show RUN...`", "this command requires the folder of a run")
	}
	format, err := plotFormat(c)
	if err != nil {
		return err
	}
	var runs []shown
	var panels []plot.Panel
	for _, folder := range c.Args().Slice() {
		s, err := readShown(folder, c.Bool("answers") || format != "")
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
		if i > 0 {
			cmd.out.line("")
		}
		cmd.print(&s)
	}
	return nil
}

// readShown reads a run's record, and the statistics of its answers if they are wanted.
func readShown(folder string, answers bool) (*shown, error) {
	s := &shown{Folder: filepath.Clean(folder)}
	var err error
	if s.Record, err = record.Read(folder); err != nil {
		return nil, run.UsageError("run", "Give the folder of a run; `mlperf-go submission status` shows a campaign's", "%w",
			err)
	}
	if answers {
		if s.Answers, err = lengths.OfAnswers(filepath.Join(folder, record.RequestsName)); err != nil {
			return nil, run.UsageError("requests", "The statistics need "+record.RequestsName+", which a run with "+
				"--no-request-log does not write", "%w", err)
		}
	}
	return s, nil
}

func (cmd showCommand) print(s *shown) {
	printSummary(cmd.out, s.Record)
	cmd.out.line("\nfolder      %s", s.Folder)
	if s.Answers == nil {
		return
	}
	cmd.printLengthTable(s.Answers)
	cmd.printParts("finish reason", "answers", s.Answers.Finishes)
	cmd.printParts("failed", "samples", s.Answers.Failures)
}
