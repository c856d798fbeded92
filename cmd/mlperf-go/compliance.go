package main

import (
	"context"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compliance/audit"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// complianceCommand runs audits.
type complianceCommand struct{ *program }

func (cmd complianceCommand) command() *cli.Command {
	scale := &cli.IntFlag{Name: "rehearsal-queries",
		Usage:       "limit the queries, for a rehearsal whose verdict does not count",
		DefaultText: "as many as the audit requires"}
	return &cli.Command{
		Name: "compliance", Usage: "run an audit, verify its logs, or list the audits of a benchmark",
		Subcommands: []*cli.Command{
			{Name: "run", Usage: "run the test of an audit and verify it", OnUsageError: usageError,
				Description: "Runs the test with the audit's configuration and verifies its logs. The results of the " +
					"verification go to OUTPUT-DIR/compliance.",
				Flags:  append(append(settingFlagsOf("MODEL-SCENARIO-TEST", ""), testFlag(), scale), referenceFlags()...),
				Action: cmd.run},
			verifyCommand(cmd).command(), needsCommand(cmd).command(),
		},
	}
}

// run runs an audit's test in this process and verifies its logs.
func (cmd complianceCommand) run(c *cli.Context) error {
	s, err := cmd.testSettings(c)
	if err != nil {
		return err
	}
	t, err := audit.Prepare(s.Effective, audit.Options{Name: c.String("test"), Queries: c.Int("rehearsal-queries"),
		ReferenceAccuracy: c.String("reference-accuracy"), ReferencePerformance: c.String("reference-performance")})
	if err != nil {
		return err
	}
	plan := t.Plan
	plan.Command, plan.Secrets, plan.Environ = cmd.commandLine(), cmd.secrets, cmd.environ
	cmd.notice(t.Notes...)
	cmd.notice(plan.Notices()...)
	if err := cmd.runTest(c.Context, plan, s); err != nil || cmd.exit != run.ExitValid {
		return err
	}
	if t.IsScored() {
		o, err := scoreOptions(cmd.program, c)
		if err != nil {
			return err
		}
		if err := t.Score(c.Context, o); err != nil {
			return err
		}
	}
	return verifyCommand(cmd).judge(t.Input, plan.Audit, filepath.Join(plan.Folder(), layout.VerifyFolder))
}

// runTest runs the audit's test. With --json it does not print the test's own result, because standard output is for
// one object: the verification's.
func (cmd complianceCommand) runTest(ctx context.Context, plan *plan.Plan, s *settings) error {
	p := cmd.program
	if p.json {
		quiet := *p.console
		quiet.json, quiet.quiet, quiet.silent = false, true, true
		p = &program{console: &quiet, environ: p.environ, secrets: p.secrets, modelFile: p.modelFile}
	}
	err := testRun{p, plan, s}.do(ctx)
	cmd.exit = p.exit
	return err
}
