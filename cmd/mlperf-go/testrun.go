package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/run/score"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// forced is the origin of --force in a resumed run.
var forced = config.Origin{Layer: config.FromFlag, Where: "--resume"}

// testRun is one test in this process.
type testRun struct {
	*program
	plan     *plan.Plan
	settings *settings
}

// do runs the test, prints its record and sets the exit code.
func (t testRun) do(ctx context.Context) error {
	t.measures()
	plan, s := t.plan, t.settings
	plan.Scoring = score.Plan(plan, t.environ, t.scored())
	plan.Counter = func(ctx context.Context) (*finder.Found, error) {
		return finder.Find(ctx, score.TokenizerOf(plan, t.environ))
	}
	if s.servers != nil {
		plan.Profilers = s.servers.Profilers
	}
	if plan.Config.Bool("resume") {
		if done, err := t.resume(); done || err != nil {
			return err
		}
	}
	if err := checkDataset(plan); err != nil {
		return err
	}
	if err := run.CheckFolder(plan.Folder(), "run", plan.Config.Bool("force")); err != nil {
		return err
	}
	if err := t.surveyOf(plan, nil).Early(ctx); err != nil {
		return err
	}
	stop, err := t.serveCounters(plan.Config, countersOf(plan))
	if err != nil {
		return err
	}
	defer stop()
	progress := t.newProgress(plan)
	ctx, page, err := t.openPage(ctx, plan.Config, live.Options{Title: progress.title, Folder: plan.Folder(),
		Next: reportHint(plan.Folder())})
	if err != nil {
		return err
	}
	fleet, err := t.startServers(ctx, s.servers)
	if err != nil {
		return err
	}
	defer t.stopServers(fleet)
	rehearsal, err := rehearse.Start(ctx, plan, rehearse.Options{})
	if err != nil {
		return err
	}
	defer rehearsal.Stop()
	progress.preflighted = func(pre *run.Preflight) { t.showNeeds(t.surveyOf(plan, pre).Table(ctx), nil) }
	r, err := run.Run(ctx, run.FromPlan(plan), page.beside(progress))
	progress.end()
	page.finish(r, err)
	if err != nil {
		return err
	}
	return t.showResult(ctx, r)
}

// resume checks an earlier run in the test's folder. A valid run with the test's settings is the result. Another test,
// or a valid run with other settings, is never replaced. Any other run lets the test use its folder.
func (t testRun) resume() (done bool, err error) {
	plan, before := t.plan, campaign.Before(t.plan)
	if before.Status == campaign.Done {
		if err := wantsScore(plan, before.Record); err != nil {
			return false, err
		}
		t.notice("skipped: " + plan.Folder() + " holds a valid run with these settings")
		return true, t.printRecord(before.Record, plan.Folder())
	}
	const other = "Choose another --output-dir, or give --force to replace it"
	switch {
	case before.Code == campaign.CodeOtherTest:
		return false, exit.Usage(exit.CodeOutputUsed, other, "--resume: %s holds another test: %s", plan.Folder(),
			before.Record.Test())
	case before.Code == campaign.CodeSettingsChanged && before.Record.Verdict == record.Valid:
		return false, exit.Usage(exit.CodeOutputUsed, other, "--resume: %s holds a valid run with other settings: %s",
			plan.Folder(), before.Why)
	}
	if before.Why != "" {
		t.notice("the test is run again: " + before.Why)
	}
	return false, plan.Config.Set("force", "true", forced)
}

// showResult prints the record of a test that ended, saves it as text and sets the exit code.
func (t testRun) showResult(ctx context.Context, r *record.Record) error {
	t.warnOf(r.Notes)
	t.exit = r.ExitCode()
	if i, ok := context.Cause(ctx).(run.Interrupt); ok && r.Verdict == record.Interrupted {
		t.exit = i.ExitCode()
	}
	t.keepSummary(r)
	if err := t.printRecord(r, t.plan.Folder()); err != nil || r.Verdict != record.Interrupted || t.json || t.quiet {
		return err
	}
	t.out.line("\nTo run this test again from its start in the same folder (with make: ARGS=--resume):\n  %s",
		servers.Quote(again(t.commandLine(), t.plan.Folder())...))
	return nil
}

