package main

import (
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/plan"
)

// runCommand runs one test.
type runCommand struct{ *program }

func (cmd runCommand) command() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run one test and judge it",
		Description: "Runs one LoadGen test. Its folder then contains the official logs and the record with the verdict " +
			"(run.json).\n" +
			"Without --endpoint it starts the simulator; without --dataset it makes a synthetic data set. In both cases the " +
			"test is a rehearsal.\n" +
			"Every setting can also be set by an environment variable, such as MLPERF_GO_TARGET_QPS, or by a line of " +
			"--config FILE, such as target-qps: 40. docs/reference/flags.md lists them.",
		Flags: append(settingFlags(), &cli.BoolFlag{Name: "print-config",
			Usage: "print the effective settings with their origins and exit"}),
		Action: func(c *cli.Context) error {
			s, err := cmd.testSettings(c)
			if err != nil {
				return err
			}
			if s.String("mode") == "submission" {
				return submissionCommand(cmd).runPair(c, s)
			}
			plan, err := plan.Resolve(s.Effective)
			if err != nil {
				return err
			}
			plan.Command, plan.Secrets, plan.Environ = cmd.commandLine(), cmd.secrets, cmd.environ
			cmd.notice(plan.Notices()...)
			cmd.notice(plan.UnusedLimits()...)
			if c.Bool("print-config") {
				return cmd.printConfig(plan)
			}
			return testRun{cmd.program, plan, s}.do(c.Context)
		},
		OnUsageError: usageError,
	}
}

func (cmd runCommand) printConfig(plan *plan.Plan) error {
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
	if cmd.json {
		cmd.writeJSON(configJSON(plan))
		return nil
	}
	return plan.Effective().WriteYAML(cmd.stdout)
}

// configJSON returns the effective settings, each value as its flag accepts it.
func configJSON(plan *plan.Plan) any {
	type setting struct {
		Value  string `json:"value"`
		Origin string `json:"origin"`
	}
	settings := map[string]setting{}
	effective := plan.Effective()
	for _, s := range effective.Table() {
		if text := effective.Text(s.Name); text != "" && !s.Ignored {
			settings[s.Name] = setting{text, effective.Origin(s.Name).String()}
		}
	}
	return map[string]any{"settings": settings, "rehearsal": plan.Rehearsal}
}
