package dialect

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (f *ipFile) translate(t *translation) {
	f.translateAPI(t)
	f.Load.translate(&f.Data, t)
	f.translateMetrics(t)
	f.translateBreakers(t)
	f.Data.translate(&f.Load, t)
	f.translateSLO(t)
	f.translateExport(t)
	f.Storage.translate(t)
}

// translate reads the bucket of the results. Nothing is sent there without --upload.
func (s *ipStorage) translate(t *translation) {
	scheme, bucket, path := "", "", ""
	if g := s.Google; g != nil {
		scheme, bucket, path = "gs", g.Bucket, g.Path
	}
	if s3 := s.S3; s3 != nil {
		scheme, bucket, path = "s3", s3.Bucket, s3.Path
		t.Upload = &profile.Upload{Endpoint: s3.Endpoint, Region: s3.Region, Addressing: s3.Style}
	}
	if bucket == "" {
		t.Upload = nil
		return
	}
	if t.Upload == nil {
		t.Upload = &profile.Upload{}
	}
	path = strings.Trim(strings.ReplaceAll(path, "{timestamp}", ""), "/-_") // each run has a folder with its time
	t.Upload.URL = strings.TrimSuffix(scheme+"://"+bucket+"/"+path, "/")
	t.notes.add("storage: --upload profile sends the results to %s; without it they stay in --output", t.Upload.URL)
}

var ipKinds = map[string]string{"": "completions", "completion": "completions", "chat": "chat",
	"anthropic_messages": "messages", "embeddings": "embeddings"}

func (f *ipFile) translateAPI(t *translation) {
	t.API = profile.API{
		Kind: ipKinds[f.API.Type], Stream: f.API.Streaming, Endpoint: f.Server.URL, Model: f.Server.Model,
		Tokenizer: f.Tokenizer.Path, IgnoreEOS: or(f.Server.IgnoreEOS, true), Headers: f.API.Headers,
		SessionHeader: f.API.SessionID, RequestTimeout: seconds(f.Load.RequestTimeout),
	}
	if r := f.API.ResponseFormat; r != nil {
		format := map[string]any{"type": r.Type}
		if r.Type == "json_schema" {
			format["json_schema"] = map[string]any{"name": cmp.Or(r.Name, "structured_output"), "schema": r.Schema}
		}
		t.API.Extra = map[string]any{"response_format": format}
	}
	if n := f.API.Embeddings.Dimensions; n > 0 && t.API.Kind == "embeddings" {
		t.API.Extra = map[string]any{"dimensions": n}
	}
	for _, a := range f.Load.Adapters {
		t.API.Adapters = append(t.API.Adapters, profile.Adapter{Name: a.Name, Share: a.Split})
	}
	if f.Server.Type == "mock" {
		t.notes.add("server.type: mock sends nothing in inference-perf; requests go to the endpoint here")
	}
}

// arrivalOf translates inference-perf's names of loads; its constant is not equidistant (loadgen/load_timer.py).
var arrivalOf = map[string]profile.Arrival{
	"": profile.Scattered, "constant": profile.Scattered, "poisson": profile.PoissonSeconds,
	"trace_replay": profile.Trace, "concurrent": profile.Closed, "trace_session_replay": profile.Sessions,
}

// allSessions is the concurrency of stages that start every session at once.
const allSessions = 1 << 20

func (l *ipLoad) translate(data *ipData, t *translation) {
	arrival := arrivalOf[l.Type]
	t.Load.Pause = seconds(or(l.Interval, 1))
	t.Seed = or(l.Seed, 0)
	if l.Trace != nil {
		t.Load.Trace = &profile.TraceFile{Path: l.Trace.File, Format: "azure"}
	}
	for i := range l.Stages {
		l.Stages[i].check(i, l.Type, arrival, t)
		stage := l.Stages[i].translate(arrival)
		if arrival == profile.Trace && data.Trace != nil { // all rows, whatever rate and duration are
			stage.Requests = 0
		}
		t.Load.Stages = append(t.Load.Stages, stage)
	}
	if s := l.Sweep; s != nil && len(l.Stages) == 0 {
		t.Load.Sweep = &profile.Sweep{
			Kind: s.Type, Stages: or(s.Stages, 5), StageDuration: seconds(or(s.Duration, 180)), Arrival: arrival,
			Probe: "drain", Requests: or(s.Requests, 2000), Timeout: seconds(or(s.Timeout, 60)),
			Percentile: or(s.Percentile, 95),
		}
	}
	if arrival == profile.Closed {
		return
	}
	const workerConcurrency = 100 // inference_perf/config.py
	if l.Workers > 0 {
		t.Load.InFlight = l.Workers * cmp.Or(l.Concurrency, workerConcurrency)
	} else if l.Concurrency > 0 {
		t.Load.InFlight = l.Concurrency
	}
	if t.Load.InFlight > 0 {
		t.notes.add("load.num_workers, load.worker_max_concurrency: at most %d requests in flight in all, whatever the "+
			"number of workers", t.Load.InFlight)
	}
}

