package main

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/tune"
)

// tuneCommand finds the highest valid load.
type tuneCommand struct{ *program }

func (cmd tuneCommand) command() *cli.Command {
	return &cli.Command{
		Name: "tune", Usage: "find the highest target QPS of a valid run", HideHelpCommand: true,
		Description: "Sends short probes with the client of a run, and confirms the rate that it finds with a LoadGen run " +
			"of the full length.\n" +
			"It accepts the settings of `mlperf-go run`, for Server, Interactive and Offline. In Offline it finds the " +
			"expected QPS, and how many requests should be in flight. Its folder contains tune.json with every " +
			"probe, the confirming run, and a plot.\n" +
			"--resume continues a tune that ended early, even by kill -9.\n" +
			"--mode find-peak lets LoadGen's own FindPeakPerformance search upward from --target-qps, for comparison. It does " +
			"not produce the result of a run.",
		Flags: append(settingFlagsOf("MODEL-SCENARIO-tune", "none", tuneScenarios...),
			durationFlag(cli.GenericFlag{Name: "budget", Category: tuneGroup,
				Usage:       "maximum time for all measurements, such as 2h; a tune that needs more ends without a confirmation",
				DefaultText: "none"}, 0),
			&cli.BoolFlag{Name: "peak-process", Hidden: true},
			&cli.Float64Flag{Name: "confidence", Category: tuneGroup, Value: defaultConfidence,
				Usage: "confidence of each probe's decision and of the interval"}),
		Action:       cmd.tune,
		OnUsageError: usageError,
	}
}

const (
	tuneGroup         = "Tune"
	defaultConfidence = 0.95
)

func (cmd tuneCommand) tune(c *cli.Context) error {
	s, err := cmd.probeSettings(c, "a tune", "")
	if err != nil {
		return err
	}
	peak := s.String("mode") == findPeak
	if peak {
		if err := s.Set("mode", string(models.Performance), s.Origin("mode")); err != nil {
			return err
		}
	}
	p, err := cmd.resolveProbes(s)
	if err != nil {
		return err
	}
	if peak {
		return cmd.findPeak(c, p)
	}
	if err := checkProbes(p); err != nil {
		return err
	}
	folder := results.Choose(p.Config.String("output-dir"), fmt.Sprintf("%s-%s-tune", p.Row.Name, p.Scenario.Scenario),
		p.Config.Bool("resume"), time.Now())
	progress := &tuneProgress{cmd.newProgress(p), sync.OnceFunc(func() { cmd.point(folder) }),
		p.Scenario.LoadGen == models.Offline, c.Float64("confidence")}
	stop, err := cmd.serveCounters(p.Config, countersOf(p))
	if err != nil {
		return err
	}
	defer stop()
	ctx, page, err := cmd.openPage(c.Context, p.Config, live.Options{What: "tune", Folder: folder, Next: showHint(folder),
		Title: fmt.Sprintf("%s %s tune", p.Row.Name, p.Scenario.Scenario), Limits: pageLimits(p)})
	if err != nil {
		return err
	}
	cmd.measures()
	children, err := page.followChildren(ctx)
	if err != nil {
		return err
	}
	state, err := tune.Run(ctx, tune.Options{
		Plan: p, Folder: folder, Confidence: c.Float64("confidence"), Budget: c.Duration("budget"),
		Resume: p.Config.Bool("resume"), Environ: cmd.environ, Stderr: cmd.stderr, Live: children,
		Observer: newLiveTune(progress, page, folder, p.Config.Bool("resume")),
		Global:   []string{"--log-format", cmd.logFormat, "--log-level", cmd.logLevel},
	})
	results.Discard(folder) // removed if it is empty
	if err != nil {
		page.end("", "", err)
		return cmd.explain(ctx, err, folder, state != nil && len(state.Probes) > 0, func() error {
			return cmd.print(state, folder)
		})
	}
	page.end(tuneVerdict(state), sentence(state), nil)
	if !state.Result.Confirmed {
		cmd.exit = run.ExitInvalid
	}
	return cmd.print(state, folder)
}

// point makes the link latest point to a folder once it contains a measurement, so that --resume finds it after a kill.
func (cmd *program) point(folder string) {
	if err := results.Point(folder); err != nil {
		cmd.log.Warn(err.Error())
	}
}

func (cmd tuneCommand) print(s *tune.State, folder string) error {
	if cmd.json {
		cmd.writeJSON(s)
		return nil
	}
	if cmd.quiet {
		if s.Result != nil && !s.Result.Confirmed {
			cmd.log.Error("not confirmed: " + s.Result.Why)
		}
		cmd.out.line("%s", sentence(s))
		return nil
	}
	w := cmd.out.table(2)
	fmt.Fprint(w, "step\trate\tdecision")
	if len(s.Goal.Limits) > 0 {
		fmt.Fprint(w, "\tlate")
	}
	for _, l := range s.Goal.Limits {
		fmt.Fprintf(w, "\t%s", l.Metric)
	}
	fmt.Fprintln(w, "\ttook")
	for i := range s.Probes {
		tuneRow(w, &s.Probes[i])
	}
	w.Flush()
	cmd.out.line("\n%s\n\nfolder      %s\nplot        %s", sentence(s), folder,
		filepath.Join(folder, tune.PlotName))
	return nil
}

