package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/run/exit"
	description "github.com/mlperf-go/mlperf-go/submission/describe"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// initCommand writes a description of a system to fill in.
type initCommand struct{ *program }

// initCommand writes the file in which a person describes a system.
func (cmd initCommand) command() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "write a template for the description of a system",
		OnUsageError: usageError,
		Description: "Run it on the machine with the accelerators: it fills in what it detects there. The file is YAML, or " +
			"JSON " +
			"if its name ends in .json.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Value: "submission.yaml", Usage: "file to write"},
			&cli.StringFlag{Name: "submitter", Usage: "name of the submitter's folder"},
			&cli.StringFlag{Name: "division", Value: layout.Closed, Usage: "closed, open or network"},
			&cli.BoolFlag{Name: "no-machine", Usage: "do not detect the machine; leave every field empty"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"},
		},
		Action: cmd.run,
	}
}

func (cmd initCommand) run(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	path := c.String("output")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !c.Bool("force") {
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output, or give --force to replace it",
			"cannot write the description to %s: the file exists", path)
	}
	d := description.New()
	d.Submitter, d.Division = c.String("submitter"), c.String("division")
	if !slices.Contains(layout.Divisions(), d.Division) {
		return exit.Usage(exit.CodeDivision, "Use one of "+strings.Join(layout.Divisions(), ", "), "unknown division %q",
			d.Division)
	}
	if !c.Bool("no-machine") {
		d.Fill(description.OfMachine(hostinfo.Inspect(), "this machine"))
	}
	write := d.WriteYAML
	if filepath.Ext(path) == ".json" {
		write = d.WriteJSON
	}
	if err := atomicfile.Write(path, write); err != nil {
		return err
	}
	d.System["submitter"], d.System["division"] = d.Submitter, d.Division
	missing := d.Missing(d.Division)
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": path, "missing": missing, "filled": d.From})
		return nil
	}
	if !cmd.quiet {
		cmd.out.line("wrote %s. Please fill in: %s", path, strings.Join(missing, ", "))
	}
	return nil
}
