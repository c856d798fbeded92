package bench

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/servers"
	"github.com/mlperf-go/mlperf-go/workload/engine"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/floor"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// finish computes the figures, judges the run and writes its record.
func (t *trial) finish(o *engine.Outcome, process hostinfo.Process, drift time.Duration,
	metrics *record.ServerMetrics) (*Record, error) {
	p := t.Profile
	if p.Load.Sweep != nil { // the profile in the folder gets the stages that took place
		own := *p
		own.Load.Sweep, own.Load.Stages = nil, o.Stages
		if o.Ended == nil { // over_saturation may have ended the sweep
			own.Load.Stages = o.Stages[:len(o.Spans)]
		}
		if t.Profile, p = &own, &own; len(o.Stages) > 0 {
			if err := t.keepProfile(); err != nil {
				return nil, err
			}
		}
	}
	m, err := measure.Log(t.path(eventlog.FileName), measure.Options{Load: &p.Load, Scan: t.scan, Classes: p.API.Classes,
		Limits: append(measure.ProfileLimits(&p.SLO), t.Limits...)})
	if err != nil {
		return nil, err
	}
	r := &Record{Schema: Schema, Rehearsal: t.rehearsal(), Tool: record.ThisTool(), Host: hostinfo.Collect(),
		Command: t.Command, ID: t.id(), Profile: p.Name, UseCase: p.UseCase, Seed: p.Seed, Model: t.config.ServedModel,
		Backend: t.name, API: p.API.Kind, Started: t.started, Notes: t.notes, Measured: m, Source: p.Source,
		Metrics: metrics, Stack: t.variable(stackVariable),
		Experiment: t.variable(experimentVariable), Price: NewPrice(t.PricePerHour, &m.Total.Throughput)}
	r.Notes = append(r.Notes, loadNotes(m, p)...)
	if r.DataFiles, err = dataFiles(p); err != nil {
		r.Notes = append(r.Notes, "data_files lacks the hashes of the data: "+err.Error())
	}
	metrics.Yield(m.Total.Tokens.Output)
	traffic := t.traffic()
	r.describe(t, o, &traffic)
	r.Client = client(o, m, process, drift)
	r.Client.Exhausted = traffic.Exhausted
	r.addServers(t)
	r.addCalibration(t)
	if m.Header.ID == "" && o.Requests == 0 {
		note := "no request was sent"
		if o.IsEmpty {
			note += ": the workload has fewer requests or sessions than shards"
		}
		r.Notes = append(r.Notes, note)
	}
	r.Verdict, r.Reasons = t.judge(r, o, &traffic, drift)
	return r, t.Access.WriteJSON(t.path(RecordName), r)
}

// rehearsal returns why the run is a rehearsal; empty: it is a measurement.
func (t *trial) rehearsal() string {
	switch {
	case !t.simulated:
		return t.Rehearsal
	case t.Rehearsal == "":
		return record.SimulatorReason
	}
	return record.SimulatorReason + "; " + t.Rehearsal
}

// describe adds the stages and the servers.
func (r *Record) describe(t *trial, o *engine.Outcome, traffic *backends.Traffic) {
	for _, span := range o.Spans {
		s := &t.Profile.Load.Stages[span.Stage]
		r.Stages = append(r.Stages, Stage{Span: span, Name: s.Name, Arrival: s.Arrival, Rate: s.Rate,
			Concurrency: s.Concurrency, Warmup: s.Warmup, Probe: span.Stage < o.Probes})
		r.noteEnd(o, &r.Stages[len(r.Stages)-1])
	}
	if n := len(o.Stages) - len(o.Spans); n > 0 && o.Ended == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("load.over_saturation.scope: all: %d further stages were not begun", n))
	}
	for i, probe := range t.probes {
		e := Endpoint{URL: probe.URL, Server: probe.Server, Version: probe.Version, Connections: traffic.Connections[i]}
		if t.caches != nil {
			e.PrefixCache = t.caches[i]
		}
		r.Endpoints = append(r.Endpoints, e)
	}
}

