package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/score"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

func (p *program) complianceCommand() *cli.Command {
	scale := &cli.IntFlag{Name: "rehearsal-queries",
		Usage:       "at most this many queries, for a rehearsal: the verdict then counts for nothing",
		DefaultText: "as many as the audit asks for"}
	return &cli.Command{
		Name: "compliance", Usage: "the audits: run one, or verify its logs",
		Subcommands: []*cli.Command{
			{Name: "run", Usage: "run an audit's test and verify it", HideHelpCommand: true, OnUsageError: usageError,
				Description: "Runs the test with the audit's configuration, given to LoadGen by path, and verifies its logs. The " +
					"verify files are written to OUTPUT-DIR/compliance.",
				Flags: append(append(settingFlags(), testFlag(), scale), referenceFlags()...), Action: p.complianceRun},
			p.verifyCommand(), p.needsCommand(),
		},
	}
}

// complianceRun does an audit's test in this process and verifies what it left.
func (p *program) complianceRun(c *cli.Context) error {
	s, err := p.testSettings(c)
	if err != nil {
		return err
	}
	e := s.Effective
	if e.IsSet("audit-config") || e.String("mode") != string(models.Performance) {
		return run.UsageError("audit_config", "Leave --audit-config and --mode out",
			"an audit brings its own audit.config, and measures performance")
	}
	plan, err := run.NewPlan(e)
	if err != nil {
		return err
	}
	audit, err := compliance.Find(c.String("test"), plan.Row.Name)
	if err != nil {
		return run.UsageError("audit", "`mlperf-go compliance needs --model "+plan.Row.Name+"` lists what there is", "%w",
			err)
	}
	plan.AuditRows = audit.Samples
	if err := p.tellNeed(audit.Test, plan); err != nil {
		return err
	}
	rows, err := rowsOf(plan)
	if err != nil {
		return err
	}
	audit = audit.Over(rows)
	if n := c.Int("rehearsal-queries"); n < 0 {
		return run.UsageError("rehearsal", "Leave it out for the whole audit",
			"--rehearsal-queries %d is no number of queries", n)
	} else if n > 0 {
		audit = audit.Scale(n)
	}
	in := compliance.Input{
		Compliance: filepath.Join(plan.Folder(), record.LogFolder), Scenario: plan.Scenario.Scenario, Row: plan.Row,
		Audit:             audit,
		ReferenceAccuracy: c.String("reference-accuracy"), ReferencePerformance: c.String("reference-performance"),
		EOSOption: compliance.OfficialEOSOption(plan.Row),
	}
	if err := in.Complete(audit.Test); err != nil { // said before hours of a run, not after
		return run.UsageError("compliance", "Give --reference-accuracy or --reference-performance", "%w", err)
	}
	// It is written with the run's other files, so that nothing stays behind elsewhere, however this process ends.
	plan.AuditText = audit.Config()
	if err := e.Set("audit-config", filepath.Join(plan.Folder(), record.AuditName),
		config.Origin{Layer: config.FromFlag, Where: audit.Test}); err != nil {
		return err
	}
	plan.Command, plan.Secrets = p.commandLine(), p.secrets
	p.notice(plan.Notices()...)
	if err := p.runAudit(c.Context, plan, s); err != nil || p.exit != run.ExitValid {
		return err
	}
	if audit.Threshold > 0 {
		if in.Evaluator, err = p.evaluation(c, plan); err != nil {
			return err
		}
	}
	return p.verify(in, audit.Test, filepath.Join(plan.Folder(), layout.VerifyFolder))
}

// rowsOf is the number of rows that a plan's test will have.
func rowsOf(plan *run.Plan) (int, error) {
	if !plan.HasDataset() {
		return plan.Samples(), nil
	}
	ds, err := plan.ReadDataset()
	if err != nil {
		return 0, err
	}
	return len(ds.Samples), nil
}

// tellNeed says where the round does not ask for an audit.
func (p *program) tellNeed(test string, plan *run.Plan) error {
	if len(rounds.Of(plan.Row)) == 0 { // a row of the user's own
		return nil
	}
	needs, err := compliance.Needs(plan.Row.Name, plan.Round.Name, layout.Closed)
	if err != nil {
		return run.UsageError("audit", "", "%w", err)
	}
	for _, n := range needs {
		if n.Test == test && !n.Needed {
			p.notice(n.Why)
		}
	}
	return nil
}

// evaluation is what the accuracy evaluation prints about an audit's answers.
func (p *program) evaluation(c *cli.Context, plan *run.Plan) (string, error) {
	l, err := score.OfAudit(plan)
	if err != nil {
		return "", err
	}
	r, err := l.Score(c.Context, p.scoreOptions(c))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = r.WriteText(&text)
	return text.String(), err
}

// runAudit is runOne without its summary on stdout where one JSON object is wanted: the verification's.
func (p *program) runAudit(ctx context.Context, plan *run.Plan, s *settings) error {
	wantsJSON := p.json
	p.json = false
	quiet := p.quiet
	p.quiet = p.quiet || wantsJSON
	defer func() { p.json, p.quiet = wantsJSON, quiet }()
	return p.runOne(ctx, plan, s)
}

// verify judges an audit's logs; an audit that fails is exit 1, as an invalid run is.
func (p *program) verify(in compliance.Input, test, folder string) error {
	in.Now = time.Now()
	r, err := compliance.Verify(test, in)
	if err != nil {
		return run.UsageError("compliance", "", "%w", err)
	}
	if folder != "" {
		if len(r.Files) > 0 {
			if err := r.Write(folder); err != nil {
				return err
			}
		}
		if err := r.Verdict().Keep(folder); err != nil {
			return err
		}
	}
	if !r.OK() {
		p.exit = run.ExitInvalid
	}
	if p.json {
		p.writeJSON(r.Verdict())
		return nil
	}
	official, strict := "FAIL", "FAIL"
	if r.Pass {
		official = "PASS"
	}
	if r.OK() {
		strict = "PASS"
	}
	fmt.Fprintf(p.stdout, "%s  official reading %s, strict reading %s\n", r.Test, official, strict)
	for _, f := range r.Strict {
		fmt.Fprintf(p.stdout, "  %s %s: %s\n", f.Severity, f.Code, f.Words())
	}
	return nil
}
