package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/exit"
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
// run that is still to be made.
func (cmd benchCommand) kept(c *cli.Context, o *bench.Options) (bool, error) {
	if !c.Bool("resume") {
		return false, nil
	}
	r, note, err := bench.Resume(o)
	if note != "" {
		cmd.notice(note)
	}
	if r == nil || err != nil {
		return false, err
	}
	m, err := figuresOf(c, o, r)
	if err != nil {
		return false, err
	}
	cmd.exit = r.ExitCode()
	return true, cmd.printBenchRecord(r, m, o.Folder)
}

// explainResume prints the command that continues after a signal. at is the number of runs before the interrupted one,
// whose folder is given. Several runs without --output have no common folder, and a rehearsal starts anew.
func (cmd benchCommand) explainResume(c *cli.Context, at, of int, folder string) {
	output := localOutput(c)
	if cmd.json || cmd.quiet || c.Bool("rehearse") || of > 1 && output == "" {
		return
	}
	what := "To run this workload again from its start in the same folder"
	if of > 1 {
		folder = output
		what = fmt.Sprintf("%d of %d runs are finished. To keep them and make the others", at, of)
	}
	cmd.out.line("\n%s:\n  %s", what, servers.Quote(again(withUpload(cmd.commandLine()), folder, "--output", "-r")...))
}
