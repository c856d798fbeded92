package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/score"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

func (p *program) runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run one test", HideHelpCommand: true,
		Description: "Runs one LoadGen test and leaves a folder with the official logs, the record (run.json) and a " +
			"verdict.\n" +
			"Without --endpoint the simulator is started; without --dataset a synthetic data set is made. Both make a " +
			"rehearsal.\n" +
			"Every flag has an environment name too, such as MLPERF_GO_TARGET_QPS, and a line of --config FILE, such as " +
			"target-qps: 40. docs/reference/flags.md lists them.",
		Flags: append(settingFlags(), &cli.BoolFlag{Name: "print-config",
			Usage: "print the effective configuration with origins, and stop"}),
		Action: func(c *cli.Context) error {
			s, err := p.testSettings(c)
			if err != nil {
				return err
			}
			if s.String("mode") == "submission" {
				return p.runPair(c, s)
			}
			plan, err := run.NewPlan(s.Effective)
			if err != nil {
				return err
			}
			plan.Command, plan.Secrets = p.commandLine(), p.secrets
			p.notice(plan.Notices()...)
			if c.Bool("print-config") {
				return p.printConfig(plan)
			}
			return p.runOne(c.Context, plan, s)
		},
		OnUsageError: usageError,
	}
}

func noArguments(c *cli.Context) error {
	if c.NArg() == 0 {
		return nil
	}
	return run.UsageError("argument", "Is a -- missing before it, or an = in front of its value?",
		"%s takes flags only, not %q", c.Command.HelpName, c.Args().First())
}

// commandLine is how this program was called, without secrets.
func (p *program) commandLine() []string {
	line := []string{"mlperf-go"}
	for _, w := range secret.Args(os.Args[1:]) {
		line = append(line, p.secrets.Values(w))
	}
	return line
}

func (p *program) printConfig(plan *run.Plan) error {
	rows := plan.Samples()
	if plan.HasDataset() {
		ds, err := plan.ReadDataset()
		if err != nil {
			return err
		}
		rows = len(ds.Samples)
	}
	if err := plan.Bind(rows); err != nil {
		return err
	}
	if p.json {
		p.writeJSON(configJSON(plan))
		return nil
	}
	return plan.Config.WriteYAML(p.stdout)
}

// configJSON is the effective configuration, each value as a flag would take it.
func configJSON(plan *run.Plan) any {
	type setting struct {
		Value  string `json:"value"`
		Origin string `json:"origin"`
	}
	settings := map[string]setting{}
	for _, s := range plan.Config.Table() {
		if text := plan.Config.Text(s.Name); text != "" && !s.Ignored {
			settings[s.Name] = setting{text, plan.Config.Origin(s.Name).String()}
		}
	}
	return map[string]any{"settings": settings, "rehearsal": plan.Rehearsal}
}

// runOne does a test in this process.
func (p *program) runOne(ctx context.Context, plan *run.Plan, s *settings) error {
	plan.Scoring = score.Plan(plan, p.environ, p.scored())
	plan.Counter = func(ctx context.Context) (*finder.Found, error) {
		return finder.Find(ctx, score.TokenizerOf(plan, p.environ))
	}
	if s.servers != nil {
		plan.Profilers = s.servers.Profilers
	}
	if plan.Config.Bool("resume") {
		before := campaign.Before(plan, synthSet)
		if before.Status == campaign.Done {
			if err := wantsScore(plan, before.Record); err != nil {
				return err
			}
			p.notice("skipped: " + plan.Folder() + " holds a valid run of these settings")
			return p.printRecord(before.Record, plan.Folder())
		}
		if before.Why != "" {
			p.notice("the test is done again: " + before.Why)
		}
		if err := plan.Config.Set("force", "true", forced); err != nil {
			return err
		}
	}
	if err := checkDataset(plan); err != nil {
		return err
	}
	if err := run.CheckFolder(plan.Folder(), plan.Config.Bool("force")); err != nil {
		return err
	}
	if err := run.CheckRoom(plan); err != nil {
		return err
	}
	down, err := p.startServers(ctx, s.servers)
	if err != nil {
		return err
	}
	defer down()
	stop, _, err := p.rehearse(ctx, plan, "")
	if err != nil {
		return err
	}
	defer stop()
	progress := p.newProgress(plan)
	r, err := run.Run(ctx, plan, progress)
	progress.end()
	if err != nil {
		return err
	}
	p.exit = r.ExitCode()
	if i, ok := context.Cause(ctx).(run.Interrupt); ok && r.Verdict == record.Interrupted {
		p.exit = i.ExitCode()
	}
	return p.printRecord(r, plan.Folder())
}

// wantsScore refuses to take a log for a scored test: a run that was asked for its log only is valid without a score.
func wantsScore(plan *run.Plan, r *record.Record) error {
	if !plan.Config.Bool("score") || !r.LogOnly() || campaign.HasScore(plan.Folder()) {
		return nil
	}
	return &run.Error{Exit: run.ExitInvalid, Code: "not_scored",
		Err: fmt.Errorf("%s holds the log of a valid accuracy test, whose answers were not scored (%s)", plan.Folder(),
			record.LogOnly),
		Hint: "Score them with `mlperf-go accuracy --log " + plan.Folder() + "`"}
}

// startServers starts the servers of a test. The returned function stops them; an error of it sets the exit code.
func (p *program) startServers(ctx context.Context, plan *servers.Plan) (stop func(), err error) {
	if plan == nil {
		return func() {}, nil
	}
	p.notice(plan.Notes...)
	fleet, err := servers.Start(ctx, plan, func(text string) { p.notice(text) })
	if err != nil {
		return nil, serverError("server_start", err)
	}
	return func() {
		if err := fleet.Finish(p.log); err != nil {
			p.log.Error(err.Error())
			p.exit = max(p.exit, run.ExitEnvironment)
		}
	}, nil
}

// checkDataset reads the user's data set before anything is started, the simulator included.
func checkDataset(plan *run.Plan) error {
	if !plan.HasDataset() {
		return nil
	}
	_, err := plan.ReadDataset()
	return err
}

func (p *program) printRecord(r *record.Record, folder string) error {
	if p.json {
		p.writeJSON(r)
		return nil
	}
	if p.quiet {
		for _, c := range r.Reasons { // a VALID run has none
			p.log.Error(fmt.Sprintf("%s: %s: %s", r.Verdict, c.Code, c.Text))
		}
		return nil
	}
	printSummary(p.stdout, r)
	fmt.Fprintf(p.stdout, "\nfolder      %s\n", filepath.Clean(folder))
	return nil
}
