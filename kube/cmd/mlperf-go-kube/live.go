package main

import (
	"errors"
	"fmt"
	"net"
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
	server *live.Server // nil without --live
	page   *shard.Page  // page of the current run
	line   time.Time    // of the last line
	runs   int
	worst  *bench.Record // the last run that is not VALID, or the last one
}

// watch opens the page.
func (cmd runCommand) watch(c *cli.Context, title string) (*watcher, error) {
	w := &watcher{program: cmd.program}
	if !c.IsSet("live") {
		return w, nil
	}
	address := c.String("live")
	var err error
	w.server, err = live.Start(live.Options{Address: address, Title: title, What: "workload", Folder: c.String("output"),
		Next: "mlperf-go report FOLDER writes the report of a run."})
	switch {
	case errors.As(err, new(*net.AddrError)):
		return nil, exit.Usage(exit.CodeLive, "Write --live host:port, such as 127.0.0.1:8090",
			"%q is not an address to serve the live page at", address)
	case err != nil:
		return nil, exit.Environment(exit.CodeLive, "Give --live a free address of this machine, such as 127.0.0.1:8090",
			"the live page cannot be served: %w", err)
	}
	fmt.Fprintf(cmd.stderr, "live page: %s\n", w.server.URL())
	w.server.Waiting("the pods start")
	return w, nil
}

// checkLive rejects a page that would stay empty.
func checkLive(c *cli.Context) error {
	if c.IsSet("live") && c.Int("shards") == 0 {
		return exit.Usage(exit.CodeLive, "Add --shards, or leave --live out",
			"--live shows the load of shards, which start together")
	}
	return nil
}

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
