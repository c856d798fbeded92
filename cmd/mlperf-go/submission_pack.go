package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/submission"
	"github.com/mlperf-go/mlperf-go/submission/pack"
)

// packCommand packs a checked tree.
type packCommand struct{ *program }

// packCommand creates the file to submit.
func (cmd packCommand) command() *cli.Command {
	return &cli.Command{
		Name: "pack", Usage: "check a tree and pack it for upload", ArgsUsage: "TREE",
		OnUsageError: usageError,
		Description: "Checks the tree first, rejects secrets, hidden files and files that are too large, and verifies the " +
			"packed file.\n" +
			"With --password-file the tarball is encrypted with `openssl enc -aes256`, as the organisers' script does.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output",
				Usage: "folder for the tarball and its checksums; default: the parent of TREE"},
			&cli.StringFlag{Name: "submitter", Usage: "submitter whose folders are packed; default: the only one in the tree"},
			&cli.StringFlag{Name: "password-file", Usage: "file whose first line is the password; default: no encryption"},
			&cli.StringFlag{Name: "round", Value: rounds.Current, Usage: "round whose rules apply"},
			&cli.BoolFlag{Name: "rehearsal", Usage: "also pack a rehearsal that has no other errors"},
		},
		Action: cmd.run,
	}
}

func (cmd packCommand) run(c *cli.Context) error {
	root, err := oneTree(cmd.program, c)
	if err != nil {
		return err
	}
	o := submission.PackOptions{Round: c.String("round"), Rehearsal: c.Bool("rehearsal"),
		Options: pack.Options{Root: root, Output: c.String("output"), Submitter: c.String("submitter")}}
	if path := c.String("password-file"); path != "" {
		if o.Password, err = firstLine(path); err != nil {
			return exit.Usage(exit.CodePassword, "Give a file whose first line is the password", "%w", err)
		}
	}
	r, report, err := submission.Pack(c.Context, o)
	if err != nil {
		return err
	}
	if cmd.json {
		cmd.writeJSON(r)
		return nil
	}
	if !cmd.quiet {
		fmt.Fprintf(cmd.stdout, "%s  %s, %d bytes\nsha1    %s\nsha256  %s\nfiles   %s\n", r.Tarball,
			plural.Count(r.Files, "file", "files"), r.Bytes,
			r.SHA1, r.SHA256, r.List)
		if !report.Valid {
			fmt.Fprintln(cmd.stdout, "This is a rehearsal, not for submission.")
		}
	}
	return nil
}

// maxPassword limits the length of a password in bytes.
const maxPassword = 4096

func firstLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot read the password: %w", err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxPassword)
	in.Scan()
	if err := in.Err(); err != nil {
		return "", fmt.Errorf("cannot read the password from %s: %w", path, err)
	}
	password := strings.TrimRight(in.Text(), "\r\n")
	if password == "" {
		return "", fmt.Errorf("the first line of %s is empty", path)
	}
	return password, nil
}
