package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/internal/results"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/search"
)

const searchGroup = "Search"

// notOfSearch are flags of `bench run` that a search does not have: its runs are parts of one result.
var notOfSearch = []string{"rehearse", "force", "upload", "definitions", "part", "control"}

func (cmd benchCommand) searchCommand() *cli.Command {
	d := search.Defaults()
	flags := slices.DeleteFunc(append(runFlags(), endpointFlag()), func(f cli.Flag) bool {
		return slices.Contains(notOfSearch, f.Names()[0])
	})
	return &cli.Command{
		Name: "search", Usage: "find the highest load of a workload that meets latency limits", OnUsageError: usageError,
		Description: "Runs one stage of a profile at different rates or numbers of users, until it has the highest load at " +
			"which the limits of --slo are met. A run of the full length confirms it.\n" +
			"A failed request counts as a miss of every limit. The exit code is 1 if no load was confirmed.\n" +
			"--resume continues a search that ended early, even by kill -9.",
		Flags: append(flags,
			&cli.Float64Flag{Name: "from", Category: searchGroup, DefaultText: "the profile's",
				Usage: "first load: requests per second, or users of a closed loop"},
			&cli.Float64Flag{Name: "to", Category: searchGroup, DefaultText: "no limit", Usage: "highest load"},
			durationFlag(cli.GenericFlag{Name: "probe-duration", Category: searchGroup,
				Usage: "length of a run; it is extended up to ten times for loads with few requests"}, d.Probe),
			durationFlag(cli.GenericFlag{Name: "confirm-duration", Category: searchGroup,
				Usage: "length of the confirming run, at least"}, d.Confirm),
			&cli.Float64Flag{Name: "confidence", Category: searchGroup, Value: d.Confidence,
				Usage: "confidence with which a run decides about a limit"},
			&cli.Float64Flag{Name: "precision", Category: searchGroup, Value: d.Precision,
				Usage: "relative difference of the loads that meet and miss the limits, at which the search ends"},
			durationFlag(cli.GenericFlag{Name: "budget", Category: searchGroup,
				Usage:       "maximum time for all runs, such as 2h; a search that needs more ends without a confirmation",
				DefaultText: "none"}, 0)),
		Action: cmd.doSearch,
	}
}

func (cmd benchCommand) doSearch(c *cli.Context) error {
	v, list, err := cmd.loadOf(c)
	if err != nil {
		return err
	}
	if len(list) > 1 {
		return exit.Usage(exit.CodeWorkload, "Search each of them by a command of its own",
			"a search is of one profile and one model, not of %d treatments or models", len(list))
	}
	base, err := cmd.options(c, v, list[0])
	if err != nil {
		return err
	}
	base.Folder = outputFolder(c, v, "bench-"+list[0].Name+"-search")
	o := search.Options{Profile: base.Profile, Limits: base.Limits, Folder: base.Folder, Access: base.Access,
		Resume: c.Bool("resume"), Settings: searchSettings(base),
		Terms: search.Terms{From: c.Float64("from"), To: c.Float64("to"), Probe: c.Duration("probe-duration"),
			Confirm: c.Duration("confirm-duration"), Confidence: c.Float64("confidence"), Precision: c.Float64("precision"),
			Budget: c.Duration("budget")}}
	if !c.IsSet("confirm-duration") {
		o.Terms.Confirm = max(o.Terms.Confirm, o.Terms.Probe)
	}
	if err := o.Check(); err != nil {
		return err
	}
	return cmd.searches(c, list[0], base, &o)
}

// searchSettings returns the settings of a run that must not change within a search, as flags.
func searchSettings(o *bench.Options) (list []string) {
	for _, url := range o.Endpoints {
		list = append(list, "--endpoint-url="+url)
	}
	return append(list, "--model="+o.Model, "--backend="+o.Backend, "--tokenizer="+o.Tokenizer, "--lb="+o.Balance,
		fmt.Sprintf("--retries=%d", o.Retries), fmt.Sprintf("--shards=%d", o.Shards),
		fmt.Sprintf("--http2=%v", o.Transport.HTTP2))
}

