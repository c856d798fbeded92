package report

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// crashedVerdict replaces the verdict of a run without a record. It is in no record.
const crashedVerdict record.Verdict = "CRASHED"

// readCrashed makes a run of what a killed one left. The request log is there only if it was killed while it wrote its
// results.
func readCrashed(folder string, c *record.Crashed) *Run {
	rec := &record.Record{Verdict: crashedVerdict, Started: c.Began, Reasons: []record.Cause{{Code: record.CodeInterrupted,
		Text: "the folder has no " + record.FileName + ", because the run was killed or still goes on; it began " +
			c.Began.Format(time.RFC3339) + ", and left " + strings.Join(c.Parts, ", ")}}}
	r := &Run{Name: folder, Record: rec, Crashed: c}
	r.addConfig(folder)
	r.takeConfig()
	if has(folder, record.RequestsName) {
		r.note("request log", func() error { return r.readRequests(folder) })
	}
	if r.Requests != nil {
		r.count()
	} else {
		r.Notes = append(r.Notes, "the run was killed before it wrote its request log: there are no latencies, and no "+
			"charts of them")
	}
	if has(folder, record.MetricsName) {
		r.AddMetrics(folder)
		r.Notes = append(r.Notes, "the charts of metrics count from the start of the run, because the time of the first "+
			"query is in no file")
	}
	if has(folder, record.FailuresName) {
		r.note("failures", func() error { return r.readFailures(folder) })
	}
	if logs, err := mllog.Summarize(filepath.Join(folder, record.LogFolder)); err == nil {
		rec.LoadGen.Result = logs.Result
	}
	return r
}

// has reports whether a file of a run exists, finished or not.
func has(folder, name string) bool {
	path := filepath.Join(folder, filepath.FromSlash(name))
	_, err := os.Lstat(path)
	return err == nil || atomicfile.Left(path) != ""
}

// takeConfig copies the settings that name the test from config.yaml. A damaged file names nothing.
func (r *Run) takeConfig() {
	var c struct {
		Model, Scenario, Mode, Round, Backend string
		Served                                string   `yaml:"served-model"`
		Endpoint                              []string `yaml:"endpoint"`
	}
	if err := yaml.Unmarshal([]byte(r.Config), &c); err != nil {
		r.Notes = append(r.Notes, "the settings cannot be parsed: "+err.Error())
		return
	}
	rec := r.Record
	rec.Model, rec.Scenario, rec.Mode, rec.Round, rec.Backend = c.Model, c.Scenario, c.Mode, c.Round, c.Backend
	rec.ServedModel = c.Served
	for _, url := range c.Endpoint {
		rec.Endpoints = append(rec.Endpoints, record.EndpointCounts{URL: url})
	}
}

// count computes the figures of a record from the request log, as far as it has them.
func (r *Run) count() {
	m, rec := r.Requests.Metrics(), r.Record
	rec.LatencyS = record.NewLatencies(&m, nil)
	rec.Throughput, rec.DurationS = m.Throughput, m.DurationS
	if m.DispatchLag != nil {
		rec.Client.DispatchLagUS = m.DispatchLag.LagUS()
	}
	n := &rec.Samples
	n.Issued = int64(len(r.Requests.Entries))
	for i := range r.Requests.Entries {
		e := &r.Requests.Entries[i]
		n.Retried += int64(e.Retries)
		if e.DoneNS == 0 {
			continue
		}
		n.Completed++
		if int(e.Endpoint) >= 0 && int(e.Endpoint) < len(rec.Endpoints) {
			rec.Endpoints[e.Endpoint].Requests++
		}
		if !e.Succeeded() {
			n.Failed++
			if int(e.Endpoint) >= 0 && int(e.Endpoint) < len(rec.Endpoints) {
				rec.Endpoints[e.Endpoint].Failed++
			}
		}
	}
}

// crashedFacts are the facts that config.yaml has.
func crashedFacts(r *record.Record) []row {
	list := []row{{"started", r.Started.Format(time.RFC3339)}}
	for _, f := range []row{{"served model", r.ServedModel}, {"backend", r.Backend}, {"round", r.Round}} {
		if f.Text != "" {
			list = append(list, f)
		}
	}
	return list
}
