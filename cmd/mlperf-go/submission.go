package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/submission"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
)

// submissionCommand runs campaigns and builds submission trees.
type submissionCommand struct{ *program }

const campaignGroup = "Campaign"

func (cmd submissionCommand) command() *cli.Command {
	return &cli.Command{
		Name: "submission", Usage: "run all tests of a benchmark, build the submission tree and check it",
		Description: "Without a subcommand it does run, build, truncate and check in this order. The tree is " +
			"OUTPUT-DIR/submission.",
		Flags: campaignCommandFlags(true), Action: cmd.submitAll,
		Subcommands: []*cli.Command{{
			Name: "run", Usage: "run all tests of all scenarios: preflight, performance, accuracy, score, audits",
			Description: "Runs each test in a process of its own, into OUTPUT-DIR/<system>/<benchmark>/<scenario>/<test>. " +
				"--resume continues an earlier campaign: it keeps valid results whose settings have not changed.\n" +
				"docs/how-to/campaigns.md describes campaigns.",
			Flags:        campaignCommandFlags(false),
			Action:       cmd.run,
			OnUsageError: usageError,
		}, {
			Name: "status", Usage: "show the progress of a campaign", ArgsUsage: "OUTPUT-DIR",
			Description: "Reads the folder of a campaign, also while it runs. Exit code 0: every step is done; 1: some are not.",
			Action:      cmd.status, OnUsageError: usageError,
		}, initCommand(cmd).command(), buildCommand(cmd).command(),
			truncateCommand(cmd).command(), checkCommand(cmd).command(), packCommand(cmd).command()},
	}
}

func campaignCommandFlags(whole bool) []cli.Flag {
	return append(settingFlagsOf("MODEL", ""), campaignFlags(whole)...)
}

// campaignFlags returns the flags of a campaign, without the settings of its tests. With whole it hides the flags that
// select or only print steps, which `submission` rejects with a hint at `submission run`.
func campaignFlags(whole bool) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "system", Category: campaignGroup,
			Usage: "file that describes the system (see submission init); its system_type selects the scenarios"},
		&cli.StringFlag{Name: "system-name", Category: campaignGroup,
			Usage: "name of the system's folders; default: the name of the description's file"},
		&cli.StringFlag{Name: "system-type", Category: campaignGroup,
			Usage: "datacenter, edge, or datacenter,edge; default: the description's, or the first of the benchmark"},
		&cli.StringFlag{Name: "submitter", Category: campaignGroup,
			Usage: "name of the submitter; default: the description's"},
		&cli.StringFlag{Name: "division", Category: campaignGroup,
			Usage: "closed, open or network; default: the description's, or closed"},
		&cli.StringSliceFlag{Name: "only", Category: campaignGroup, Hidden: whole,
			Usage: "run only these steps: a scenario, a test (performance, accuracy, score, TEST06), or Server/accuracy; " +
				"repeatable"},
		&cli.StringSliceFlag{Name: "set", Category: campaignGroup,
			Usage: "setting of one scenario or test, such as Server.target-qps=80 or accuracy.dataset=FILE; repeatable"},
		&cli.StringFlag{Name: "rehearsal-size", Category: campaignGroup,
			Usage: "length of a rehearsal: tiny (32 rows, 64 queries a test, p90) or normal (512 rows and queries, 10 s of " +
				"Server)", DefaultText: "normal"},
		&cli.IntFlag{Name: "attempts", Category: campaignGroup, Usage: "how often to try a test that ends INVALID",
			DefaultText: "1; 2 in a rehearsal, 3 in a tiny one"},
		&cli.BoolFlag{Name: "tune", Category: campaignGroup,
			Usage: "before the first test of each Server and Interactive scenario without a target QPS, find the highest " +
				"valid one"},
		durationFlag(cli.GenericFlag{Name: "wait-endpoint", Category: campaignGroup,
			Usage: "how long to wait before a test for an endpoint that has disappeared; if given, also at the start"},
			10*time.Minute),
		&cli.BoolFlag{Name: "dry-run", Category: campaignGroup, Hidden: whole,
			Usage: "print the steps that would run, why, and how long they take; start nothing"},
		&cli.BoolFlag{Name: "print-script", Category: campaignGroup, Hidden: whole,
			Usage: "print a bash script that runs the same tests; start nothing"},
	}
}

func (cmd submissionCommand) run(c *cli.Context) error {
	k, s, err := cmd.planCampaign(c)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("print-script"):
		script, err := k.Script(s.engineArgs)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(cmd.stdout, script)
		return err
	case c.Bool("dry-run"):
		return cmd.dryRun(c.Context, k)
	}
	return cmd.runCampaign(c.Context, k)
}

// planCampaign applies the settings and the campaign's flags, and plans its steps.
func (cmd submissionCommand) planCampaign(c *cli.Context) (*campaign.Plan, *settings, error) {
	s, err := cmd.testSettings(c)
	if err != nil {
		return nil, nil, err
	}
	k, err := campaign.New(cmd.campaignOptions(c, s))
	return k, s, err
}

