package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

// truncated describes the truncation of a log in one line.
func truncated(t truncate.Target) string {
	path := foreign.Line(t.Path, 4096)
	switch {
	case t.Before != t.After:
		return fmt.Sprintf("%s  %s  %d -> %d bytes", t.State, path, t.Before, t.After)
	case t.State == truncate.Truncated:
		return fmt.Sprintf("hashed  %s  %d bytes: too short to be cut", path, t.After)
	}
	return fmt.Sprintf("%s  %s  %d bytes, unchanged", t.State, path, t.After)
}

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
			root, err := oneTree(cmd.program, c)
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
				fmt.Fprintln(cmd.stdout, truncated(t))
			}
			return nil
		},
	}
}
