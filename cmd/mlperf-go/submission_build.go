package main

import (
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/submission"
	description "github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
	"github.com/mlperf-go/mlperf-go/submission/tree"
)

// buildCommand builds a submission tree.
type buildCommand struct{ *program }

// buildCommand builds a tree from a campaign's runs.
func (cmd buildCommand) command() *cli.Command {
	return &cli.Command{
		Name: "build", Usage: "build a submission tree from a campaign's runs", ArgsUsage: "CAMPAIGN",
		OnUsageError: usageError,
		Description: "Combines the runs in the folder CAMPAIGN, the description in --system, and what was detected on the " +
			"machine and the endpoint.\n" +
			"Exit code 1: a run cannot be submitted; 2: the description is incomplete. In both cases all reasons are listed " +
			"and nothing is written.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Usage: "root of the tree; default: CAMPAIGN/" + layout.TreeName},
			&cli.StringFlag{Name: "system", Usage: "file that describes the system and the submission; " +
				"mlperf-go submission init writes one"},
			&cli.StringFlag{Name: "submitter", Usage: "name of the submitter's folder; default: the description's"},
			&cli.StringFlag{Name: "division", Usage: "closed, open or network; default: the description's, or the campaign's"},
			&cli.StringFlag{Name: "round", Usage: "round whose layout and seeds apply",
				DefaultText: "the campaign's, or " + rounds.Current},
			&cli.BoolFlag{Name: "rehearsal", Usage: "accept rehearsals and mark the tree as one"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite an existing tree"},
		},
		Action: cmd.run,
	}
}

func (cmd buildCommand) run(c *cli.Context) error {
	campaign, err := oneArgument(c, "campaign's folder", "CAMPAIGN")
	if err != nil {
		return err
	}
	o := tree.Options{
		Campaign: campaign, Output: c.String("output"), Round: c.String("round"), Division: c.String("division"),
		Submitter: c.String("submitter"),
		Rehearsal: c.Bool("rehearsal"), Force: c.Bool("force"),
	}
	if path := c.String("system"); path != "" {
		if o.Description, err = description.Read(path); err != nil {
			return exit.Usage(exit.CodeSystem, "", "%w", err)
		}
	}
	r, err := submission.Build(c.Context, o)
	if err != nil {
		return err
	}
	if cmd.json {
		cmd.writeJSON(r)
		return nil
	}
	cmd.printTree(r)
	return nil
}
