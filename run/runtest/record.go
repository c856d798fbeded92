package runtest

import (
	"time"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// Record is the record of a valid run of a test.
func Record(model string, scenario models.Scenario, mode models.Mode) *record.Record {
	valid := true
	r := &record.Record{
		Schema: record.Schema, Verdict: record.Valid, Reasons: []record.Cause{}, Command: []string{"mlperf-go", "run"},
		Model: model, LoadGenModel: model, ServedModel: "example/model", Round: rounds.Current, Scenario: string(scenario),
		Mode: string(mode), Backend: "vllm",
		Started: time.Now(), DurationS: 1,
		Tool:      record.Tool{Version: "test", LoadGen: record.PinnedLoadGen, Go: "go1"},
		LoadGen:   record.LoadGenResult{Valid: &valid, Complete: true, Result: map[string]any{}},
		Samples:   record.SampleCounts{Issued: 1, Completed: 1, FailedByReason: map[ledger.Reason]int64{}},
		Endpoints: []record.EndpointCounts{{URL: "http://10.1.2.3:8000", Requests: 1}},
		Dataset:   record.DatasetFacts{Samples: 1}, Sampling: map[string]any{}, Files: map[string]string{},
	}
	if mode == models.Accuracy {
		r.LoadGen.Valid, r.Accuracy = nil, &record.Score{NotScored: record.LogOnly, Metrics: []accuracy.Metric{}}
	}
	r.Host.GPUs = []hostinfo.GPU{}
	c := &r.Client
	c.IssueLagCounts, c.DispatchLagCounts, c.Loops, c.StagesUS = []ledger.Bucket{}, []ledger.Bucket{},
		[]backends.LoopStats{}, (&ledger.Test{}).Stages()
	return r
}
