package audit

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/score"
)

// Options select an audit.
type Options struct {
	Name    string // such as TEST06
	Queries int    // most queries, for a rehearsal; 0: as many as the audit requires
	// Folders with the logs of the runs that some audits compare with.
	ReferenceAccuracy, ReferencePerformance string
}

// Test is the test of an audit, ready to run.
type Test struct {
	Plan  *plan.Plan
	Input compliance.Input // of the verification, once the test has run
	Notes []string         // for the user: why the round does not require the audit
}

// Prepare returns the test of an audit with the settings of e, to which it adds the audit's configuration.
func Prepare(e *config.Effective, o Options) (*Test, error) {
	if e.IsSet("audit-config") || e.String("mode") != string(models.Performance) {
		return nil, exit.Usage(exit.CodeAuditConfig, "Omit --audit-config and --mode",
			"an audit has its own audit.config and always measures performance")
	}
	if o.Queries < 0 {
		return nil, exit.Usage(exit.CodeRehearsal, "Omit it for the whole audit",
			"--rehearsal-queries %d is not a number of queries", o.Queries)
	}
	p, err := plan.Resolve(e)
	if err != nil {
		return nil, err
	}
	a, err := compliance.Find(o.Name, p.Row.Name)
	if err != nil {
		return nil, exit.Usage(exit.CodeAudit, "`mlperf-go compliance needs --model "+p.Row.Name+"` lists the audits", "%w",
			err)
	}
	p.Audit, p.AuditRows = a.Test, a.Samples
	t := &Test{Plan: p}
	if t.Notes, err = needless(a.Test, p); err != nil {
		return nil, err
	}
	rows, err := rowsOf(p)
	if err != nil {
		return nil, err
	}
	if a = a.Over(rows); o.Queries > 0 {
		a = a.Scale(o.Queries)
	}
	t.Input = compliance.Input{
		Compliance: filepath.Join(p.Folder(), record.LogFolder), Scenario: p.Scenario.Scenario, Row: p.Row, Audit: a,
		ReferenceAccuracy: o.ReferenceAccuracy, ReferencePerformance: o.ReferencePerformance,
		EOSOption: compliance.OfficialEOSOption(p.Row),
	}
	if err := t.Input.Complete(a.Test); err != nil { // reported before hours of a run
		return nil, exit.Usage(exit.CodeCompliance, "Give --reference-accuracy or --reference-performance", "%w", err)
	}
	// audit.config is one of the run's files, so that no other copy remains, however this process ends.
	p.AuditText = a.Config()
	return t, e.Set("audit-config", filepath.Join(p.Folder(), record.AuditName),
		config.Origin{Layer: config.FromFlag, Where: a.Test})
}

// closedDivision is the division whose rules require audits.
const closedDivision = "closed"

// needless returns why the round does not require an audit; nil: it does, or the user added the benchmark.
func needless(test string, p *plan.Plan) ([]string, error) {
	if len(rounds.Of(p.Row)) == 0 {
		return nil, nil
	}
	needs, err := compliance.Needs(p.Row.Name, p.Round.Name, closedDivision)
	if err != nil {
		return nil, exit.Usage(exit.CodeAudit, "", "%w", err)
	}
	var notes []string
	for _, n := range needs {
		if n.Test == test && !n.Needed {
			notes = append(notes, n.Why)
		}
	}
	return notes, nil
}

// rowsOf returns the number of rows that a plan's test will have.
func rowsOf(p *plan.Plan) (int, error) {
	if !p.HasDataset() {
		return p.Samples(), nil
	}
	ds, err := p.ReadDataset()
	if err != nil {
		return 0, err
	}
	return len(ds.Samples), nil
}

// IsScored reports whether the verification needs the score of the answers.
func (t *Test) IsScored() bool { return t.Input.Audit.Threshold > 0 }

// Score scores the answers of the test, which has run, for the verification.
func (t *Test) Score(ctx context.Context, o score.Options) error {
	l, err := score.OfAudit(t.Plan)
	if err != nil {
		return err
	}
	r, err := l.Score(ctx, o)
	if err != nil {
		return err
	}
	var text strings.Builder
	err = r.WriteText(&text)
	t.Input.Evaluator = text.String()
	return err
}
