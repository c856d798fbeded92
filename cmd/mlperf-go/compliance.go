package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/score"
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

// complianceRun does an audit's test in this process and verifies what it left.
func (cmd complianceCommand) run(c *cli.Context) error {
	s, err := cmd.testSettings(c)
	if err != nil {
		return err
	}
	e := s.Effective
	if e.IsSet("audit-config") || e.String("mode") != string(models.Performance) {
		return exit.Usage(exit.CodeAuditConfig, "Omit --audit-config and --mode",
			"an audit has its own audit.config and always measures performance")
	}
	plan, err := plan.Resolve(e)
	if err != nil {
		return err
	}
	audit, err := compliance.Find(c.String("test"), plan.Row.Name)
	if err != nil {
		return exit.Usage(exit.CodeAudit, "`mlperf-go compliance needs --model "+plan.Row.Name+"` lists the audits", "%w",
			err)
	}
	plan.Audit, plan.AuditRows = audit.Test, audit.Samples
	if err := cmd.reportNeed(audit.Test, plan); err != nil {
		return err
	}
	rows, err := rowsOf(plan)
	if err != nil {
		return err
	}
	audit = audit.Over(rows)
	if n := c.Int("rehearsal-queries"); n < 0 {
		return exit.Usage(exit.CodeRehearsal, "Omit it for the whole audit",
			"--rehearsal-queries %d is not a number of queries", n)
	} else if n > 0 {
		audit = audit.Scale(n)
	}
	in := compliance.Input{
		Compliance: filepath.Join(plan.Folder(), record.LogFolder), Scenario: plan.Scenario.Scenario, Row: plan.Row,
		Audit:             audit,
		ReferenceAccuracy: c.String("reference-accuracy"), ReferencePerformance: c.String("reference-performance"),
		EOSOption: compliance.OfficialEOSOption(plan.Row),
	}
	if err := in.Complete(audit.Test); err != nil { // reported before hours of a run
		return exit.Usage(exit.CodeCompliance, "Give --reference-accuracy or --reference-performance", "%w", err)
	}
	// audit.config is one of the run's files, so that no other copy remains, however this process ends.
	plan.AuditText = audit.Config()
	if err := e.Set("audit-config", filepath.Join(plan.Folder(), record.AuditName),
		config.Origin{Layer: config.FromFlag, Where: audit.Test}); err != nil {
		return err
	}
	plan.Command, plan.Secrets, plan.Environ = cmd.commandLine(), cmd.secrets, cmd.environ
	cmd.notice(plan.Notices()...)
	if err := cmd.runTest(c.Context, plan, s); err != nil || cmd.exit != run.ExitValid {
		return err
	}
	if audit.Threshold > 0 {
		if in.Evaluator, err = cmd.evaluation(c, plan); err != nil {
			return err
		}
	}
	return verifyCommand(cmd).judge(in, audit.Test, filepath.Join(plan.Folder(), layout.VerifyFolder))
}

// rowsOf returns the number of rows that a plan's test will have.
func rowsOf(plan *plan.Plan) (int, error) {
	if !plan.HasDataset() {
		return plan.Samples(), nil
	}
	ds, err := plan.ReadDataset()
	if err != nil {
		return 0, err
	}
	return len(ds.Samples), nil
}

// reportNeed reports that the round does not require the audit.
func (cmd complianceCommand) reportNeed(test string, plan *plan.Plan) error {
	if len(rounds.Of(plan.Row)) == 0 { // a benchmark that the user added
		return nil
	}
	needs, err := compliance.Needs(plan.Row.Name, plan.Round.Name, layout.Closed)
	if err != nil {
		return exit.Usage(exit.CodeAudit, "", "%w", err)
	}
	for _, n := range needs {
		if n.Test == test && !n.Needed {
			cmd.notice(n.Why)
		}
	}
	return nil
}

// evaluation returns the output of the accuracy evaluation about an audit's answers.
func (cmd complianceCommand) evaluation(c *cli.Context, plan *plan.Plan) (string, error) {
	l, err := score.OfAudit(plan)
	if err != nil {
		return "", err
	}
	o, err := scoreOptions(cmd.program, c)
	if err != nil {
		return "", err
	}
	r, err := l.Score(c.Context, o)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = r.WriteText(&text)
	return text.String(), err
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