// noteEnd adds a note about a stage that was ended early, or whose server was over-saturated.
func (r *Record) noteEnd(o *engine.Outcome, s *Stage) {
	switch {
	case s.Stopped != "" && o.Ended == nil:
		r.Notes = append(r.Notes, "stage "+nameOf(s)+" was ended early: "+s.Stopped)
	case s.SaturatedNS > 0:
		r.Notes = append(r.Notes, fmt.Sprintf("stage %s: the server was over-saturated from %.1f s on", nameOf(s),
			time.Duration(s.SaturatedNS-s.StartNS).Seconds()))
	}
}

// addServers adds the supervisor's account of the servers that were started for the run.
func (r *Record) addServers(t *trial) {
	if t.ServerDir == "" {
		return
	}
	ended := time.Now()
	state, err := servers.Settle(t.ServerDir)
	if err != nil {
		r.Notes = append(r.Notes, "the record has no servers: "+err.Error())
		return
	}
	r.Servers = state.Facts(t.started, ended)
}

// addCalibration compares the busiest stage with the client's capacity.
func (r *Record) addCalibration(t *trial) {
	if t.Calibration == nil {
		return
	}
	var used floor.Rates
	for i := range r.Measured.Stages {
		of := &r.Measured.Stages[i].Throughput
		used.Requests, used.Tokens = max(used.Requests, of.SendRate, of.Requests), max(used.Tokens, of.OutputTokens)
	}
	r.Calibration = floor.Beside(t.Calibration, &r.Host, r.Tool, used, max(t.Shards, 1))
}

func lagOf(d *measure.Distribution) ledger.LagUS {
	if d == nil {
		return ledger.LagUS{}
	}
	const us = 1e6
	return ledger.LagUS{P50: d.Percentile["p50"] * us, P99: d.Percentile["p99"] * us, P999: d.Percentile["p99.9"] * us,
		Max: d.Max * us}
}

func client(o *engine.Outcome, m *measure.Measured, process hostinfo.Process, drift time.Duration) Client {
	c := Client{ScheduleDelayUS: lagOf(m.Total.Latency["schedule_delay"]),
		ClientDelayUS: lagOf(m.Total.Latency["client_delay"]), ReportLagUS: o.ReportLag.LagUS(), CPUS: process.CPUS(),
		RSSMaxBytes: process.RSSMaxBytes, ThreadsMax: process.ThreadsMax, GCPauseMaxS: process.GCPauseMaxS,
		ClockDriftUS: float64(drift) / 1e3, Loops: o.Loops}
	if o.Requests > 0 {
		c.CPUUSPerRequest = c.CPUS * 1e6 / float64(o.Requests)
	}
	return c
}

// stats converts figures for the rules of a run.
func stats(d *measure.Distribution) *ledger.Stats {
	if d == nil {
		return nil
	}
	at := d.Percentile
	return &ledger.Stats{Mean: d.Mean, P50: at["p50"], P90: at["p90"], P95: at["p95"], P99: at["p99"], P999: at["p99.9"],
		Max: d.Max}
}

// judge applies the rules of a test to a run: its samples are the requests that the profile did not cancel on purpose.
func (t *trial) judge(r *Record, o *engine.Outcome, traffic *backends.Traffic,
	drift time.Duration) (record.Verdict, []record.Cause) {
	e := evidence(r, t.Profile, append(measure.ProfileLimits(&t.Profile.SLO), t.Limits...))
	e.Ended, e.ClockDrift = o.Ended, drift
	e.Record.Servers = r.Servers
	e.Record.Answers = record.Answers{Unasked: traffic.Unasked, Strays: traffic.Strays, Identified: true}
	for _, probe := range t.probes {
		e.Record.Answers.Identified = e.Record.Answers.Identified && probe.Identified
	}
	v, causes := verdict(e, r)
	if o.IsEmpty && o.Ended == nil && len(causes) == 1 && causes[0].Code == record.CodeFailedSamples {
		return record.Valid, []record.Cause{} // its cause is that there was no sample
	}
	return v, causes
}

