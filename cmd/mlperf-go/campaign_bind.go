package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/submission/campaign"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// plan resolves a step to the end, as its own process will.
func (k *theCampaign) plan(s campaign.Step) (*run.Plan, string, error) {
	e, err := k.config(s)
	if err != nil {
		return nil, "", err
	}
	plan, err := run.NewPlan(e)
	if err != nil {
		return nil, "", err
	}
	plan.Profilers = k.p.profilers()
	if s.Audit() {
		audit, err := compliance.Find(s.Test, k.row.Name)
		if err != nil {
			return nil, "", run.UsageError("audit", "", "%w", err)
		}
		plan.AuditRows = audit.Samples
	}
	rows, sum := plan.Samples(), ""
	if plan.HasDataset() {
		plan.ShareDataset(k.read[e.String("dataset")])
		ds, err := plan.ReadDataset()
		if err != nil {
			return nil, "", err
		}
		k.read[e.String("dataset")] = plan
		rows, sum = len(ds.Samples), ds.SHA256
	} else if sum, err = k.synthetic(plan); err != nil {
		return nil, "", err
	}
	if err := plan.Bind(rows); err != nil {
		return nil, "", err
	}
	return plan, sum, nil
}

// synthetic is the SHA-256 of the synthetic data set that will be made for a plan.
func (k *theCampaign) synthetic(plan *run.Plan) (string, error) {
	key := strconv.Itoa(plan.Samples())
	if k.hash[key] == "" {
		h := sha256.New()
		if err := synthSet(plan).Write(h); err != nil {
			return "", run.UsageError("dataset", "Give the benchmark's own data set with --dataset", "%w", err)
		}
		k.hash[key] = hex.EncodeToString(h.Sum(nil))
	}
	return k.hash[key], nil
}

// bind finds out what every step is set to, and refuses what could not be submitted.
func (k *theCampaign) bind() error {
	for i := range k.Tasks {
		t := &k.Tasks[i]
		plan, sum, err := k.plan(t.Step)
		if err != nil {
			return fmt.Errorf("%s: %w", t.ID(), err)
		}
		if err := errors.Join(refuseRehearsal(plan), k.refuseBreaches(plan)); err != nil {
			return fmt.Errorf("%s: %w", t.ID(), err)
		}
		t.Load = loadOf(plan)
		if t.Audit() {
			if t.Load, err = k.auditLoad(t.Step, t.Load); err != nil {
				return err
			}
		}
		if t.IsRun() {
			t.Settings = campaign.PlanSettings(plan, sum)
		}
		if n := k.size.queries; t.Audit() && n > 0 {
			t.Settings[campaign.KeyAudit] = strconv.Itoa(n)
		}
	}
	return nil
}

// refuseBreaches: what the closed division does not allow is found hours later otherwise. A rehearsal is told by its
// tests.
func (k *theCampaign) refuseBreaches(plan *run.Plan) error {
	breaches := plan.Breaches()
	if !k.Real || k.Division == layout.Open || len(breaches) == 0 {
		return nil
	}
	return run.UsageError("breach", "Leave the setting out, or submit with --division open",
		"the %s division does not allow this: %s", k.Division, breaches[0])
}

// loadOf is how much a bound plan's test has to do.
func loadOf(plan *run.Plan) campaign.Load {
	c := plan.Config
	l := campaign.Load{Samples: c.Int("min-queries"), MinDuration: c.Duration("min-duration")}
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

// auditLoad: the audit's own counts go before the plan's.
func (k *theCampaign) auditLoad(s campaign.Step, l campaign.Load) (campaign.Load, error) {
	audit, err := compliance.Find(s.Test, k.row.Name)
	if err != nil {
		return l, run.UsageError("audit", "", "%w", err)
	}
	if n := k.size.queries; n > 0 {
		audit = audit.Scale(n)
	}
	if audit.Records > 0 {
		l.Samples, l.MinDuration = audit.Records, 0
	}
	return l, nil
}
