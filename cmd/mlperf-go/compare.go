package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compare"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// compareCommand compares results.
type compareCommand struct{ *program }

func (cmd compareCommand) command() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "compare results: what differs, by how much, and whether it may be noise",
		ArgsUsage: "A B [C...]", HideHelpCommand: true, OnUsageError: usageError,
		Description: "A, B and C are folders of runs, campaigns, tunes or sweeps, or submission trees of v5.1 and later; " +
			"or all are runs of workloads. Each of the others is compared with A.\n" +
			"Results under different rules are shown side by side and not ranked.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "gate", Usage: "exit with code 1 if a figure certainly got worse, or if results cannot be " +
				"compared"},
			&cli.Float64Flag{Name: "gate-threshold", Usage: "share by which a figure may get worse, such as 0.02"},
			&cli.Float64Flag{Name: "confidence", Value: compare.DefaultConfidence,
				Usage: "confidence of all intervals of a pair together"},
			percentilesFlag(),
			&cli.StringFlag{Name: "html", Usage: "HTML file to write"},
			&cli.StringFlag{Name: "submitter", Usage: "compare only this submitter's results of a tree"},
			&cli.StringFlag{Name: "round", Usage: "round whose rules apply to a tree", DefaultText: "the round whose seeds " +
				"its logs have"},
		},
		Action: cmd.run,
	}
}

func (cmd compareCommand) run(c *cli.Context) error {
	if c.NArg() < 2 {
		return exit.Usage(exit.CodeArgument, "Write `mlperf-go compare A B`",
			"this command requires two folders with results")
	}
	percentiles, err := percentilesOf(c)
	if err != nil {
		return err
	}
	confidence, threshold := c.Float64("confidence"), c.Float64("gate-threshold")
	switch {
	case !(confidence >= 0.5 && confidence < 1):
		return exit.Usage(exit.CodeConfidence, "Give a share such as 0.95", "--confidence %v is not between 0.5 and 1",
			confidence)
	case !(threshold >= 0 && threshold < 1):
		return exit.Usage(exit.CodeGateThreshold, "Give a share such as 0.02", "--gate-threshold %v is not between 0 and 1",
			threshold)
	}
	settings := compare.Settings{Percentiles: percentiles, Confidence: confidence, Gate: c.Bool("gate"),
		Threshold: threshold}
	if workloads, err := areWorkloads(c, c.Args().Slice()); err != nil {
		return err
	} else if workloads {
		return cmd.compareWorkloads(c, settings)
	}
	var sources []*compare.Source
	for _, folder := range c.Args().Slice() {
		s, err := readSource(c, folder)
		if err != nil {
			return err
		}
		sources = append(sources, s)
	}
	r := compare.Compare(sources, settings)
	if r.Gate != nil && !r.Gate.Passed {
		cmd.exit = run.ExitInvalid
	}
	if path := c.String("html"); path != "" {
		if err := atomicfile.Write(path, func(w io.Writer) error { return r.HTML(w) }); err != nil {
			return exit.Environment(exit.CodeHTML, "Choose another --html", "the page cannot be written: %w", err)
		}
	}
	switch {
	case cmd.json:
		cmd.writeJSON(r)
	case cmd.quiet:
		cmd.printGate(r.Gate)
	default:
		return r.Text(cmd.stdout)
	}
	return nil
}

// printGate prints the verdict line of --quiet. It is the gate's verdict, so a comparison without --gate has none.
func (cmd compareCommand) printGate(g *compare.Gate) {
	if g != nil {
		cmd.out.line("%s", g.Verdict())
	}
}

// readSource reads results that are not runs of a workload.
func readSource(c *cli.Context, folder string) (*compare.Source, error) {
	s, err := compare.Read(c.Context, folder, compare.Options{Submitter: c.String("submitter"), Round: c.String("round")})
	if err != nil {
		return nil, exit.Usage(exit.CodeResults, "Give the folder of a run, a campaign, a tune or a sweep, or a submission "+
			"tree", "%w", err)
	}
	return s, nil
}
