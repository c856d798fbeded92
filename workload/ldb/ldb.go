package ldb

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"math"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/peers"
	"github.com/mlperf-go/mlperf-go/workload/bench"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// Versions are those of the report, the default first.
var Versions = []string{"0.2.1", "0.2", "0.1"}

// fields are the members of a report. A nil value is left out, as the format has no nulls.
type fields map[string]any

// with returns the fields without those that are nil, and nil if nothing is left.
func (f fields) with() any {
	for key, v := range f {
		if v == nil {
			delete(f, key)
		}
	}
	if len(f) == 0 {
		return nil
	}
	return f
}

// Reports returns one report for each stage of a run, as YAML. set has the signals of the servers' metrics; nil: they
// were not recorded.
func Reports(version string, r *bench.Record, p *profile.Profile, set *series.Set) ([]peers.File, error) {
	var files []peers.File
	for i := range r.Measured.Stages {
		part := &r.Measured.Stages[i]
		report, name := any(nil), fmt.Sprintf("benchmark_report_v0.2,_stage_%d.yaml", part.Number)
		switch version {
		case "0.1":
			report, name = first(r, part, set), fmt.Sprintf("benchmark_report,_stage_%d.yaml", part.Number)
		case "0.2", "0.2.1":
			report = second(version, r, part, p, set)
		default:
			return nil, fmt.Errorf("%q is no version of the report: there are %v", version, Versions)
		}
		text, err := yaml.Marshal(report)
		if err != nil {
			return nil, err
		}
		files = append(files, peers.File{Name: name, Data: text})
	}
	return files, nil
}

// Units of the report.
const (
	count, seconds, perToken = "count", "s", "s/token"
	tokensPerS, perS         = "tokens/s", "queries/s"
)

// keys are the report's names of percentiles.
var keys = map[string]string{"p0p1": "p0.1", "p1": "p1", "p5": "p5", "p10": "p10", "p25": "p25", "p50": "p50",
	"p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p99p9": "p99.9"}

// statistics returns a distribution in the report's form; nil for none.
func statistics(units string, d *measure.Distribution) any {
	if d == nil {
		return nil
	}
	s := fields{"units": units, "mean": d.Mean, "stddev": d.StdDev, "min": d.Min, "max": d.Max}
	for key, ours := range keys {
		if v, ok := d.Percentile[ours]; ok {
			s[key] = v
		}
	}
	return s
}

// single returns a figure that has no distribution.
func single(units string, v float64) any { return fields{"units": units, "mean": v} }

// latencies are the report's names of this program's metrics.
var latencies = []struct{ key, metric, units string }{
	{"time_to_first_token", "ttft", seconds}, {"normalized_time_per_output_token", "ntpot", perToken},
	{"time_per_output_token", "tpot", perToken}, {"inter_token_latency", "itl", perToken},
	{"request_latency", "e2e", seconds},
}

func latency(f *measure.Figures) fields {
	l := fields{}
	for _, m := range latencies {
		l[m.key] = statistics(m.units, f.Latency[m.metric])
	}
	return l
}

func requests(f *measure.Figures) fields {
	return fields{"total": f.Requests.Total, "failures": f.Requests.Failed, "incomplete": f.Requests.Cancelled,
		"input_length": single(count, f.Tokens.MeanInput), "output_length": single(count, f.Tokens.MeanOut)}
}

// first returns a report of version 0.1.
func first(r *bench.Record, part *measure.Part, set *series.Set) any {
	f := &part.Figures
	l := latency(f)
	meta := fields{"tool": tool(r), "verdict": string(r.Verdict)}
	if l["time_to_first_token"] == nil { // the format demands it, and any number would be false
		l["time_to_first_token"] = single(seconds, math.NaN())
		meta["note"] = "time_to_first_token is not a number: no answer with a token was streamed"
	}
	t := &f.Throughput
	return fields{"version": "0.1",
		"scenario": fields{
			"model": fields{"name": r.Model}, "platform": fields{"engine": engines(r)},
			"load": fields{"name": "inference-perf", "type": "mlperf-go", "args": fields{"profile": r.Profile, "seed": r.Seed,
				"stage": part.Number}}},
		"metrics": fields{
			"time":     fields{"duration": f.DurationS, "start": epoch(f.StartNS), "stop": epoch(f.EndNS)},
			"requests": requests(f), "latency": l.with(),
			"throughput": fields{"input_tokens_per_sec": single(tokensPerS, t.InputTokens),
				"output_tokens_per_sec": single(tokensPerS, t.OutputTokens),
				"total_tokens_per_sec":  single(tokensPerS, t.TotalTokens), "requests_per_sec": single(perS, t.Requests)},
			"service": service(part, set)}.with(),
		"metadata": meta}
}

func engines(r *bench.Record) (list []any) {
	for _, e := range r.Endpoints {
		name := e.Server
		if name == "" {
			name = r.Backend
		}
		engine := fields{"name": name}
		if e.Version != "" {
			engine["version"] = e.Version
		}
		list = append(list, engine)
	}
	return list
}

func tool(r *bench.Record) string { return "mlperf-go " + r.Tool.Version }

func epoch(ns int64) float64 { return float64(ns) / 1e9 }

// dnsSpace is the name space DNS of RFC 4122, appendix C.
var dnsSpace = [16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}

