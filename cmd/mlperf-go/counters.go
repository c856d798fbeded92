package main

import (
	"fmt"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/metrics/publish"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// countersOf returns the labels of a test's counters.
func countersOf(p *plan.Plan) map[string]string {
	return map[string]string{"model": p.Row.Name, "scenario": string(p.Scenario.Scenario), "mode": string(p.Mode)}
}

// serveCounters serves the program's counters at --serve-metrics until stop is called.
func (p *program) serveCounters(c *config.Effective, labels map[string]string) (stop func(), err error) {
	if !c.Has("serve-metrics") {
		return func() {}, nil
	}
	s, err := publish.Start(c.String("serve-metrics"), labels)
	if err != nil {
		return nil, exit.NotServed(err, "the counters", "serve-metrics", c.String("serve-metrics"), "127.0.0.1:9400")
	}
	fmt.Fprintf(p.messages, "counters: %s\n", s.URL())
	p.counters = s
	p.count(run.Progress{})
	return s.Close, nil
}

// counters are the figures of the page (docs/reference/metrics.md#counters).
var counters = []struct {
	name, help string
	counter    bool
	value      func(run.Progress) float64
}{
	{"mlperf_go_samples_issued_total", "Samples that LoadGen or the probe issued, or requests that a workload sent.", true,
		func(p run.Progress) float64 { return float64(p.Issued) }},
	{"mlperf_go_samples_ended_total", "Samples that completed or failed.", true,
		func(p run.Progress) float64 { return float64(p.Done) }},
	{"mlperf_go_samples_failed_total", "Samples that failed.", true,
		func(p run.Progress) float64 { return float64(p.Failed) }},
	{"mlperf_go_samples_expected", "Samples that the test will issue; 0: unknown.", false,
		func(p run.Progress) float64 { return float64(p.Total) }},
	{"mlperf_go_in_flight", "Samples without an outcome.", false,
		func(p run.Progress) float64 { return float64(p.InFlight) }},
	{"mlperf_go_completions_per_second", "Rate over the last seconds.", false,
		func(p run.Progress) float64 { return p.RatePerS }},
	{"mlperf_go_ttft_p99_seconds", "99th percentile of the time to the first token so far; 0: none.", false,
		func(p run.Progress) float64 { return p.TTFTp99.Seconds() }},
	{"mlperf_go_tpot_p99_seconds", "99th percentile of the time per output token so far; 0: none.", false,
		func(p run.Progress) float64 { return p.TPOTp99.Seconds() }},
	{"mlperf_go_elapsed_seconds", "Time since the test began.", false,
		func(p run.Progress) float64 { return p.Elapsed.Seconds() }},
}

// count shows a test's progress on the page of --serve-metrics.
func (c *console) count(now run.Progress) {
	if c.counters == nil {
		return
	}
	page := make([]publish.Sample, len(counters))
	for i, row := range counters {
		page[i] = publish.Sample{Name: row.name, Help: row.help, Counter: row.counter, Value: row.value(now)}
	}
	c.counters.Set(page)
}
