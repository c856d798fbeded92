package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/httpclient"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/metrics/scrape"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
)

// metricsCommand records servers' metrics pages and shows the recordings.
type metricsCommand struct{ *program }

func (cmd metricsCommand) command() *cli.Command {
	return &cli.Command{
		Name: "metrics", Usage: "record and show the metrics of servers, and send runs to MLflow",
		Subcommands: []*cli.Command{cmd.collect(), cmd.summary(), cmd.plot(), cmd.export(), cmd.upload()},
	}
}

func (cmd metricsCommand) collect() *cli.Command {
	return &cli.Command{
		Name: "collect", Usage: "record metrics pages without a test", OnUsageError: usageError,
		Description: "A test records the pages of its endpoints itself, with --metrics.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "metrics-url", Usage: "metrics page, such as http://host:8000/metrics; repeatable"},
			durationFlag(cli.GenericFlag{Name: "metrics-interval", Usage: "time between two readings of a page"}, time.Second),
			durationFlag(cli.GenericFlag{Name: "duration", Usage: "how long to record; default: until Ctrl-C"}, 0),
			&cli.StringFlag{Name: "output", Value: "metrics.jsonl.zst", Usage: "file to write"},
		},
		Action: cmd.runCollect,
	}
}

func (cmd metricsCommand) runCollect(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	urls := c.StringSlice("metrics-url")
	if len(urls) == 0 {
		return exit.Usage(exit.CodeMetricsURL, "Write --metrics-url http://host:port/metrics", "no --metrics-url given")
	}
	client := httpclient.New(httpclient.Options{})
	var targets []scrape.Target
	for _, u := range urls {
		targets = append(targets, scrape.Target{Name: u, URL: u, Client: client})
	}
	ctx, cancel := context.WithCancel(c.Context)
	if d := c.Duration("duration"); d > 0 {
		ctx, cancel = context.WithTimeout(c.Context, d)
	}
	defer cancel()
	path := c.String("output")
	collector, err := scrape.Start(ctx, scrape.Options{Access: atomicfile.Shared, Path: path, Targets: targets,
		Interval: c.Duration("metrics-interval")})
	if err != nil {
		return exit.Environment(exit.CodeMetricsOutput, "Choose another --output", "%w", err)
	}
	<-ctx.Done()
	outcomes, err := collector.Stop()
	if err != nil {
		return exit.Environment(exit.CodeMetricsOutput, "Choose another --output", "%w", err)
	}
	cmd.notice("the metrics are in " + path)
	return cmd.report(path, outcomes)
}

// report shows the summary of a file that was just recorded. It is an error if no page was read.
func (cmd metricsCommand) report(path string, outcomes []scrape.Outcome) error {
	for _, o := range outcomes {
		if o.Failed == o.Scrapes {
			return exit.Environment(exit.CodeMetricsPage,
				"Give the page as the server publishes it, such as http://host:8000/metrics",
				"no reading of %s succeeded: %s", foreign.Line(o.Target, 200), o.Error)
		}
	}
	set, err := series.Read(path, series.IsSignal)
	if err != nil {
		return err
	}
	return cmd.print(set)
}

// metricsSource is the argument of the commands that show a file.
const metricsSource = "RUN|FILE"

func (cmd metricsCommand) summary() *cli.Command {
	return &cli.Command{
		Name: "summary", Usage: "print mean, largest and last value of each signal", ArgsUsage: metricsSource,
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			set, err := readMetrics(c, series.IsSignal)
			if err != nil {
				return err
			}
			return cmd.print(set)
		},
	}
}

func (cmd metricsCommand) plot() *cli.Command {
	return &cli.Command{
		Name: "plot", Usage: "draw each signal over time", ArgsUsage: metricsSource,
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Value: "metrics.svg", Usage: "file to draw into, .svg or .png"},
		},
		Action: cmd.runPlot,
	}
}

func (cmd metricsCommand) runPlot(c *cli.Context) error {
	path := c.String("output")
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	if format != plot.SVG && format != plot.PNG {
		return exit.Usage(exit.CodePlot, "Use .svg or .png", "unknown suffix of --output %s", path)
	}
	set, err := cmd.readWhole(c, series.IsSignal)
	if err != nil {
		return err
	}
	charts := metricsCharts(set)
	if len(charts) == 0 {
		return exit.Usage(exit.CodeMetrics, "`metrics export` writes every series",
			"the file contains no signal of a known engine")
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { return plot.WriteCharts(w, format, charts) }); err != nil {
		return exit.Environment(exit.CodePlot, "Choose another --output", "%w", err)
	}
	cmd.notice(fmt.Sprintf("%d charts are in %s", len(charts), path))
	return nil
}

// metricsCharts returns a chart per signal, with a curve per target.
func metricsCharts(set *series.Set) []plot.Chart {
	var charts []plot.Chart
	for i := range series.Signals {
		signal := &series.Signals[i]
		chart := plot.Chart{Title: signal.Title, X: "seconds since the start", Y: signal.Unit}
		for target, name := range set.Targets {
			if line := signal.Of(set, target); len(line.Values) > 0 {
				chart.Curves = append(chart.Curves, plot.Curve{Name: foreign.Line(name, 40), X: line.TimesS, Y: line.Values})
			}
		}
		if len(chart.Curves) > 0 {
			charts = append(charts, chart)
		}
	}
	return charts
}

