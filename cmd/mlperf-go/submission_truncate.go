package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

// truncateCommand cuts the accuracy logs of a tree to the size that the organisers require.
type truncateCommand struct{ *program }

func (cmd truncateCommand) command() *cli.Command {
	return &cli.Command{
		Name: "truncate", Usage: "truncate the accuracy logs of a submission tree and keep the originals", ArgsUsage: "TREE",
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "submitter", Required: true, Usage: "name of the submitter's folder in each division"},
			&cli.StringFlag{Name: "backup", Required: true, Usage: "folder outside the tree for the original logs"},
			&cli.StringSliceFlag{Name: "skip", Usage: "scenario folders to skip"},
		},
		Action: func(c *cli.Context) error {
			root, err := cmd.oneTree(c)
			if err != nil {
				return err
			}
			targets, err := truncate.Tree(c.Context, root,
				truncate.Options{Submitter: c.String("submitter"), Backup: c.String("backup"), Skip: c.StringSlice("skip")})
			if err != nil {
				return exit.Usage(exit.CodeTruncate, "", "%w", err)
			}
			if cmd.json {
				cmd.writeJSON(map[string]any{"root": root, "logs": targets})
				return nil
			}
			for _, t := range targets {
				fmt.Fprintf(cmd.stdout, "%s  %s  %d -> %d bytes\n", t.State, foreign.Line(t.Path, 4096), t.Before, t.After)
			}
			return nil
		},
	}
}
