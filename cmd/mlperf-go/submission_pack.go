package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/check"
	"github.com/mlperf-go/mlperf-go/submission/pack"
)

// packCommand makes the file that is handed in.
func (p *program) packCommand() *cli.Command {
	return &cli.Command{
		Name: "pack", Usage: "put a checked tree into the file that is handed in", ArgsUsage: "TREE", HideHelpCommand: true,
		OnUsageError: usageError,
		Description: "Checks the tree first, refuses secrets, hidden files and files that are too large, and reads the " +
			"packed file back.\n" +
			"With a password the file is encrypted as the organisers' script does it, with `openssl enc -aes256`.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output",
				Usage: "folder for the tarball and its checksums; default: the one that TREE lies in"},
			&cli.StringFlag{Name: "submitter", Usage: "whose folders are packed; default: the tree's only submitter"},
			&cli.StringFlag{Name: "password-file", Usage: "file whose first line is the password; none: the tarball is not " +
				"encrypted"},
			&cli.StringFlag{Name: "round", Value: rounds.Current, Usage: "round of the rules"},
			&cli.BoolFlag{Name: "rehearsal", Usage: "pack a tree in which nothing is wrong but that it is a rehearsal"},
		},
		Action: p.packTree,
	}
}

func (p *program) packTree(c *cli.Context) error {
	root, err := oneTree(c)
	if err != nil {
		return err
	}
	o := pack.Options{Root: root, Output: c.String("output"), Submitter: c.String("submitter")}
	if o.Output == "" {
		o.Output = filepath.Dir(filepath.Clean(root))
	}
	if path := c.String("password-file"); path != "" {
		if o.Password, err = firstLine(path); err != nil {
			return run.UsageError("password", "Give a file whose first line is the password", "%w", err)
		}
	}
	report, err := check.Check(c.Context, root, check.Options{Round: c.String("round"), Submitter: o.Submitter})
	switch {
	case err != nil:
		return run.UsageError("check", "", "%w", err)
	case !report.Valid && !(report.OnlyRehearsal() && c.Bool("rehearsal")):
		hint := "`mlperf-go submission check " + root + "` tells each"
		if report.OnlyRehearsal() {
			hint = "It is a rehearsal: give --rehearsal to pack it as one"
		}
		return &run.Error{Exit: run.ExitInvalid, Code: "not_valid",
			Err: fmt.Errorf("the tree %s has %d errors and is not packed", root, report.Counts.Errors), Hint: hint}
	}
	r, err := pack.Pack(c.Context, o)
	var refused *pack.Refusal
	switch {
	case errors.As(err, &refused):
		return &run.Error{Exit: run.ExitInvalid, Code: "not_packed", Err: err}
	case err != nil:
		return run.UsageError("pack", "", "%w", err)
	}
	if p.json {
		p.writeJSON(r)
		return nil
	}
	if !p.quiet {
		fmt.Fprintf(p.stdout, "%s  %d files, %d bytes\nsha1    %s\nsha256  %s\nfiles   %s\n", r.Tarball, r.Files, r.Bytes,
			r.SHA1, r.SHA256, r.List)
		if !report.Valid {
			fmt.Fprintln(p.stdout, "A rehearsal: not for submission.")
		}
	}
	return nil
}

// maxPassword bounds a password, in bytes.
const maxPassword = 4096

func firstLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the password can not be read: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxPassword)
	in.Scan()
	if err := in.Err(); err != nil {
		return "", fmt.Errorf("the password can not be read from %s: %w", path, err)
	}
	password := strings.TrimRight(in.Text(), "\r\n")
	if password == "" {
		return "", fmt.Errorf("the first line of %s is empty", path)
	}
	return password, nil
}
