package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// watcher shows the shards of each run of a command: a line every five seconds, and the page of --live.
type watcher struct {
	*program
	server *live.Server    // nil without --live
	stop   context.Context // ends when a viewer stops the runs
	page   *shard.Page     // page of the current run
	line   time.Time       // of the last line
	runs   int
	worst  *bench.Record // the last run that is not VALID, or the last one
}

// liveFlags are the flags of the live page.
func liveFlags(of string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "live", Usage: "serve a page with live charts of " + of + " at this host:port or unix:PATH"},
		&cli.BoolFlag{Name: "live-control", Usage: "let viewers of the live page stop it, with the token in the printed URL"},
	}
}

// openPage serves the page of --live; nil without it. The returned context ends when a viewer stops what runs.
func (p *program) openPage(c *cli.Context, o live.Options) (context.Context, *live.Server, error) {
	if !c.IsSet("live") {
		return c.Context, nil, nil
	}
	o.Address, o.Folder = c.String("live"), c.String("output")
	ctx, s, err := live.Open(c.Context, o, c.Bool("live-control"))
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(p.stderr, "live page: %s\n", s.URL())
	s.Waiting("the pods start")
	return ctx, s, nil
}

// checkLive rejects a page that would stay empty, and a button without a page.
func checkLive(c *cli.Context) error {
	switch {
	case c.Bool("live-control") && !c.IsSet("live"):
		return exit.Usage(exit.CodeLiveControl, "Add --live", "--live-control requires --live")
	case !c.IsSet("live"):
	case c.Command.Name == "run" && c.Int("shards") == 0:
		return exit.Usage(exit.CodeLive, "Add --shards, or leave --live out",
			"--live shows the load of shards, which start together")
	case c.Command.Name == submissionName && c.String("wait-timeout") == "0":
		return exit.Usage(exit.CodeLive, "Leave one of them out", "--wait-timeout 0 returns at once, which ends the page of "+
			"--live")
	}
	return nil
}

// watch opens the page.
func (cmd runCommand) watch(c *cli.Context, title string) (*watcher, error) {
	ctx, s, err := cmd.openPage(c, live.Options{Title: title, What: "workload",
		Next: "mlperf-go report FOLDER writes the report of a run."})
	return &watcher{program: cmd.program, server: s, stop: ctx}, err
}

// stopped reports whether a viewer stopped the runs.
func (w *watcher) stopped() bool { return context.Cause(w.stop) == error(live.Stopped) }

// begin starts the next run, whose charts follow those of the previous one.
func (w *watcher) begin(r contract.Rendered) {
	if w.server == nil {
		return
	}
	if w.runs++; w.runs > 1 {
		w.server.Begin()
	}
	plan := bench.NewPlan(r.Profile)
	w.page = &shard.Page{Server: w.server, Requests: int64(plan.Requests), Expected: plan.Duration}
}

// Progress shows a sum over all shards.
func (w *watcher) Progress(p shard.Progress) {
	if w.page != nil {
		w.page.Show(p)
	}
	if time.Since(w.line) < 5*time.Second {
		return
	}
	w.line = time.Now()
	w.notify(progressLine(&p))
}

// result records the verdict of a run.
func (w *watcher) result(r *bench.Record) {
	if w.worst == nil || r.Verdict != record.Valid || w.worst.Verdict == record.Valid {
		w.worst = r
	}
}

// end shows the verdict of the runs, or the error that ended them, and ends the page.
func (w *watcher) end(err error) {
	switch r := w.worst; {
	case w.server == nil:
	case err != nil:
		w.server.End(live.NoVerdict, err.Error(), nil)
	default:
		w.server.End(string(r.Verdict), r.Headline(), r.Reasons)
	}
}