// again returns the command line that repeats an interrupted test in its folder. output contains the names of the
// folder's flag; empty: --output-dir.
func again(line []string, folder string, output ...string) []string {
	if len(output) == 0 {
		output = []string{"--output-dir"}
	}
	end := slices.Index(line, "--")
	if end < 0 {
		end = len(line)
	}
	flags := slices.DeleteFunc(slices.Clone(line[:end]), func(a string) bool {
		return isFlag(a, "--resume") || isFlag(a, "--force")
	})
	named := func(a string) bool {
		return slices.ContainsFunc(output, func(name string) bool { return isFlag(a, name) })
	}
	if !slices.ContainsFunc(flags, named) {
		flags = append(flags, output[0], folder) // the link latest may soon point to another folder
	}
	return slices.Concat(flags, []string{"--resume"}, line[end:])
}

// warnOf shows notes about files that the user requested besides the test.
func (t testRun) warnOf(notes []string) {
	for _, note := range notes {
		if strings.HasPrefix(note, "--profile-window: ") || strings.HasPrefix(note, "--trace-spans: ") {
			t.log.Warn(note)
		}
	}
}

// keepSummary writes the result as text into the run's folder.
func (t testRun) keepSummary(r *record.Record) {
	path := filepath.Join(t.plan.Folder(), record.SummaryName)
	err := t.plan.Access().Write(path, func(w io.Writer) error {
		printSummary(page{to: w}, r)
		return nil
	})
	if err != nil {
		t.log.Warn("cannot write the printed result into the folder: " + err.Error())
	}
}

// wantsScore rejects an earlier run without a score where one is required: with --no-score such a run is valid.
func wantsScore(plan *plan.Plan, r *record.Record) error {
	if !plan.Config.Bool("score") || !r.LogOnly() || campaign.HasScore(plan.Folder()) {
		return nil
	}
	return &run.Error{Exit: run.ExitInvalid, Code: exit.CodeNotScored,
		Err: fmt.Errorf("%s holds a valid accuracy test whose answers were not scored (%s)", plan.Folder(),
			record.LogOnly),
		Hint: "Score them with `mlperf-go accuracy --log " + plan.Folder() + "`"}
}

// startServers starts the servers of a plan. It returns nil for nil.
func (p *program) startServers(ctx context.Context, plan *servers.Plan) (*servers.Fleet, error) {
	if plan == nil {
		return nil, nil
	}
	p.notice(plan.Notes...)
	fleet, err := servers.Start(ctx, plan, func(text string) { p.notice(text) })
	if err != nil {
		return nil, serverError(exit.CodeServerStart, err)
	}
	return fleet, nil
}

// stopServers stops servers that a test needed, and sets the exit code if that fails.
func (p *program) stopServers(fleet *servers.Fleet) {
	if fleet == nil {
		return
	}
	p.reportStop(fleet.Finish(p.log))
}

// reportStop logs that servers could not be stopped, and sets the exit code; nil: they were.
func (p *program) reportStop(err error) {
	if err != nil {
		p.log.Error(err.Error())
		p.exit = max(p.exit, run.ExitEnvironment)
	}
}

// checkDataset reads the user's data set before the simulator or a server is started.
func checkDataset(plan *plan.Plan) error {
	if !plan.HasDataset() {
		return nil
	}
	_, err := plan.ReadDataset()
	return err
}

func (c *console) printRecord(r *record.Record, folder string) error {
	if c.logsJSON() || c.quiet && !c.json {
		c.logVerdict(r)
	}
	if c.json {
		c.writeJSON(r)
		return nil
	}
	if c.quiet {
		if !c.silent {
			printVerdictLine(c.out, r)
		}
		return nil
	}
	printSummary(c.out, r)
	c.out.line("\nfolder      %s", filepath.Clean(folder))
	return nil
}

// logVerdict logs each reason of a verdict that is not VALID. With JSON it also logs the verdict, which is on stdout as
// text.
func (c *console) logVerdict(r *record.Record) {
	log := c.log.With(zap.String("scenario", r.Scenario))
	for _, cause := range r.Reasons {
		text := fmt.Sprintf("%s: %s: %s", r.Verdict, cause.Code, cause.Text)
		if cause.Code == record.CodeInterrupted { // it repeats the verdict
			text = fmt.Sprintf("%s: %s", r.Verdict, cause.Text)
		}
		log.Error(text, zap.String("code", string(cause.Code)))
	}
	if !c.logsJSON() {
		return
	}
	log.Info(string(r.Verdict)+", "+r.Headline(), zap.String("verdict", string(r.Verdict)), zap.String("model", r.Model),
		zap.String("mode", string(r.Mode)), zap.Bool("rehearsal", r.Rehearsal))
}

// commandLine returns this program's command line without secrets.
func (p *program) commandLine() []string {
	line := []string{"mlperf-go"}
	for _, w := range secret.Args(os.Args[1:]) {
		line = append(line, p.secrets.Values(w))
	}
	return line
}