// uuid returns the UUID of version 5 for a name (RFC 4122, section 4.3).
func uuid(name string) string {
	sum := sha1.Sum(append(dnsSpace[:], name...)) //nolint:gosec // the standard fixes the function
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// second returns a report of version 0.2 or 0.2.1, which do not differ in these parts.
func second(version string, r *bench.Record, part *measure.Part, p *profile.Profile, set *series.Set) any {
	f := &part.Figures
	t := &f.Throughput
	place := ""
	if len(r.Endpoints) > 0 {
		place = r.Endpoints[0].URL
	}
	return fields{"version": version,
		"run": fields{"uid": uuid(fmt.Sprintf("%s/%d", r.ID, part.Number)),
			"eid": cmp.Or(r.Experiment, r.ID), "cid": uuid(place),
			"time": fields{"start": moment(f.StartNS), "end": moment(f.EndNS),
				"duration": fmt.Sprintf("PT%gS", f.DurationS)},
			"description": "verdict " + string(r.Verdict), "keywords": []string{"mlperf-go"}},
		"scenario": fields{"stack": stack(r), "load": load(r, part, p)},
		"results": fields{
			"request_performance": fields{"aggregate": fields{
				"requests": requests(f), "latency": latency(f).with(),
				"throughput": fields{"input_token_rate": single(tokensPerS, t.InputTokens),
					"output_token_rate": single(tokensPerS, t.OutputTokens),
					"total_token_rate":  single(tokensPerS, t.TotalTokens), "request_rate": single(perS, t.Requests)}}.with()},
			"session_performance": sessions(f), "observability": observability(version, r, part, set)}.with()}
}

func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

func stack(r *bench.Record) (list []any) {
	for i, e := range r.Endpoints {
		list = append(list, fields{
			"metadata": fields{"schema_version": "0.0.1", "label": labelOf(r, i),
				"cfg_id": uuid(e.URL)},
			"standardized": fields{"kind": "generic", "tool": orUnknown(e.Server), "tool_version": orUnknown(e.Version),
				"model": r.Model, "endpoint": e.URL},
			"native": fields{"args": fields{}}})
	}
	return list
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// load describes the sent load.
func load(r *bench.Record, part *measure.Part, p *profile.Profile) any {
	s := fields{"tool": "mlperf-go", "tool_version": orUnknown(r.Tool.Version), "parallelism": 1, "stage": part.Number,
		"source": source(p.Data.Kind), "input_seq_len": lengths(p.Data.Input, part.Tokens.MeanInput),
		"output_seq_len": lengths(p.Data.Output, part.Tokens.MeanOut)}
	if g := p.Data.Groups; g != nil {
		s["prefix"] = fields{"prefix_len": lengths(g.System, 0), "num_groups": g.Count, "num_users_per_group": g.Users,
			"num_prefixes": g.Count}
	}
	if p.Data.Turns != nil || p.Data.Groups != nil && p.Data.Groups.MultiTurn {
		s["multi_turn"] = fields{"enabled": true}
	}
	if part.Number < len(r.Stages) {
		stage := &r.Stages[part.Number]
		if stage.Rate > 0 {
			s["rate_qps"] = stage.Rate
		}
		switch {
		case stage.Concurrency > 0:
			s["concurrency"] = stage.Concurrency
		case stage.Rate == 0:
			s["concurrency"] = math.Inf(1)
		}
	}
	return fields{"metadata": fields{"schema_version": "0.0.1", "cfg_id": uuid(r.Profile)}, "standardized": s,
		"native": fields{"config": fields{"profile": r.Profile, "seed": r.Seed}}}
}

func source(kind profile.DataKind) string {
	switch kind {
	case profile.Random, profile.Synthetic, profile.SharedPrefix, profile.Conversations:
		return "random"
	case profile.ShareGPT, profile.Prompts, profile.Recorded, profile.TraceLengths:
		return "sampled"
	}
	return "unknown"
}

// families are the report's names of distributions; it calls all others "other".
var families = map[string]string{"fixed": "fixed", "normal": "gaussian", "uniform": "uniform"}

// lengths returns a distribution, or the measured mean.
func lengths(d *profile.Distribution, measured float64) any {
	if d == nil {
		return fields{"distribution": "other", "value": measured}
	}
	family := families[d.Kind]
	if family == "" {
		family = "other"
	}
	mean, deviation := d.Mean, d.StdDev
	if d.Kind == "uniform" { // its mean and deviation follow from its bounds
		mean, deviation = (d.Min+d.Max)/2, (d.Max-d.Min)/math.Sqrt(12)
	}
	l := fields{"distribution": family, "value": mean}
	if d.Kind != "fixed" {
		l["std_dev"], l["min"] = deviation, d.Min
		if d.Max >= 1 {
			l["max"] = d.Max
		}
	}
	return l
}

// sessions counts the sessions that began in a stage, and its calls; nil for none. Which sessions succeeded is not
// reported, because the last turn of each is not known here.
func sessions(f *measure.Figures) any {
	s := f.Sessions
	if s == nil {
		return nil
	}
	return fields{"sessions": fields{"total": s.Begun, "total_events": s.Calls, "total_events_completed": s.Answered,
		"total_events_cancelled": s.Calls - s.Answered}}
}
