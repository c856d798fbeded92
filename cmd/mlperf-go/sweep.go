package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/sweep"
)

// sweepCommand measures latency against load.
type sweepCommand struct{ *program }

const sweepGroup = "Sweep"

// Defaults of the length of a point: enough queries for a 99th percentile, and enough time for a steady state.
const (
	pointWarmup   = 5 * time.Second
	pointDuration = 30 * time.Second
	pointLongest  = 5 * time.Minute
	pointQueries  = 300
)

func (cmd sweepCommand) command() *cli.Command {
	list := "a list (1,2,4), a range (5:50:5, 1:32:x2), or auto, until saturation"
	return &cli.Command{
		Name: "sweep", Usage: "measure latency and throughput against load", HideHelpCommand: true,
		Description: "Measures a server at several loads with the client of a run. It accepts the settings of `mlperf-go " +
			"run`, for Server and Interactive.\n" +
			"Its folder contains sweep.json, a table, a CSV file and a plot. Each point is judged by the rules of a run; " +
			"spoiled points are marked.\n" +
			"--resume continues a sweep that ended early, even by kill -9.",
		Flags: append(settingFlagsOf("MODEL-SCENARIO-sweep", "Server", sweepScenarios...),
			&cli.StringFlag{Name: "rates", Category: sweepGroup,
				Usage: "queries per second, at random times (open loop): " + list},
			&cli.StringFlag{Name: "concurrencies", Category: sweepGroup, DefaultText: sweep.Auto,
				Usage: "queries in flight (closed loop): " + list},
			durationFlag(cli.GenericFlag{Name: "point-duration", Category: sweepGroup,
				Usage: "shortest time that is counted at each point"}, pointDuration),
			&cli.IntFlag{Name: "point-queries", Category: sweepGroup, Value: pointQueries,
				Usage: "fewest queries that are counted at each point"},
			durationFlag(cli.GenericFlag{Name: "point-longest", Category: sweepGroup,
				Usage: "longest time that is counted at a point, even if it has fewer queries"}, pointLongest),
			durationFlag(cli.GenericFlag{Name: "point-warmup", Category: sweepGroup,
				Usage: "minimum time before the counted part of each point; it is extended to two answers of the idle server"},
				pointWarmup),
			&cli.IntFlag{Name: "accelerators", Category: sweepGroup, DefaultText: "unknown",
				Usage: "number of accelerators that serve the endpoints, for tokens per second and accelerator"},
			&cli.BoolFlag{Name: "dry-run", Category: sweepGroup,
				Usage: "print the points and how long they take; contact no server"}),
		Action:       cmd.sweep,
		OnUsageError: usageError,
	}
}

func (cmd sweepCommand) sweep(c *cli.Context) error {
	p, err := cmd.probePlan(c, "a sweep", "Server")
	if err != nil {
		return err
	}
	o := sweep.Options{Plan: p, Accelerators: c.Int("accelerators"), Resume: p.Config.Bool("resume"),
		Length: sweep.Length{WarmupS: c.Duration("point-warmup").Seconds(), Duration: c.Duration("point-duration").Seconds(),
			Queries: c.Int("point-queries"), Longest: max(c.Duration("point-longest"), c.Duration("point-duration")).Seconds()}}
	if longest := c.Duration("point-longest"); c.IsSet("point-longest") && longest < c.Duration("point-duration") {
		return exit.Usage(exit.CodeFlagValue, "Raise --point-longest, or lower --point-duration",
			"--point-longest %v is below --point-duration %v", longest, c.Duration("point-duration"))
	}
	if o.Loads, err = loadsOf(c); err != nil {
		return err
	}
	o.Folder = results.Choose(p.Config.String("output-dir"), fmt.Sprintf("%s-%s-sweep", p.Row.Name, p.Scenario.Scenario),
		o.Resume, time.Now())
	progress := &sweepProgress{newStudyProgress(cmd.program, p, o.Folder), o.Loads.Kind}
	if err := o.Check(); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return cmd.preview(&o)
	}
	if err := checkProbes(p); err != nil {
		return err
	}
	stop, err := cmd.serveCounters(p.Config, countersOf(p))
	if err != nil {
		return err
	}
	defer stop()
	ctx, page, err := cmd.openPage(c.Context, p.Config, live.Options{What: "sweep", Folder: o.Folder,
		Next: showHint(o.Folder), Title: fmt.Sprintf("%s %s sweep", p.Row.Name, p.Scenario.Scenario),
		Limits: pageLimits(p)})
	if err != nil {
		return err
	}
	o.Observer = newLiveSweep(progress, page, o.Folder, o.Resume)
	cmd.measures()
	state, err := sweep.Run(ctx, o)
	results.Discard(o.Folder) // removed if it is empty
	if err != nil {
		page.end("", "", err)
		return cmd.explain(ctx, err, o.Folder, state != nil && len(state.Points) > 0, func() error {
			return cmd.print(state, o.Folder)
		})
	}
	verdict := record.Valid
	if state.Result.Counted == 0 {
		cmd.exit, verdict = run.ExitInvalid, record.Invalid
	}
	page.end(string(verdict), state.Sentence(), nil)
	return cmd.print(state, o.Folder)
}