// check rejects the keys of a stage that belong to loads of another type, as inference-perf does. It computes the rate
// and the duration of a concurrent stage itself.
func (s *ipStage) check(i int, kind string, arrival profile.Arrival, t *translation) {
	closed, sessions := s.Requests > 0 || s.Concurrency > 0, s.Sessions != nil || s.SessionRate > 0 || s.NumSessions > 0
	paced := s.Rate > 0 || s.Duration > 0
	var wrong, belong string
	switch {
	case closed && arrival != profile.Closed:
		wrong, belong = "num_requests and concurrency_level", "concurrent"
	case sessions && arrival != profile.Sessions:
		wrong, belong = "concurrent_sessions, session_rate and num_sessions", "trace_session_replay"
	case paced && arrival == profile.Sessions:
		wrong, belong = "rate and duration", "constant, poisson and trace_replay"
	case paced && arrival == profile.Closed:
		t.notes.add("load.stages.%d: rate and duration have no effect with load.type concurrent", i)
		return
	default:
		return
	}
	if t.lenient {
		t.notes.add("load.stages.%d: %s belong to load.type %s, and are ignored", i, wrong, belong)
		return
	}
	t.fail(fmt.Sprintf("load.stages.%d", i), "%s belong to load.type %s, and it is %s", wrong, belong,
		cmp.Or(kind, "constant"))
}

func (s *ipStage) translate(arrival profile.Arrival) profile.Stage {
	stage := profile.Stage{Arrival: arrival, Rate: s.Rate, Duration: seconds(s.Duration), Timeout: seconds(s.Timeout)}
	switch arrival {
	case profile.Closed:
		stage.Rate, stage.Duration = 0, 0
		stage.Requests, stage.Concurrency = s.Requests, s.Concurrency
	case profile.Sessions:
		stage.Rate, stage.Duration = s.SessionRate, 0
		stage.Concurrency, stage.Requests = cmp.Or(or(s.Sessions, 0), s.NumSessions, allSessions), s.NumSessions
	case profile.Trace:
		stage.Requests, stage.Rate = int(s.Rate*s.Duration), 0
		stage.Duration = 0
	}
	return stage
}

// translateMetrics reads what the metrics of the server change: with reports of Prometheus for each stage, a pause
// lasts at least one of its scrape intervals.
func (f *ipFile) translateMetrics(t *translation) {
	prometheus := &f.Metrics.Prometheus
	if prometheus.URL != "" || prometheus.Managed || len(prometheus.Filters) > 0 {
		t.notes.add("metrics.prometheus: no Prometheus is asked; --metrics-url reads the metrics of the server " +
			"itself")
	}
	const interval = 15 // inference_perf/config/metrics
	scrape := seconds(cmp.Or(prometheus.Interval, interval))
	if f.Metrics.Type == "prometheus" && f.Report.Prometheus.PerStage && t.Load.Pause < scrape {
		t.Load.Pause = scrape
		t.notes.add("load.interval: %s, because Prometheus is scraped so often and report.prometheus.per_stage is set",
			scrape)
	}
}

func (f *ipFile) translateBreakers(t *translation) {
	for _, b := range f.Breakers {
		if len(f.Load.Breakers) > 0 && !slices.Contains(f.Load.Breakers, b.Name) {
			continue
		}
		if len(b.Metrics.Matches)+len(b.Metrics.Rules) > 0 {
			t.notes.add("circuit_breakers %s: metrics are not read; every failed request counts", b.Name)
		}
		for _, trigger := range b.Triggers {
			breaker := profile.Breaker{Name: b.Name, MinRequests: trigger.MinSamples}
			if trigger.Type == "consecutive" {
				breaker.Consecutive = int(trigger.Threshold)
			} else {
				breaker.Rate, breaker.Window = min(trigger.Threshold, 1), seconds(trigger.Window)
			}
			t.Load.Breakers = append(t.Load.Breakers, breaker)
		}
	}
}

// translateExport reads which files and percentiles the report has.
func (f *ipFile) translateExport(t *translation) {
	asked := &f.Report.Requests
	x := profile.Export{Percentiles: asked.Percentiles, Requests: asked.PerRequest || f.Report.Sessions.PerSession,
		AdapterStages: asked.PerAdapterStage}
	if x.Requests || x.AdapterStages || len(x.Percentiles) > 0 {
		t.Export = &x
	}
}

// translateSLO reads the limits of goodput, which are seconds, and the headers that carry limits to a router.
func (f *ipFile) translateSLO(t *translation) {
	to := map[string]*time.Duration{"ttft": &t.SLO.TTFT, "tpot": &t.SLO.TPOT, "itl": &t.SLO.ITL, "ntpot": &t.SLO.NTPOT,
		"request_latency": &t.SLO.E2E}
	for key, limit := range f.Report.Goodput.Constraints {
		if to[key] == nil {
			t.fail("report.goodput.constraints."+key, "expected one of ttft, tpot, itl, ntpot, request_latency")
			return
		}
		*to[key] = seconds(limit)
	}
	unit := cmp.Or(f.API.SLOUnit, "ms")
	scale := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}[unit]
	for _, h := range []struct {
		name  string
		limit *time.Duration
	}{
		{cmp.Or(f.API.SLOTTFT, "x-slo-ttft-"+unit), &t.SLO.TTFT},
		{cmp.Or(f.API.SLOTPOT, "x-slo-tpot-"+unit), &t.SLO.TPOT},
	} {
		for name, value := range f.API.Headers {
			v, err := strconv.ParseFloat(value, 64)
			if strings.EqualFold(name, h.name) && err == nil && *h.limit == 0 && v >= 0 && v < 1e9 {
				*h.limit = time.Duration(v * float64(scale))
			}
		}
	}
}