func (cmd submissionCommand) campaignOptions(c *cli.Context, s *settings) campaign.Options {
	o := campaign.Options{
		Settings:   s.Effective,
		SystemFile: c.String("system"), SystemName: c.String("system-name"), SystemType: c.String("system-type"),
		Submitter: c.String("submitter"), Division: c.String("division"),
		Only: c.StringSlice("only"), Set: c.StringSlice("set"),
		RehearsalSize: c.String("rehearsal-size"), Tune: c.Bool("tune"),
		Wait: c.Duration("wait-endpoint"), WaitFirst: c.IsSet("wait-endpoint"),
		Servers: s.servers, ServerOrigin: s.serverOrigin,
		Environ: cmd.environ, Stderr: cmd.stderr, Log: cmd.log, Needs: func(t needs.Table) { cmd.showNeeds(t, t.Err()) },
		Global: []string{"--log-format", cmd.logFormat, "--log-level", cmd.logLevel},
	}
	if c.IsSet("attempts") {
		o.Attempts = max(1, c.Int("attempts"))
	}
	if cmd.quiet {
		o.Global = append(o.Global, "--quiet")
	}
	if cmd.noProgress {
		o.Global = append(o.Global, "--no-progress")
	}
	return o
}

// runPair is `run --mode submission`: performance and accuracy of one scenario, each in its own folder below the output
// folder.
func (cmd submissionCommand) runPair(c *cli.Context, s *settings) error {
	k, err := campaign.NewPair(cmd.campaignOptions(c, s))
	if err != nil {
		return err
	}
	return cmd.runCampaign(c.Context, k)
}

// runCampaign runs the steps and prints the status of each.
func (cmd submissionCommand) runCampaign(ctx context.Context, k *campaign.Plan) error {
	cmd.measures()
	outcomes, err := cmd.measure(ctx, k)
	if len(outcomes) == 0 || err != nil && cmd.json { // with --json the error is the one object on stdout
		return err
	}
	cmd.printOutcomes(k.State(), outcomes)
	cmd.printResume(k.Folder, outcomes, err)
	return err
}

// measure runs the steps, shows them on the page of --live, and sets the exit code.
func (cmd submissionCommand) measure(ctx context.Context, k *campaign.Plan) ([]campaign.Outcome, error) {
	ctx, page, err := cmd.showCampaign(ctx, k)
	if err != nil {
		return nil, err
	}
	outcomes, exit, err := k.Measure(ctx)
	cmd.exit = exit
	endCampaign(page, outcomes, err)
	cmd.logEnd(outcomes)
	return outcomes, err
}

// logEnd logs why steps are not done, with --quiet and with --log-format json. With the latter it also logs how many
// are done, which is on stdout as text.
func (cmd submissionCommand) logEnd(outcomes []campaign.Outcome) {
	if len(outcomes) == 0 || !cmd.logsJSON() && (!cmd.quiet || cmd.json) {
		return
	}
	done := 0
	for _, o := range outcomes {
		if o.Entry.Status == campaign.Done {
			done++
			continue
		}
		cmd.log.Error(stepError(&o), zap.String("step", o.Step.ID()),
			zap.String("scenario", string(o.Step.Scenario)), zap.String("code", string(o.Entry.Code)))
	}
	if cmd.logsJSON() {
		cmd.log.Info(stepsDone(outcomes), zap.Int("steps_done", done), zap.Int("steps", len(outcomes)))
	}
}

// stepError returns why a step is not done.
func stepError(o *campaign.Outcome) string {
	text := fmt.Sprintf("%s is %s", o.Step.ID(), o.Entry.Status)
	if o.Entry.Why != "" {
		text += ": " + o.Entry.Why
	}
	return text
}

// submitAll is `submission` without a subcommand: from an endpoint to a checked tree.
func (cmd submissionCommand) submitAll(c *cli.Context) error {
	if c.NumFlags() == 0 || c.NArg() > 0 && c.String("server-config") == "" {
		return cmd.noCommand(c)
	}
	k, _, err := cmd.planCampaign(c)
	switch {
	case err != nil:
		return err
	case c.Bool("dry-run") || c.Bool("print-script"):
		return submission.ErrPartial
	}
	if err := submission.Prepare(k); err != nil {
		return err
	}
	outcomes, err := cmd.measure(c.Context, k)
	if len(outcomes) == 0 || err != nil && cmd.json { // with --json the error is the one object on stdout
		return err
	}
	if err != nil || cmd.exit != run.ExitValid {
		cmd.printOutcomes(k.State(), outcomes)
		cmd.printResume(k.Folder, outcomes, err)
		return err
	}
	h, err := submission.HandIn(c.Context, k)
	if err != nil {
		return cmd.explain(c.Context, err, k.Folder, false, nil)
	}
	if !h.Check.OnlyRehearsal() { // a valid tree has no error at all
		cmd.exit = run.ExitInvalid
	}
	return cmd.printHandedIn(k.State(), outcomes, h)
}

// submissionStatus shows a campaign's folder, also while the campaign runs.
func (cmd submissionCommand) status(c *cli.Context) error {
	folder, err := oneArgument(c, "campaign's folder", "OUTPUT-DIR")
	if err != nil {
		return err
	}
	state, outcomes, err := campaign.Inspect(folder)
	if err != nil {
		return exit.Usage(exit.CodeCampaign, "Give the --output-dir of `submission run`", "%w", err)
	}
	cmd.exit = min(campaign.ExitCode(outcomes), run.ExitInvalid)
	return cmd.printStatus(folder, state, outcomes, time.Now())
}