// loadsOf parses --rates or --concurrencies.
func loadsOf(c *cli.Context) (sweep.Loads, error) {
	name, kind := "concurrencies", sweep.Concurrency
	if c.IsSet("rates") {
		if c.IsSet(name) {
			return sweep.Loads{}, exit.Usage(exit.CodeLoads, "Give one of them",
				"--rates and --concurrencies exclude each other")
		}
		name, kind = "rates", sweep.Rate
	}
	text := c.String(name)
	if !c.IsSet(name) {
		text = sweep.Auto
	}
	l, err := sweep.Parse(kind, text)
	if err != nil {
		return l, exit.Usage(exit.CodeLoads, "Write a list such as 1,2,4, a range such as 5:50:5 or 1:32:x2, or auto",
			"--%s: %w", name, err)
	}
	return l, nil
}

// preview prints the points and their expected duration.
func (cmd sweepCommand) preview(o *sweep.Options) error {
	type point struct {
		Load   float64 `json:"load"`
		AboutS float64 `json:"about_s"`
	}
	points := []point{}
	for _, v := range o.Loads.Values {
		points = append(points, point{v, o.AboutPoint(v).Seconds()})
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"load": o.Loads.Kind, "auto": o.Loads.Auto, "points": points,
			"about_s": o.About().Seconds()})
		return nil
	}
	if o.Loads.Auto {
		fmt.Fprintf(cmd.stdout, "%s: doubled from the idle server until it is saturated; each point at least %v\n",
			o.Loads.Kind, o.AboutPoint(1).Round(time.Second))
		return nil
	}
	w := cmd.out.table()
	for _, p := range points {
		fmt.Fprintf(w, "%s\tat least %v\n", o.Loads.Kind.Text(p.Load), seconds(p.AboutS).Round(time.Second))
	}
	w.Flush()
	fmt.Fprintf(cmd.stdout, "\n%s, at least %v; more if answers take long\n", plural.Count(len(points), "point", "points"),
		o.About().Round(time.Second))
	return nil
}

func (cmd sweepCommand) print(s *sweep.State, folder string) error {
	if cmd.json {
		cmd.writeJSON(s)
		return nil
	}
	if cmd.quiet {
		if s.Result != nil && s.Result.Counted == 0 {
			cmd.log.Error("no point counts: " + s.Points[0].Spoiled[0].Text)
		}
		cmd.out.line("%s", s.Sentence())
		return nil
	}
	if err := s.WriteTable(cmd.stdout); err != nil {
		return err
	}
	fmt.Fprintf(cmd.stdout, "\nfolder      %s\nplot        %s\n", folder, filepath.Join(folder, sweep.PlotName))
	return nil
}

// sweepProgress shows a sweep on stderr: a line for each point, and the point in progress.
type sweepProgress struct {
	*studyProgress
	kind sweep.Kind
}

// Begins reports the next point.
func (g *sweepProgress) Begins(load float64, number, of int, about time.Duration) {
	g.point()
	g.title = fmt.Sprintf("point %d", number)
	if of > 0 {
		g.title += fmt.Sprintf(" of %d", of)
	}
	g.log.Info(fmt.Sprintf("%s: %s, about %v", g.title, g.kind.Text(load), about.Round(time.Second)))
}

// Repeats reports a point that does not count.
func (g *sweepProgress) Repeats(p *sweep.Point) {
	g.repeats(p.Spoiled)
}

// Measured reports what a point has shown.
func (g *sweepProgress) Measured(p *sweep.Point, left time.Duration) {
	if g.spoiled(p.Spoiled) {
		return
	}
	text := fmt.Sprintf("%s: %s tokens/s, %s answers/s", g.title, plural.Figure(p.OutputTokensPerS),
		plural.Figure(p.RequestsPerS))
	if p.TTFT != nil {
		text += fmt.Sprintf(", TTFT p99 %v", seconds(p.TTFT.P99))
	}
	if p.TPOT != nil {
		text += fmt.Sprintf(", TPOT p99 %v", seconds(p.TPOT.P99))
	}
	if left > 0 {
		text += fmt.Sprintf("; about %v left", left.Round(time.Second))
	}
	g.log.Info(text)
}
