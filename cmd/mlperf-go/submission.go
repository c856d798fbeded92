package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

const campaignGroup = "Campaign"

func (p *program) submissionCommand() *cli.Command {
	return &cli.Command{
		Name: "submission", Usage: "a benchmark's tests, its submission tree, and the tree's check",
		Description: "Without a word behind it: run, build, truncate and check, in this order, to a tree in " +
			"OUTPUT-DIR/submission.",
		Flags: campaignCommandFlags(), Action: p.chain,
		Subcommands: []*cli.Command{{
			Name: "run", Usage: "every test of every scenario: preflight, performance, accuracy, score, audits",
			HideHelpCommand: true,
			Description: "Runs each test in a process of its own, into OUTPUT-DIR/<system>/<benchmark>/<scenario>/<test>. " +
				"--resume goes on after any kind of end:\n" +
				"what is done and valid is not repeated, and what a changed setting touches is. docs/how-to/campaigns.md tells " +
				"more.",
			Flags:        campaignCommandFlags(),
			Action:       p.submissionRun,
			OnUsageError: usageError,
		}, {
			Name: "status", Usage: "how far a campaign is", ArgsUsage: "OUTPUT-DIR", HideHelpCommand: true,
			Description: "Reads the folder of a campaign, also of one that runs. Exit code 0: every step is done; 1: some are " +
				"not.",
			Action: p.submissionStatus, OnUsageError: usageError,
		}, p.initCommand(), p.buildCommand(), p.truncateCommand(), p.checkCommand(), p.packCommand()},
	}
}

func campaignCommandFlags() []cli.Flag {
	return append(settingFlags(), campaignFlags()...)
}

// campaignFlags are those of a campaign beside the settings of its tests.
func campaignFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "system", Category: campaignGroup,
			Usage: "description of the system, as submission init writes it; its system_type tells which scenarios there are"},
		&cli.StringFlag{Name: "system-name", Category: campaignGroup,
			Usage: "name of the system's folders; default: the description's file name"},
		&cli.StringFlag{Name: "system-type", Category: campaignGroup,
			Usage: "datacenter, edge, or datacenter,edge; default: the description's, or the benchmark's own"},
		&cli.StringFlag{Name: "submitter", Category: campaignGroup,
			Usage: "name of the submitter; default: the description's"},
		&cli.StringFlag{Name: "division", Category: campaignGroup,
			Usage: "closed, open or network; default: the description's, or closed"},
		&cli.StringSliceFlag{Name: "only", Category: campaignGroup,
			Usage: "do these steps alone: a scenario, a test (performance, accuracy, score, TEST06), or Server/accuracy; " +
				"repeatable"},
		&cli.StringSliceFlag{Name: "set", Category: campaignGroup,
			Usage: "a setting of one scenario or test, as in Server.target-qps=80 or accuracy.dataset=FILE; repeatable"},
		&cli.StringFlag{Name: "rehearsal-size", Category: campaignGroup,
			Usage: "tiny or normal: how long a rehearsal's tests are", DefaultText: "normal"},
		&cli.IntFlag{Name: "attempts", Category: campaignGroup, Usage: "how often a test that ends INVALID is tried",
			DefaultText: "1; of a rehearsal 2, of a tiny one 3"},
		&cli.DurationFlag{Name: "wait-endpoint", Category: campaignGroup, Value: 10 * time.Minute,
			Usage: "how long an endpoint that does not answer is waited for before a test"},
		&cli.BoolFlag{Name: "dry-run", Category: campaignGroup,
			Usage: "say what would be done, why, and how long it takes; start nothing"},
		&cli.BoolFlag{Name: "print-script", Category: campaignGroup,
			Usage: "print a bash script that runs the same tests; start nothing"},
	}
}

func (p *program) submissionRun(c *cli.Context) error {
	e, err := p.effective(c)
	if err == nil {
		err = p.engineArguments(c)
	}
	if err != nil {
		return err
	}
	k, err := p.newCampaign(c, e)
	if err != nil {
		return err
	}
	switch {
	case c.Bool("print-script"):
		return p.printScript(k, c.Args().Slice())
	case c.Bool("dry-run"):
		return p.dryRun(k)
	}
	return p.runCampaign(c.Context, k)
}

// runBoth is `run --mode submission`: performance and accuracy of one scenario, in folders of their own below the
// output folder.
func (p *program) runBoth(c *cli.Context, e *config.Effective) error {
	k, err := p.newCampaign(c, e)
	if err != nil {
		return err
	}
	k.keepTests(layout.Performance, layout.Accuracy)
	k.Place = k.shortPlace
	return p.runCampaign(c.Context, k)
}

// refuseRehearsal: a submission with a real server and a real data set must not be short by a flag
// (docs/reference/runs.md#rehearsals).
func refuseRehearsal(plan *run.Plan) error {
	if !isReal(plan) || len(plan.Rehearsal) == 0 {
		return nil
	}
	return run.UsageError("rehearsal", "Leave the setting out, or leave --endpoint or --dataset out for a rehearsal", "%s",
		"this would be a rehearsal, not a submission: "+plan.Rehearsal[0]+others(plan.Rehearsal[1:]))
}

func others(words []string) string {
	text := ""
	for _, w := range words {
		text += "; " + w
	}
	return text
}

// isReal says whether a plan has a server and a data set of the user's, so that nothing but a submission can be meant.
func isReal(plan *run.Plan) bool {
	given := func(name string) bool {
		return plan.Config.IsSet(name) && plan.Config.Origin(name).Layer > config.FromRegistry
	}
	return given("endpoint") && given("dataset") && plan.Config.String("backend") != "sim"
}
