package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

// truncateCommand cuts the accuracy logs of a tree, as the organisers want them.
func (p *program) truncateCommand() *cli.Command {
	return &cli.Command{
		Name: "truncate", Usage: "cut the accuracy logs of a submission tree, and keep the originals", ArgsUsage: "TREE",
		HideHelpCommand: true, OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "submitter", Required: true, Usage: "folder name of the submitter below each division"},
			&cli.StringFlag{Name: "backup", Required: true, Usage: "folder outside of the tree for the whole logs"},
			&cli.StringSliceFlag{Name: "skip", Usage: "scenario folders that are left alone"},
		},
		Action: func(c *cli.Context) error {
			root, err := oneTree(c)
			if err != nil {
				return err
			}
			targets, err := truncate.Tree(c.Context, root,
				truncate.Options{Submitter: c.String("submitter"), Backup: c.String("backup"), Skip: c.StringSlice("skip")})
			if err != nil {
				return run.UsageError("truncate", "", "%w", err)
			}
			if p.json {
				p.writeJSON(map[string]any{"root": root, "logs": targets})
				return nil
			}
			for _, t := range targets {
				fmt.Fprintf(p.stdout, "%s  %s  %d -> %d bytes\n", t.State, foreign.Line(t.Path, 4096), t.Before, t.After)
			}
			return nil
		},
	}
}

func oneTree(c *cli.Context) (string, error) { return oneArgument(c, "submission tree", "TREE") }

func oneArgument(c *cli.Context, what, name string) (string, error) {
	if c.NArg() != 1 {
		return "", run.UsageError("argument", "Write `mlperf-go submission "+c.Command.Name+" "+name+"`",
			"one %s is expected", what)
	}
	return c.Args().First(), nil
}

// checkCommand holds a tree against the rules.
func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "hold a submission tree against the rules", ArgsUsage: "TREE", HideHelpCommand: true,
		OnUsageError: usageError,
		Description: "Exit code 0: valid, or a tree that says that it is a rehearsal and has no other error than class " +
			"rehearsal; 1: anything else.\n" +
			"With --compat the official checker's: 1 for a rehearsal too.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "round", Value: rounds.Current, Usage: "round of the rules"},
			&cli.BoolFlag{Name: "compat", Usage: "only what the official checker says"},
			&cli.BoolFlag{Name: "only-known", Usage: "leave out benchmarks that generate no text, instead of counting them as " +
				"not judged"},
			&cli.StringFlag{Name: "submitter", Usage: "only this submitter's folders"},
			&cli.StringFlag{Name: "csv", Usage: "file for the official summary"},
			&cli.StringFlag{Name: "final-report", Usage: "file for the JSON of the organisers' final report"},
			&cli.StringFlag{Name: "ids", Usage: "file with the numbers that earlier reports gave, in the form of ids.json; " +
				"new ones are added"},
			&cli.StringFlag{Name: "repository", Usage: "repository of the submissions, for the report's links",
				DefaultText: "submissions_inference_ROUND"},
			&cli.StringFlag{Name: "repository-owner", Value: "mlcommons", Usage: "owner of that repository"},
			&cli.StringFlag{Name: "repository-branch", Value: "main", Usage: "branch of that repository"},
			&cli.StringFlag{Name: "location", Usage: "what stands before the paths in the summary"},
			&cli.BoolFlag{Name: "submission-exceptions", Usage: "the official checker's switch of that name"},
			&cli.BoolFlag{Name: "skip-meaningful-fields-emptiness-check", Usage: "the official checker's switch of that name"},
			&cli.BoolFlag{Name: "skip-empty-files-check", Usage: "the official checker's switch of that name"},
			&cli.BoolFlag{Name: "skip-dataset-size-check", Usage: "the official checker's switch of that name"},
		},
		Action: p.checkTree,
	}
}

func (p *program) checkTree(c *cli.Context) error {
	root, err := oneTree(c)
	if err != nil {
		return err
	}
	o := check.Options{
		Round: c.String("round"), Mode: check.Strict, Submitter: c.String("submitter"), Location: c.String("location"),
		OnlyKnown:            c.Bool("only-known"),
		SubmissionExceptions: c.Bool("submission-exceptions"),
		SkipEmptyFields:      c.Bool("skip-meaningful-fields-emptiness-check"),
		SkipEmptyFiles:       c.Bool("skip-empty-files-check"), SkipDatasetSize: c.Bool("skip-dataset-size-check"),
	}
	if c.Bool("compat") {
		o.Mode = check.Compat
	}
	r, err := check.Check(c.Context, root, o)
	if err != nil {
		return run.UsageError("check", "", "%w", err)
	}
	if path := c.String("csv"); path != "" {
		if err := atomicfile.Write(path, func(w io.Writer) error { return r.CSV(w) }); err != nil {
			return err
		}
	}
	if c.String("final-report") != "" || c.String("ids") != "" {
		if err := finalReport(c, r); err != nil {
			return err
		}
	}
	if !r.OnlyRehearsal() { // a valid tree has no error at all
		p.exit = run.ExitInvalid
	}
	if p.json {
		return r.JSON(p.stdout)
	}
	return r.Text(p.stdout)
}
