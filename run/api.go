package run

import (
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/record"
)

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

// Plan is one test, resolved and checked.
type Plan = plan.Plan

// Settings are settings by the names of their flags.
type Settings = plan.Settings

// New plans a test. Docs of the flags list the settings.
func New(s Settings) (*Plan, error) { return plan.New(s) }
