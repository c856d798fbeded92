package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/contract"
)

// testFlags are the flags of a LoadGen test that workloads share: those of the servers' metrics, of the live page, of
// the counters, of who may read the results, of the servers' prefix caches and of the connections.
func testFlags() []cli.Flag {
	var flags []cli.Flag
	for _, name := range []string{"metrics", "metrics-interval", "metrics-url", "live", "live-control", "serve-metrics",
		"shared-output", "reset-cache", "ca-file", "client-cert", "client-key", "proxy", "http2", "insecure-skip-verify"} {
		flags = append(flags, runSetting(name))
	}
	return flags
}

// benchWatch shows the runs of a command on its live page and its page of counters.
type benchWatch struct {
	page  *livePage // nil without --live
	asked bool      // whether the user asked for a page, which shows single requests
	runs  int       // number of profiles of the command
	begun int       // number of runs so far, repeated attempts included
	valid int
	last  *bench.Record // the last run that was not valid, or the last one
}

// watched opens the pages, calls all with them and closes them.
func (cmd benchCommand) watched(c *cli.Context, list []contract.Rendered, all func(*benchWatch) error) error {
	e, err := flagSettings(c, testFlags())
	if err != nil {
		return err
	}
	name := list[0].Name
	stop, err := cmd.serveCounters(e, map[string]string{"workload": name, "model": list[0].Model})
	if err != nil {
		return err
	}
	defer stop()
	ctx, page, err := cmd.openPage(c.Context, e, live.Options{What: "workload", Title: name,
		Next: "mlperf-go report FOLDER writes the report of a run."})
	if err != nil {
		return err
	}
	c.Context = ctx
	w := &benchWatch{page: page, asked: page != nil || cmd.counters != nil, runs: len(list)}
	err = all(w)
	w.end(err)
	return err
}

// begin appends the next run to the charts.
func (w *benchWatch) begin(o *bench.Options) {
	if w.begun++; w.begun > 1 {
		w.page.begin()
	}
	if w.page != nil && w.runs > 1 {
		w.page.State([2]string{"folder", o.Folder})
	}
}

// result records the verdict of a run.
func (w *benchWatch) result(r *bench.Record) {
	if r.Verdict == record.Valid {
		w.valid++
	}
	if w.last == nil || r.Verdict != record.Valid || w.last.Verdict == record.Valid {
		w.last = r
	}
}

// end shows the verdict of the runs, or the error that ended them.
func (w *benchWatch) end(err error) {
	switch r := w.last; {
	case w.page == nil:
	case err != nil || r == nil:
		w.page.end(live.NoVerdict, "", err)
	case w.begun == 1:
		w.page.End(string(r.Verdict), r.Headline(), r.Reasons)
	default:
		w.page.End(string(r.Verdict), fmt.Sprintf("%d of %d runs are VALID", w.valid, w.begun), r.Reasons)
	}
}

// progressOf converts a workload's progress to that of a test.
func progressOf(p *bench.Progress) run.Progress {
	now := run.Progress{Elapsed: p.Elapsed, Total: int64(p.Requests), Issued: p.Sent,
		Done: p.Ended - p.Cancelled, Failed: p.Failed, Cancelled: p.Cancelled, InFlight: max(p.Sent-p.Ended, 0),
		RatePerS: p.RatePerS, TTFTp99: p.TTFTp99, TPOTp99: p.TPOTp99, Left: max(p.Expected-p.Elapsed, 0),
		Ended: p.Latest, EndedUntil: p.LatestUntil}
	for _, f := range p.Failures {
		now.Failures = append(now.Failures, run.Failure(f))
	}
	for _, s := range p.Servers {
		now.Servers = append(now.Servers, run.ServerSignals(s))
	}
	return now
}
