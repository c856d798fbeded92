package run

import (
	"context"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
)

// Settings map the names of flags to their values.
type Settings map[string]string

// Plan is one test, resolved and checked.
type Plan struct {
	// Dataset is used instead of the file that the setting dataset names.
	Dataset *datasets.Dataset

	plan *plan.Plan
}

// New plans a test. It reads the files that the settings name, except the data set. Errors are of type *Error.
func New(s Settings) (*Plan, error) {
	p, err := plan.New(plan.Settings(s))
	if err != nil {
		return nil, err
	}
	return &Plan{plan: p}, nil
}

// FromPlan returns a plan of the commands of this module.
func FromPlan(p *plan.Plan) *Plan { return &Plan{plan: p} }

// inner returns the plan with the caller's data set.
func (p *Plan) inner() *plan.Plan {
	if p.Dataset != nil {
		p.plan.Dataset = p.Dataset
	}
	return p.plan
}

// Folder returns the folder of the run.
func (p *Plan) Folder() string { return p.plan.Folder() }

// Notices returns lines that a user should see once, such as the name behind an alias.
func (p *Plan) Notices() []string { return p.plan.Notices() }

// Rehearsal returns the reasons why the run cannot be submitted, as far as they are known before Run has read the data
// set.
func (p *Plan) Rehearsal() []string { return p.plan.Rehearsal }

// Rehearse writes a synthetic data set if the plan has none, and starts the simulator if the plan names no
// endpoint. program is the path of mlperf-go, which contains the simulator. The caller must call stop after Run.
func (p *Plan) Rehearse(ctx context.Context, program string) (stop func(), err error) {
	r, err := rehearse.Start(ctx, p.inner(), rehearse.Options{Program: program})
	if err != nil {
		return nil, err
	}
	return r.Stop, nil
}

// Record is run.json.
type Record = record.Record

// Verdict is the judgement of a run.
type Verdict = record.Verdict

// The verdicts.
const (
	Valid       = record.Valid
	Invalid     = record.Invalid
	Interrupted = record.Interrupted
)

// ReadRecord reads the run.json of a folder.
func ReadRecord(folder string) (*Record, error) { return record.Read(folder) }
