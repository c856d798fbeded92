package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/experiment"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// experimentCommand compares ways to send the samples of an Offline test.
type experimentCommand struct{ *program }

const experimentGroup = "Experiment"

// Defaults of an experiment. The sizes cover the defaults of engines for sequences that run at once.
const (
	defaultRepeats = 5
	defaultSizes   = "16,64,256"
	defaultWindow  = 64
)

func (cmd experimentCommand) command() *cli.Command {
	repeats := &cli.IntFlag{Name: "repeats", Category: experimentGroup, Value: defaultRepeats,
		Usage: "passes over all samples for each arrangement"}
	return &cli.Command{
		Name: "experiment", Usage: "compare ways to send the samples of an Offline test",
		Subcommands: []*cli.Command{
			{Name: "offline-batching", OnUsageError: usageError,
				Usage: "compare all at once, windows, batches and sorted order",
				Description: "Sends the same samples all at once, with a number in flight, in batches that wait for their " +
					"slowest answer, and sorted by length. Accepts the settings of `mlperf-go run`.\n" +
					"The passes are interleaved. Its folder contains experiment.json, a table and a plot, and continues with " +
					"--resume.",
				Flags: append(settingFlagsOf("MODEL-offline-batching", "Offline", "Offline"), repeats,
					&cli.StringFlag{Name: "windows", Category: experimentGroup, Value: defaultSizes,
						Usage: "numbers of requests in flight, separated by commas"},
					&cli.StringFlag{Name: "batches", Category: experimentGroup, Value: defaultSizes,
						Usage: "sizes of batches, separated by commas"}),
				Action: cmd.batching},
			{Name: "partition", OnUsageError: usageError,
				Usage: "compare ways to divide the samples among replicas",
				Description: "Divides the same samples among the endpoints: in contiguous pieces, in turn, the longest first to " +
					"the one with the least work, and by work stealing. Accepts the settings of `mlperf-go run`.\n" +
					"Its folder contains experiment.json, a table and a plot, and continues with --resume.",
				Flags: append(settingFlagsOf("MODEL-partition", "Offline", "Offline"), repeats,
					&cli.IntFlag{Name: "window", Category: experimentGroup, Value: defaultWindow,
						Usage: "requests in flight at each replica"}),
				Action: cmd.partition},
		},
	}
}

func (cmd experimentCommand) batching(c *cli.Context) error {
	windows, err := sizes(c, "windows")
	if err != nil {
		return err
	}
	batches, err := sizes(c, "batches")
	if err != nil {
		return err
	}
	return cmd.measure(c, experiment.OfflineBatching, experiment.Batching(windows, batches))
}

func (cmd experimentCommand) partition(c *cli.Context) error {
	window := c.Int("window")
	if window < 1 || window > largestSize {
		return exit.Usage(exit.CodeSizes, "", "--window %d is not between 1 and %d", window, largestSize)
	}
	return cmd.measure(c, experiment.Partition, experiment.Partitions(window))
}

// largestSize is more than any server runs at once.
const largestSize = 1 << 20

// sizes parses a list of sizes. An empty list omits the arrangement.
func sizes(c *cli.Context, name string) ([]int, error) {
	var list []int
	for word := range strings.SplitSeq(c.String(name), ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > largestSize {
			return nil, exit.Usage(exit.CodeSizes, "Write whole numbers with commas, such as 16,64,256",
				"--%s: %.40q is not a number between 1 and %d", name, word, largestSize)
		}
		list = append(list, n)
	}
	return list, nil
}

func (cmd experimentCommand) measure(c *cli.Context, of experiment.Of, list []experiment.Arrangement) error {
	p, err := cmd.probePlan(c, "an experiment", "")
	if err != nil {
		return err
	}
	o := experiment.Options{Plan: p, Of: of, Arrangements: list, Repeats: c.Int("repeats"),
		Resume: p.Config.Bool("resume")}
	o.Folder = results.Choose(p.Config.String("output-dir"), fmt.Sprintf("%s-%s", p.Row.Name, of), o.Resume, time.Now())
	o.Observer = &experimentProgress{newStudyProgress(cmd.program, p, o.Folder)}
	if err := o.Check(); err != nil {
		return err
	}
	if err := checkProbes(p); err != nil {
		return err
	}
	cmd.measures()
	state, err := experiment.Run(c.Context, o)
	results.Discard(o.Folder) // removed if it is empty
	if err != nil {
		return cmd.explain(c.Context, err, o.Folder, state != nil && len(state.Trials) > 0, func() error {
			return cmd.print(state, o.Folder)
		})
	}
	if state.Result.Best < 0 {
		cmd.exit = run.ExitInvalid
	}
	return cmd.print(state, o.Folder)
}

func (cmd experimentCommand) print(s *experiment.State, folder string) error {
	if cmd.json {
		cmd.writeJSON(s)
		return nil
	}
	if cmd.quiet {
		if s.Result != nil && s.Result.Best < 0 {
			cmd.log.Error("no trial counts: " + s.Trials[0].Spoiled[0].Text)
		}
		if s.Result != nil {
			cmd.out.line("%s", s.Result.Advice)
		}
		return nil
	}
	if err := s.WriteTable(cmd.stdout); err != nil {
		return err
	}
	fmt.Fprintf(cmd.stdout, "\nfolder      %s\n", folder)
	if s.Result != nil {
		fmt.Fprintf(cmd.stdout, "plot        %s\n", filepath.Join(folder, experiment.PlotName))
	}
	return nil
}

// experimentProgress shows an experiment on stderr: a line for each trial, and the trial in progress.
type experimentProgress struct{ *studyProgress }

// Begins reports the next trial.
func (g *experimentProgress) Begins(name string, round, of int) {
	g.point()
	g.title = fmt.Sprintf("pass %d of %d, %s", round, of, name)
	if round == 0 {
		g.title = "warm-up, " + name
	}
	g.log.Info(g.title)
}

// Repeats reports a trial that does not count.
func (g *experimentProgress) Repeats(t *experiment.Trial) {
	g.repeats(t.Spoiled)
}

// Measured reports what a trial has shown.
func (g *experimentProgress) Measured(t *experiment.Trial, left time.Duration) {
	if g.spoiled(t.Spoiled) {
		return
	}
	g.log.Info(fmt.Sprintf("%s: %s samples/s, %s tokens/s, %s; about %v left", g.title, plural.Figure(t.SamplesPerS),
		plural.Figure(t.OutputTokensPerS), plural.Count(t.Samples, "sample", "samples"), left.Round(time.Second)))
}