// evidence collects the inputs of a run's rules. If the user limits a latency, this program may use up a tenth of the
// limit; otherwise a tenth of the measured latency.
func evidence(r *Record, p *profile.Profile, limits []measure.Limit) *record.Evidence {
	n := total(r.Measured)
	latency := r.Measured.Total.Latency
	as := &record.Record{
		Samples: record.SampleCounts{Issued: n.Total - n.Cancelled, Completed: n.OK + n.Failed, Failed: n.Failed,
			Retried: n.Retried, Empty: n.Empty, FailedByReason: map[ledger.Reason]int64{}, FirstTokens: n.OK},
		LatencyS: record.Latencies{TTFT: stats(latency["ttft"]), E2E: stats(latency["e2e"])},
		Client: record.Client{DispatchLagUS: r.Client.ClientDelayUS, ReportLagUS: r.Client.ReportLagUS,
			Loops: r.Client.Loops, Exhausted: r.Client.Exhausted},
	}
	if !p.API.Generates() {
		as.Samples.Empty = 0
	}
	maps.Copy(as.Samples.FailedByReason, n.ByCause)
	e := &record.Evidence{Terms: record.Terms{Mode: models.Performance, FirstTokens: p.API.Stream}, Logs: &mllog.Result{},
		Record: as}
	for _, l := range limits {
		switch ns := l.Below; l.Metric {
		case "ttft", "ttft_due":
			e.TTFTLimit = ns
		case "e2e", "e2e_due":
			e.AnswerLimit = ns
		case "tpot":
			e.TPOTLimit = ns
		}
	}
	if p.Data.Kind == profile.Random { // its lengths are exact, because it consists of token ids
		e.OtherPrompts = int(r.Measured.Total.Tokens.OtherIn)
	}
	return e
}

// total counts all requests. It includes warm-up stages, whose failures count as failures of the run.
func total(m *measure.Measured) measure.Counts {
	sum := measure.Counts{ByCause: map[ledger.Reason]int64{}}
	for i := range m.Stages {
		c := &m.Stages[i].Requests
		sum.Total += c.Total
		sum.OK += c.OK
		sum.Failed += c.Failed
		sum.Cancelled += c.Cancelled
		sum.Leavers += c.Leavers
		sum.Slow += c.Slow
		sum.Measured += c.Measured
		sum.Empty += c.Empty
		sum.Retried += c.Retried
		for cause, n := range c.ByCause {
			sum.ByCause[cause] += n
		}
	}
	return sum
}

// unmeasured returns the cause of a run whose answers are all outside its figures; nil: some count, or no request was
// sent.
func unmeasured(m *measure.Measured) *record.Cause {
	n, all := m.Total.Requests, total(m)
	switch {
	case n.Measured > 0 || all.Total == 0:
		return nil
	case n.Leavers+n.Slow > 0:
		return &record.Cause{Code: record.CodeFailedSamples, Value: n.Total, Text: fmt.Sprintf(
			"no latency was measured: none of %d requests was answered to a client that reads at once until the end; "+
				"lower load.leave.share or load.slow.share", n.Total)}
	case all.OK > 0:
		return &record.Cause{Code: record.CodeFailedSamples, Value: all.OK, Text: fmt.Sprintf(
			"no latency was measured: all %d answers belong to the warm-up or the cool-down; shorten load.warmup and "+
				"load.cooldown, or make the stages longer", all.OK)}
	}
	return nil // failures are causes of their own
}

func verdict(e *record.Evidence, r *Record) (record.Verdict, []record.Cause) {
	_, e.Interrupted = e.Ended.(exit.Interrupt)
	causes := e.JudgeProbe()
	if e.Interrupted {
		return record.Interrupted, append([]record.Cause{{Code: record.CodeInterrupted,
			Text: "the run was ended early: " + e.Ended.Error()}}, causes...)
	}
	isSweep := slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Probe })
	for _, s := range r.Stages {
		if isSweep && s.BySaturation { // a sweep looks for the load that the server cannot take
			continue
		}
		if s.Stopped != "" && e.Ended == nil {
			causes = append(causes, record.Cause{Code: record.CodeFailedSamples,
				Text: "stage " + nameOf(&s) + " was ended early: " + s.Stopped, Value: s.Unsent})
		}
	}
	if c := unmeasured(r.Measured); c != nil {
		causes = append(causes, *c)
	}
	if len(causes) > 0 {
		return record.Invalid, causes
	}
	return record.Valid, []record.Cause{}
}
