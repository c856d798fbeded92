package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/peers"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/ldb"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// benchCommand converts runs to the formats of other benchmark clients.
type benchCommand struct{ *program }

func (cmd benchCommand) command() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "run workload profiles, and convert results for other benchmark clients",
		Subcommands: []*cli.Command{cmd.run(), cmd.e2e(), cmd.searchCommand(), cmd.planCommand(), cmd.list(),
			cmd.initCommand(), cmd.convert(), cmd.upload()},
	}
}

func (cmd benchCommand) convert() *cli.Command {
	return &cli.Command{
		Name: "convert", Usage: "write finished runs as the files of another benchmark client", ArgsUsage: "RUN",
		OnUsageError: usageError,
		Description: "Every figure follows that client's definition. Figures that the run did not record are left out, " +
			"with a note.\nOf a folder of several runs, such as treatments, each run is converted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "client whose files to write: " + strings.Join(benchFormats(), ", ")},
			&cli.StringFlag{Name: "output", Usage: "folder to write; default: convert/FORMAT in the folder of the " +
				"run. Each of several runs gets a folder below it"},
			&cli.BoolFlag{Name: "requests", Usage: "write the data of each request too, as vllm does with --save-detailed"},
		},
		Action: cmd.runConvert,
	}
}

func (cmd benchCommand) runConvert(c *cli.Context) error {
	if c.NArg() != 1 {
		return exit.Usage(exit.CodeArgument, "Write `mlperf-go bench convert RUN --format vllm`",
			"this command requires the folder of one run")
	}
	format, folder := c.String("format"), c.Args().First()
	if err := checkFormat(format); err != nil {
		return err
	}
	if runs := runsBelow(folder); len(runs) > 0 {
		return cmd.convertAll(format, folder, c.String("output"), runs, c.Bool("requests"))
	}
	paths, notes, err := convertRun(format, folder, c.String("output"), c.Bool("requests"))
	if err != nil {
		return err
	}
	cmd.printConverted(format, paths, notes)
	return nil
}

func (cmd benchCommand) printConverted(format string, paths, notes []string) {
	if cmd.json {
		cmd.writeJSON(map[string]any{"format": format, "files": append([]string{}, paths...),
			"notes": append([]string{}, notes...)})
		return
	}
	for _, n := range notes {
		cmd.notice("note: " + n)
	}
	for _, path := range paths {
		cmd.out.line("%s", path)
	}
}

// mostConverted bounds the runs that one command converts.
const mostConverted = 10_000

// runsBelow returns the runs in a folder that holds no result itself, such as that of a command's treatments, by name.
// A killed run counts if its folder is directly in that one.
func runsBelow(folder string) []string {
	if bench.Holds(folder) || results.Holds(folder, "") != "" {
		return nil
	}
	runs := results.FindRuns(folder, mostConverted)
	entries, _ := os.ReadDir(folder) // the message about the folder itself explains an error
	for _, e := range entries {
		if path := filepath.Join(folder, e.Name()); e.IsDir() && bench.Holds(path) && !slices.Contains(runs, path) {
			runs = append(runs, path)
		}
	}
	slices.Sort(runs)
	return runs
}

// convertAll converts the runs below a folder, each into its own folder or into the one of the same name below output.
// A run that cannot be converted does not keep the others from it.
func (cmd benchCommand) convertAll(format, folder, output string, runs []string, each bool) error {
	var paths, notes []string
	for _, run := range runs {
		name, err := filepath.Rel(folder, run)
		if err != nil {
			return err
		}
		to := output
		if output != "" {
			to = filepath.Join(output, name)
		}
		files, remarks, err := convertRun(format, run, to, each)
		if err != nil {
			e := exit.Classify(err)
			e.Err = fmt.Errorf("%s: %w", run, e.Err)
			cmd.complain(e)
			cmd.exit = max(cmd.exit, e.Exit)
		}
		paths = append(paths, files...)
		for _, n := range remarks {
			notes = append(notes, name+": "+n)
		}
	}
	cmd.printConverted(format, paths, notes)
	return nil
}