// searches opens the pages and makes the runs.
func (cmd benchCommand) searches(c *cli.Context, of contract.Rendered, base *bench.Options, o *search.Options) error {
	e, err := flagSettings(c, testFlags())
	if err != nil {
		return err
	}
	stop, err := cmd.serveCounters(e, map[string]string{"workload": of.Name, "model": of.Model})
	if err != nil {
		return err
	}
	defer stop()
	ctx, page, err := cmd.openPage(c.Context, e, live.Options{What: "search", Title: of.Name + " search", Folder: o.Folder,
		Next: showHint(o.Folder)})
	if err != nil {
		return err
	}
	cmd.measures()
	show := &benchProgress{console: cmd.console, page: page}
	o.Observer = &searchProgress{cmd: cmd, page: page, folder: o.Folder}
	o.Measure = func(ctx context.Context, p *profile.Profile, folder string) (*bench.Record, error) {
		run := *base
		run.Profile, run.Folder, run.Force = p, folder, true // a run that a kill ended is made again
		run.Observer, run.Details = show, page != nil || cmd.counters != nil
		return bench.Run(ctx, run)
	}
	state, err := search.Run(ctx, *o)
	results.Discard(o.Folder) // removed if it is empty
	if err != nil {
		page.end("", "", err)
		return cmd.explainSearch(ctx, err, state, o.Folder)
	}
	verdict := record.Valid
	if !state.Result.Confirmed {
		cmd.exit, verdict = run.ExitInvalid, record.Invalid
	}
	page.end(string(verdict), state.Sentence(), nil)
	return cmd.printSearch(state, o.Folder)
}

// explainSearch prints what an interrupted search has measured, and how to continue it. It returns the error.
func (cmd benchCommand) explainSearch(ctx context.Context, err error, s *search.State, folder string) error {
	if _, ok := context.Cause(ctx).(run.Interrupt); !ok || cmd.json || cmd.quiet || s == nil || len(s.Probes) == 0 {
		return err
	}
	if failed := cmd.printSearch(s, folder); failed != nil {
		return errors.Join(err, failed)
	}
	cmd.out.line("\nTo continue in the same folder:\n  %s",
		servers.Quote(again(cmd.commandLine(), folder, "--output", "-r")...))
	return err
}

// printSearch prints the measurements and the result of a search.
func (cmd benchCommand) printSearch(s *search.State, folder string) error {
	if cmd.json {
		cmd.writeJSON(s)
		return nil
	}
	if cmd.quiet {
		cmd.out.line("%s", s.Sentence())
		return nil
	}
	if err := s.WriteTable(cmd.stdout); err != nil {
		return err
	}
	if s.Rehearsal != "" {
		cmd.out.line("rehearsal   %s", s.Rehearsal)
	}
	cmd.out.line("\nfolder      %s\nplot        %s", folder, filepath.Join(folder, search.PlotName))
	return nil
}

// searchProgress shows a search on stderr and on its page.
type searchProgress struct {
	cmd    benchCommand
	page   *livePage
	folder string
	rows   [][]string
}

// Begins announces a measurement.
func (g *searchProgress) Begins(s *search.State, step search.Step) {
	what := s.Load.Text(step.Load)
	if step.Confirm {
		what += ", the confirming run"
	}
	g.cmd.log.Info(fmt.Sprintf("measurement %d: %s, about %v", len(s.Probes)+1, what, step.Length.Round(time.Second)))
	g.page.state(what, step.Length)
	g.page.begin()
}

// Measured reports what a measurement has shown.
func (g *searchProgress) Measured(s *search.State, p *search.Probe) {
	if len(s.Probes) == 1 {
		g.cmd.point(g.folder)
	}
	g.cmd.log.Info(fmt.Sprintf("measurement %d: %s answers/s; %s", len(s.Probes), plural.Figure(p.RequestsPerS), p.Word()))
	g.rows = append(g.rows, []string{s.Load.Text(p.Load), plural.Figure(p.RequestsPerS),
		plural.Figure(p.TokensPerS), p.Word()})
	g.page.steps("Measurements", []string{"load", "answers/s", "tokens/s", "result"}, g.rows)
}
