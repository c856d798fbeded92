package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/bench"
)

// checkResume rejects flags that contradict --resume.
func checkResume(c *cli.Context) error {
	for _, other := range []string{"force", "rehearse"} {
		if c.Bool("resume") && c.Bool(other) {
			return exit.Usage(exit.CodeFlag, "Give one of them", "--resume keeps finished runs, and --%s makes them anew", other)
		}
	}
	return nil
}

// kept prints the result of a run that an earlier call of this command finished, with --resume. It returns false for a
// run that is still to be made, because the folder is empty or contains an interrupted run, which starts over.
func (cmd benchCommand) kept(c *cli.Context, o *bench.Options) (bool, error) {
	if !c.Bool("resume") || !bench.Holds(o.Folder) {
		return false, nil
	}
	differences, err := bench.DifferencesTo(o.Folder, o.Profile)
	if err != nil {
		return false, exit.Usage(exit.CodeRunFolder, "Choose another --output", "the run in %s cannot be resumed: %w",
			o.Folder, err)
	}
	if len(differences) > 0 {
		return false, exit.Usage(exit.CodeOutputUsed, "Choose another --output, or give --force instead of --resume",
			"the run in %s has another profile (its values first): %s", o.Folder, strings.Join(differences, "; "))
	}
	if _, err := os.Stat(filepath.Join(o.Folder, bench.RecordName)); errors.Is(err, fs.ErrNotExist) {
		return false, cmd.startOver(o) // the run was killed
	}
	r, err := bench.Read(o.Folder)
	if err != nil {
		return false, err
	}
	if o.Model != "" && r.Model != o.Model {
		return false, exit.Usage(exit.CodeOutputUsed, "Choose another --output",
			"the run in %s is of the model %.100q, not %.100q", o.Folder, r.Model, o.Model)
	}
	if r.Verdict == record.Interrupted {
		return false, cmd.startOver(o)
	}
	m := r.Measured
	if name := c.String("definitions"); name != m.Definition {
		if m, err = bench.Remeasure(o.Folder, r, name, o.Limits); err != nil {
			return false, err
		}
	}
	cmd.notice(fmt.Sprintf("%s is finished and kept (--resume)", o.Folder))
	cmd.exit = r.ExitCode()
	return true, cmd.printBenchRecord(r, m, o.Folder)
}

// explainResume prints the command that continues after a signal. at is the number of runs before the interrupted one,
// whose folder is given. Several runs without --output have no common folder, and a rehearsal starts anew.
func (cmd benchCommand) explainResume(c *cli.Context, at, of int, folder string) {
	output := c.String("output")
	if cmd.json || cmd.quiet || c.Bool("rehearse") || of > 1 && output == "" {
		return
	}
	what := "To run this workload again from its start in the same folder"
	if of > 1 {
		folder = output
		what = fmt.Sprintf("%d of %d runs are finished. To keep them and make the others", at, of)
	}
	cmd.out.line("\n%s:\n  %s", what, servers.Quote(again(cmd.commandLine(), folder, "--output", "-r")...))
}

// startOver lets a run replace the files of an interrupted one.
func (cmd benchCommand) startOver(o *bench.Options) error {
	cmd.notice(fmt.Sprintf("the run in %s was interrupted and starts over (--resume)", o.Folder))
	o.Force = true
	return nil
}
