package campaign

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/earlystop"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/needs"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Bind resolves the settings of every step, and rejects a campaign that could not be submitted.
func (p *Plan) Bind() error {
	p.plans = nil
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
	if err := errors.Join(p.refuseRehearsal(plan), p.refuseBreaches(plan)); err != nil {
		return err
	}
	t.Load = needs.LoadOf(plan)
	if t.IsRun() || t.Test == Tune {
		t.Settings = PlanSettings(plan, sum)
		p.plans = append(p.plans, plan)
	}
	if t.Tuned {
		t.Load.PerS = 0
		delete(t.Settings, keyTargetQPS)
	}
	if err := p.deferLoad(t, plan); err != nil || !t.Audit() {
		return err
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
		t.Notice = tooShort(plan, audit.Records)
	}
	return nil
}

// tooShort returns the notice that LoadGen will call an audit INVALID because it has fewer queries than early stopping
// needs, or "" (docs/reference/loadgen.md#early-stopping).
func tooShort(plan *plan.Plan, queries int) string {
	percentile := plan.Config.Float("latency-percentile")
	if !plan.Config.Has("latency-percentile") {
		percentile = plan.OfficialPercentile()
	}
	const percent = 100
	needed := earlystop.Need(percentile/percent, 0)
	if plan.Scenario.LoadGen != models.Server || queries >= needed {
		return ""
	}
	return fmt.Sprintf("LoadGen's own summary will report INVALID, which does not count: the audit has %d queries, and "+
		"LoadGen's early stopping needs %d; the audit's verification decides", queries, needed)
}

// refuseRehearsal: with the user's server and data set, a rehearsal must be requested
// (docs/reference/runs.md#rehearsals).
func (p *Plan) refuseRehearsal(plan *plan.Plan) error {
	if !p.Real || len(plan.Rehearsal) == 0 {
		return nil
	}
	return exit.Usage(exit.CodeRehearsal,
		"Leave that out for a submission, or add --rehearsal to rehearse the campaign on "+
			"this server", "this would be a rehearsal, not a submission, because of %s", strings.Join(plan.Causes, ", "))
}

// refuseBreaches rejects what the division does not allow, which would otherwise be found hours later. A rehearsal's
// tests warn themselves.
func (p *Plan) refuseBreaches(plan *plan.Plan) error {
	breaches := plan.Breaches()
	if !p.Real || p.Division == layout.Open || len(breaches) == 0 {
		return nil
	}
	return exit.Usage(exit.CodeBreach, "Leave the setting out, or submit with --division open",
		"the %s division does not allow this: %s", p.Division, breaches[0])
}

// Before judges what a plan's folder holds from an earlier run: a valid run with the plan's settings is Done. A
// plan that cannot be resolved has the zero Finding: its run will report why.
func Before(test *plan.Plan) Finding {
	r := newResolver(test.Config.Clone(), test.Row)
	step := Step{Scenario: test.Scenario.Scenario, Test: string(test.Mode)}
	bound, sum, err := r.resolve(step)
	if err != nil {
		return Finding{}
	}
	return Want{Model: test.Row.Name, Step: step, Settings: PlanSettings(bound, sum),
		Real: len(bound.Rehearsal) == 0}.Judge(test.Folder())
}
