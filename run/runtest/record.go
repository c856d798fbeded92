package runtest

import (
	"time"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/hostinfo"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
)

// Record is the record of a valid run of a test.
func Record(model string, scenario models.Scenario, mode models.Mode) *run.Record {
	valid := true
	r := &run.Record{
		Schema: run.Schema, Verdict: run.Valid, Reasons: []run.Cause{}, Command: []string{"mlperf-go", "run"},
		Model: model, LoadGenModel: model, ServedModel: "example/model", Round: rounds.Current, Scenario: string(scenario),
		Mode: string(mode), Backend: "vllm",
		Started: time.Now(), DurationS: 1,
		Tool:      run.Tool{Version: "test", LoadGen: run.PinnedLoadGen, Go: "go1"},
		LoadGen:   run.LoadGenResult{Valid: &valid, Complete: true, Result: map[string]any{}},
		Samples:   run.SampleCounts{Issued: 1, Completed: 1, FailedByReason: map[ledger.Reason]int64{}},
		Endpoints: []run.EndpointCounts{{URL: "http://10.1.2.3:8000", Requests: 1}},
		Dataset:   run.DatasetFacts{Samples: 1}, Sampling: map[string]any{}, Files: map[string]string{},
	}
	if mode == models.Accuracy {
		r.LoadGen.Valid, r.Accuracy = nil, &run.Score{NotScored: run.LogOnly, Metrics: []accuracy.Metric{}}
	}
	r.Host.GPUs = []hostinfo.GPU{}
	c := &r.Client
	c.IssueLagCounts, c.DispatchLagCounts, c.Loops, c.StagesUS = []ledger.Bucket{}, []ledger.Bucket{},
		[]backends.LoopStats{}, (&ledger.Test{}).Stages()
	return r
}
