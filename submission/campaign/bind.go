package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Bind resolves the settings of every step, and rejects a campaign that could not be submitted.
func (p *Plan) Bind() error {
	for i := range p.Tasks {
		if err := p.bindTask(&p.Tasks[i]); err != nil {
			return fmt.Errorf("%s: %w", p.Tasks[i].ID(), err)
		}
	}
	return nil
}

func (p *Plan) bindTask(t *Task) error {
	plan, sum, err := p.resolve(t.Step)
	if err != nil {
		return err
	}
	if err := errors.Join(refuseRehearsal(plan), p.refuseBreaches(plan)); err != nil {
		return err
	}
	t.Load = loadOf(plan)
	if t.IsRun() {
		t.Settings = PlanSettings(plan, sum)
	}
	if !t.Audit() {
		return nil
	}
	audit, err := findAudit(t.Step, p.row)
	if err != nil {
		return err
	}
	if n := p.size.auditQueries; n > 0 {
		audit = audit.Scale(n)
		t.Settings[KeyAudit] = strconv.Itoa(n)
	}
	if audit.Records > 0 { // the audit's own counts replace the plan's
		t.Load.Samples, t.Load.MinDuration = audit.Records, 0
	}
	return nil
}

// resolve plans the test of a step as its own process will, and returns the SHA-256 of its data set.
func (p *Plan) resolve(s Step) (*plan.Plan, string, error) {
	e, err := p.stepConfig(s)
	if err != nil {
		return nil, "", err
	}
	plan, err := plan.Resolve(e)
	if err != nil {
		return nil, "", err
	}
	if p.options.Servers != nil {
		plan.Profilers = p.options.Servers.Profilers
	}
	if s.Audit() {
		audit, err := findAudit(s, p.row)
		if err != nil {
			return nil, "", err
		}
		plan.AuditRows = audit.Samples
	}
	rows, sum := plan.Samples(), ""
	if plan.HasDataset() {
		plan.ShareDataset(p.readers[e.String("dataset")])
		ds, err := plan.ReadDataset()
		if err != nil {
			return nil, "", err
		}
		p.readers[e.String("dataset")] = plan
		rows, sum = len(ds.Samples), ds.SHA256
	} else if sum, err = p.syntheticSum(plan); err != nil {
		return nil, "", err
	}
	if err := plan.Bind(rows); err != nil {
		return nil, "", err
	}
	return plan, sum, nil
}

func findAudit(s Step, row *models.Row) (*compliance.Audit, error) {
	audit, err := compliance.Find(s.Test, row.Name)
	if err != nil {
		return nil, run.UsageError("audit", "", "%w", err)
	}
	return audit, nil
}

// syntheticSum returns the SHA-256 of the synthetic data set that will be made for a plan.
func (p *Plan) syntheticSum(plan *plan.Plan) (string, error) {
	rows := plan.Samples()
	if p.syntheticSums[rows] == "" {
		h := sha256.New()
		if err := rehearse.Dataset(plan).Write(h); err != nil {
			return "", run.UsageError("dataset", "Give the benchmark's own data set with --dataset", "%w", err)
		}
		p.syntheticSums[rows] = hex.EncodeToString(h.Sum(nil))
	}
	return p.syntheticSums[rows], nil
}

// refuseRehearsal: with a real server and a real data set, no setting may shorten a submission
// (docs/reference/runs.md#rehearsals).
func refuseRehearsal(plan *plan.Plan) error {
	if !isReal(plan) || len(plan.Rehearsal) == 0 {
		return nil
	}
	return run.UsageError("rehearsal", "Leave the setting out, or leave --endpoint or --dataset out for a rehearsal",
		"this would be a rehearsal, not a submission: %s", strings.Join(plan.Rehearsal, "; "))
}

// refuseBreaches rejects what the division does not allow, which would otherwise be found hours later. A rehearsal's
// tests warn themselves.
func (p *Plan) refuseBreaches(plan *plan.Plan) error {
	breaches := plan.Breaches()
	if !p.Real || p.Division == layout.Open || len(breaches) == 0 {
		return nil
	}
	return run.UsageError("breach", "Leave the setting out, or submit with --division open",
		"the %s division does not allow this: %s", p.Division, breaches[0])
}

// loadOf returns how much a bound plan's test has to do.
func loadOf(plan *plan.Plan) Load {
	c := plan.Config
	l := Load{Samples: c.Int("min-queries"), MinDuration: c.Duration("min-duration")}
	if plan.Scenario.LoadGen == models.Server {
		l.PerS = c.Float("target-qps")
	}
	if plan.Mode == models.Accuracy {
		l.Samples, l.MinDuration = plan.Row.DatasetSamples, 0
		if n := c.Int("samples"); n > 0 {
			l.Samples = n
		}
	}
	return l
}

// Before judges what a plan's folder holds from an earlier run: a valid run with the plan's settings is Done. A
// plan that cannot be resolved has the zero Finding: its run will report why.
func Before(test *plan.Plan) Finding {
	p := &Plan{settings: test.Config.Clone(), row: test.Row,
		syntheticSums: map[int]string{}, readers: map[string]*plan.Plan{}}
	step := Step{Scenario: test.Scenario.Scenario, Test: string(test.Mode)}
	bound, sum, err := p.resolve(step)
	if err != nil {
		return Finding{}
	}
	return Want{Model: test.Row.Name, Step: step, Settings: PlanSettings(bound, sum),
		Real: len(bound.Rehearsal) == 0}.Judge(test.Folder())
}
