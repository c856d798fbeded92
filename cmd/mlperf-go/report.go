package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/bench"
)

// reportGarbage is how much garbage may accumulate, in percent of the live memory. Logs of millions of requests need
// most of the memory, and the default of 100 would double it.
const reportGarbage = 20

// reportCommand writes finished runs as a page of HTML.
type reportCommand struct{ *program }

func (cmd reportCommand) command() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "write finished runs as one page of HTML with charts", ArgsUsage: "[RUN...]",
		HideHelpCommand: true, OnUsageError: usageError,
		Description: "Without RUN it reports the newest run below results/. " +
			"The page opens without a network. Charts of the servers' metrics need a run with --metrics.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Usage: "file to write; default: report.html in the folder of the only run"},
		},
		Action: cmd.run,
	}
}

func (cmd reportCommand) run(c *cli.Context) error {
	folders := c.Args().Slice()
	if len(folders) == 0 {
		folders = results.FindRuns(results.Root, 1)
		if len(folders) == 0 {
			return exit.Usage(exit.CodeArgument, "Give the folder of a finished run",
				"no run given, and %s/ has no finished run", results.Root)
		}
		cmd.notice("no run given: " + folders[0] + " is the newest below " + results.Root + "/")
	}
	path := c.String("output")
	switch {
	case path == "" && len(folders) == 1:
		path = filepath.Join(folders[0], record.ReportName)
	case path == "":
		return exit.Usage(exit.CodeOutput, "Write --output report.html", "no --output given for the report of %d runs",
			len(folders))
	}
	debug.SetGCPercent(reportGarbage)
	var runs []*report.Run
	for _, folder := range folders {
		r, err := readReport(folder)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	if err := writeReport(path, runs...); err != nil {
		return err
	}
	for _, r := range runs {
		if mark := r.Mark(); mark != "" {
			cmd.notice(r.Name + ": " + mark)
		}
		if r.Crashed != nil {
			cmd.notice(crashedLine(r.Name, r.Crashed))
		}
		cmd.notice(r.Notes...)
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"report": path})
		return nil
	}
	cmd.notice("the report is in " + path)
	return nil
}

// readReport reads the run of LoadGen or of a workload.
func readReport(folder string) (*report.Run, error) {
	if err := checkIsFolder(folder); err != nil {
		return nil, err
	}
	if bench.Holds(folder) {
		return bench.Report(folder)
	}
	if err := checkIsRun("report", folder); err != nil {
		return nil, err
	}
	r, err := report.Read(folder)
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, nearRuns("report", folder, "Give the folder of a finished run"), "%w", err)
	}
	return r, nil
}

func writeReport(path string, runs ...*report.Run) error {
	err := atomicfile.Write(path, func(w io.Writer) error { return report.WriteHTML(w, runs) })
	if err != nil {
		return exit.Environment(exit.CodeOutput, "Choose another --output", "the report cannot be written: %w", err)
	}
	return nil
}

// shownRuns is how many runs nearRuns lists.
const shownRuns = 5

// nearRuns returns a hint with the newest runs in and below a folder as commands to copy. It returns otherwise if there
// is no run, or if the folder is itself a run, because the command could not use that one.
func nearRuns(command, folder, otherwise string) string {
	found := results.FindRuns(folder, shownRuns)
	if len(found) == 0 || found[0] == filepath.Clean(folder) {
		return otherwise
	}
	hint := "Runs below " + folder + ", the newest first:"
	for _, run := range found {
		hint += "\n  mlperf-go " + command + " " + servers.Quote(run)
	}
	return hint
}

// checkIsFolder rejects a path of a file, which is often a file in the folder of a run.
func checkIsFolder(path string) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return exit.Usage(exit.CodeRunFolder, "Give the folder of a finished run", "%s is a file, not the folder of a run",
			path)
	}
	return nil
}

// checkIsRun rejects folders of other results, and lists the runs in them.
func checkIsRun(command, folder string) error {
	if kind := results.Holds(folder, "run"); kind != "" {
		return exit.Usage(exit.CodeRunFolder,
			nearRuns(command, folder, "Give the folder of a run; `mlperf-go show` prints the others"),
			"%s is the folder of %s, not of a run", folder, plural.Article(kind))
	}
	return nil
}