// convertRun writes a run as the files of a format into output; empty: a folder within the run's. With each, the files
// have the data of each request even if the profile does not ask for them.
func convertRun(format, folder, output string, each bool) (paths, notes []string, err error) {
	e, err := exportOf(format, folder, each)
	if err != nil {
		return nil, nil, err
	}
	isWithin := output == ""
	if isWithin {
		output = filepath.Join(folder, results.Derived, format)
	}
	if err := os.MkdirAll(output, atomicfile.Shared.Folder()); err != nil {
		return nil, nil, exit.Environment(exit.CodeOutput, "Choose another --output", "no folder for the files: %w", err)
	}
	for _, f := range e.Files {
		path := filepath.Join(output, f.Name)
		if err := atomicfile.Write(path, f.Write); err != nil {
			return nil, nil, exit.Environment(exit.CodeOutput, "Choose another --output",
				"a file of %s cannot be written: %w", format, err)
		}
		paths = append(paths, path)
	}
	if isWithin { // so that --force removes them with the run
		if err := results.NoteDerived(folder, paths); err != nil {
			return nil, nil, exit.Environment(exit.CodeOutput, "Choose another --output",
				"the files of %s cannot be listed: %w", format, err)
		}
	}
	return paths, e.Notes, nil
}

// checkFormat rejects an unknown or a missing format.
func checkFormat(format string) error {
	switch formats := benchFormats(); {
	case slices.Contains(formats, format):
		return nil
	case format == "":
		return exit.Usage(exit.CodeFormat, "Give one of "+strings.Join(formats, ", "), "no --format given")
	default:
		return exit.Usage(exit.CodeFormat, "", "--format %q %s", format, config.NotOneOf(format, formats))
	}
}

// ldbPrefix begins the names of the formats of llm-d-benchmark. The version follows.
const ldbPrefix = "ldb-"

// benchFormats returns the names of all formats.
func benchFormats() []string {
	names := peers.Formats()
	for _, v := range ldb.Versions {
		names = append(names, ldbPrefix+v)
	}
	return names
}

// exportOf reads a run and returns it in a format.
func exportOf(format, folder string, each bool) (*peers.Export, error) {
	if version, ok := strings.CutPrefix(format, ldbPrefix); ok {
		return ldbReports(version, folder)
	}
	log, err := readLog(folder)
	if err != nil {
		return nil, err
	}
	log.Asked.Requests = log.Asked.Requests || each
	e, err := peers.Convert(format, log)
	if err != nil {
		return nil, exit.Usage(exit.CodeConvert, "Give a run that issued requests", "%w", err)
	}
	return e, nil
}

// ldbReports returns the reports of a workload's run.
func ldbReports(version, folder string) (*peers.Export, error) {
	r, err := bench.Read(folder)
	if err != nil {
		return nil, err
	}
	p, err := profile.Read(filepath.Join(folder, bench.ProfileName))
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "the profile of the run: %w", err)
	}
	e := &peers.Export{}
	var signals *series.Set
	if r.Metrics != nil {
		if signals, err = series.Read(filepath.Join(folder, r.Metrics.File), series.IsSignal); err != nil {
			e.Notes = append(e.Notes, "the servers' metrics are not in the reports: "+err.Error())
		}
	}
	e.Files, err = ldb.Reports(version, r, p, signals)
	return e, err
}

// readLog reads the requests of a finished run, of LoadGen or of a workload.
func readLog(folder string) (*peers.Log, error) {
	if bench.Holds(folder) {
		r, err := bench.Read(folder)
		if err != nil {
			return nil, err
		}
		return bench.Log(folder, r)
	}
	if err := checkIsRun("bench convert", folder); err != nil {
		return nil, err
	}
	rec, err := record.Read(folder)
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "Give the folder of a finished run", "%w", err)
	}
	debug.SetGCPercent(reportGarbage)
	t, err := ledger.ReadRequests(filepath.Join(folder, record.RequestsName))
	if err != nil {
		return nil, exit.Usage(exit.CodeRequests, needsRequests, "%w", err)
	}
	return peers.FromRun(rec, t), nil
}