func tuneRow(w io.Writer, p *tune.Probe) {
	fmt.Fprintf(w, "%s\t%s\t%s", p.Kind, probeLoad(p), probeDecision(p))
	if len(p.Counts) > 0 {
		fmt.Fprintf(w, "\t%s", probeLate(p))
	}
	for i := range p.Counts {
		tail := ""
		if i < len(p.Tails) {
			tail = seconds(p.Tails[i]).String()
		}
		fmt.Fprintf(w, "\t%s", tail)
	}
	fmt.Fprintf(w, "\t%v\n", p.Took.Round(100*time.Millisecond))
}

// probeLoad returns the rate of a probe, or its queries in flight.
func probeLoad(p *tune.Probe) string {
	if p.Concurrency > 0 {
		return fmt.Sprintf("%d in flight", p.Concurrency)
	}
	return fmt.Sprintf("%.4g/s", p.Rate)
}

func probeDecision(p *tune.Probe) string {
	switch {
	case p.Kind == tune.Confirm && p.Answers > 0 && p.Spoiled == "":
		return fmt.Sprintf("%s, %.4g/s", probeVerdict(p), p.Answers)
	case p.Concurrency > 0:
		return fmt.Sprintf("%.4g/s", p.Answers)
	case p.Spoiled != "":
		return "spoiled"
	case p.Kind == tune.Confirm:
		return probeVerdict(p)
	}
	return string(p.Decision)
}

func probeVerdict(p *tune.Probe) string {
	if p.Valid {
		return string(record.Valid)
	}
	return string(record.Invalid)
}

// probeLate returns how many queries exceeded each limit.
func probeLate(p *tune.Probe) string {
	late := ""
	for i, c := range p.Counts {
		if i > 0 {
			late += ", "
		}
		late += fmt.Sprintf("%d of %d", c.Late, c.Queries)
	}
	return late
}

func tuneVerdict(s *tune.State) string {
	if s.Result != nil && s.Result.Confirmed {
		return string(record.Valid)
	}
	return string(record.Invalid)
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond)
}

// sentence returns the result in one sentence.
func sentence(s *tune.State) string {
	r := s.Result
	if r == nil {
		return "not finished; the same command with --resume continues it"
	}
	rate := fmt.Sprintf("%.4g QPS", r.TargetQPS)
	if s.Goal.Offline {
		rate += fmt.Sprintf(" with %s in flight", plural.Count(r.InFlight, "request", "requests"))
	}
	interval := between(s.Goal.Offline, s.Goal.Confidence, r.Low, r.High)
	switch {
	case r.Confirmed:
		took := time.Duration(r.RunS * float64(time.Second)).Round(time.Second)
		return fmt.Sprintf("%s, confirmed by a valid run of %v; %s", rate, took, interval)
	case r.TargetQPS > 0 && r.High > 0:
		return fmt.Sprintf("%s, not confirmed: %s; %s", rate, r.Why, interval)
	}
	return "not confirmed: " + r.Why
}

// between describes the rate that a tune seeks, its interval, and the confidence.
func between(offline bool, confidence, low, high float64) string {
	of := "the highest valid rate is"
	if offline {
		of = "the server answers"
	}
	return fmt.Sprintf("%s %.4g to %.4g QPS with %.4g %% confidence", of, low, high, 100*confidence)
}

// tuneProgress shows a tune on stderr: a line for each step.
type tuneProgress struct {
	*progress
	point      func() // makes the link latest
	offline    bool
	confidence float64 // of the interval
}

// Begins reports the next step.
func (g *tuneProgress) Begins(s tune.Step, about time.Duration) {
	g.point()
	text := s.String()
	if about >= time.Second {
		text += fmt.Sprintf(", about %v", about.Round(time.Second))
	}
	g.log.Info(text)
}

// Measured reports what a step has shown.
func (g *tuneProgress) Measured(p *tune.Probe, left time.Duration) {
	text := string(p.Kind)
	switch {
	case p.Kind == tune.Confirm:
		text += ": " + probeVerdict(p)
	case p.Concurrency > 0:
		text += fmt.Sprintf(": %.4g answers per second", p.Answers)
	case p.Decision == tune.Neither:
		text += fmt.Sprintf(": not certain whether a run at %.4g QPS would pass", p.Rate)
	case p.Decision != "":
		text += fmt.Sprintf(": a run at %.4g QPS %s", p.Rate, p.Decision)
	}
	if p.High > 0 {
		low := p.Low
		if p.Valid && !g.offline {
			low = min(low, p.Rate) // as in the outcome
		}
		text += "; " + between(g.offline, g.confidence, low, p.High)
	}
	if left > 0 {
		text += fmt.Sprintf("; about %v left", left.Round(time.Second))
	}
	g.log.Info(text)
}

// Repeats reports a probe that does not count.
func (g *tuneProgress) Repeats(why string) {
	g.log.Warn("this probe does not count, and is repeated: " + why)
}