func (cmd metricsCommand) export() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write every series as CSV, JSON or OpenMetrics", ArgsUsage: metricsSource,
		OnUsageError: usageError,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: series.CSV, Usage: "format: " + strings.Join(series.Formats, ", ")},
			&cli.StringFlag{Name: "name", Usage: "only series whose name contains this text"},
			&cli.StringFlag{Name: "output", Usage: "file to write; default: stdout"},
		},
		Action: cmd.runExport,
	}
}

func (cmd metricsCommand) runExport(c *cli.Context) error {
	set, err := cmd.readWhole(c, func(s *series.Series) bool { return strings.Contains(s.Name, c.String("name")) })
	if err != nil {
		return err
	}
	fill := func(w io.Writer) error { return series.Export(w, c.String("format"), set) }
	if path := c.String("output"); path != "" {
		err = atomicfile.Write(path, fill)
	} else {
		err = fill(cmd.stdout)
	}
	if err != nil {
		return exit.Usage(exit.CodeExport, "", "%w", err)
	}
	return nil
}

// readWhole reads like readMetrics, and reports on stderr if the file is incomplete.
func (cmd metricsCommand) readWhole(c *cli.Context, keep func(*series.Series) bool) (*series.Set, error) {
	set, err := readMetrics(c, keep)
	if err == nil && set.Torn {
		cmd.notice(tornNote)
	}
	return set, err
}

// readMetrics reads the file in the argument, or that of a run's folder.
func readMetrics(c *cli.Context, keep func(*series.Series) bool) (*series.Set, error) {
	if c.NArg() != 1 {
		return nil, exit.Usage(exit.CodeArgument, "Name the folder of a run with --metrics, or a file of `metrics collect`",
			"%d arguments given, and one is needed", c.NArg())
	}
	path := c.Args().First()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder := path
		path = filepath.Join(folder, filepath.FromSlash(record.MetricsName))
		if _, err := os.Stat(path); err != nil && atomicfile.Left(path) == "" {
			return nil, withoutMetrics(c.Command.Name, folder, err)
		}
	}
	set, err := series.Read(path, keep)
	if err != nil {
		return nil, exit.Usage(exit.CodeMetrics, "Name the folder of a run with --metrics, or a file of `metrics collect`",
			"%w", err)
	}
	return set, nil
}

// withoutMetrics explains why a folder has no recorded metrics: cause is that the file is missing.
func withoutMetrics(command, folder string, cause error) error {
	kind := results.Holds(folder, "")
	if kind == "run" || kind == results.Workload {
		return exit.Usage(exit.CodeMetrics, "Run the test with --metrics", "the run recorded no metrics: %w", cause)
	}
	hint := "Name the folder of a run with --metrics, or a file of `metrics collect`"
	below := []string{"*/", "*/*/", "*/*/*/", "*/*/*/*/"} // a campaign's runs are the deepest
	if kind == "" {
		below = below[:2] // it may be any folder, with any number of files
	}
	for _, pattern := range below {
		for _, name := range []string{record.MetricsName, path.Base(record.MetricsName)} {
			if found, _ := fs.Glob(os.DirFS(folder), pattern+name); len(found) > 0 {
				file := filepath.Join(folder, filepath.FromSlash(found[0]))
				return exit.Usage(exit.CodeMetrics, "Each of its tests has its own, such as\n  mlperf-go metrics "+command+" "+
					servers.Quote(file), "%s itself has no metrics", folder)
			}
		}
	}
	if kind != "" {
		return exit.Usage(exit.CodeMetrics, "Run it with --metrics", "%s is the folder of %s that recorded no metrics",
			folder, plural.Article(kind))
	}
	return exit.Usage(exit.CodeMetrics, hint, "%s is not the folder of a run", folder)
}

// tornNote reports that a file has only the readings up to its writer's last block.
const tornNote = "the metrics are incomplete: the file has no end, because its writer was killed or still runs"

// print prints the signals of all targets together, and the pages that could not be read.
func (cmd metricsCommand) print(set *series.Set) error {
	signals := record.Signals(set)
	if cmd.json {
		cmd.writeJSON(map[string]any{"targets": set.Targets, "interval_s": set.IntervalS, "signals": signals,
			"incomplete": set.Torn})
		return nil
	}
	w := cmd.out.table()
	for i, name := range set.Targets {
		s := &set.Scrapes[i]
		fmt.Fprintf(w, "page\t%s\t%d readings", foreign.Line(name, 200), len(s.TimesS))
		if n, first := s.Failed(); n > 0 {
			fmt.Fprintf(w, ", %d failed: %s", n, foreign.Line(first, 200))
		}
		fmt.Fprintln(w)
	}
	if set.Torn {
		fmt.Fprintln(w, "note\t"+tornNote)
	}
	printSignals(w, signals)
	w.Flush()
	return nil
}

// printSignals prints a row per signal.
func printSignals(w io.Writer, signals map[string]record.SignalStats) {
	if len(signals) == 0 {
		fmt.Fprintln(w, "signals\tthe pages have no series of vLLM, SGLang or llama.cpp")
		return
	}
	fmt.Fprintf(w, "\nserver\tmean\tmax\tlast\n")
	for i := range series.Signals {
		signal := &series.Signals[i]
		if s, ok := signals[signal.Key]; ok {
			fmt.Fprintf(w, "%s (%s)\t%.3f\t%.3f\t%.3f\n", signal.Title, signal.Unit, s.Mean, s.Max, s.Last)
		}
	}
}
