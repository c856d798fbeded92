package bench

import (
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/peers"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// mostExported is how many requests the formats of other clients may have: their files are read as a whole.
const mostExported = 5_000_000

// Log returns the requests of a run for the formats of other clients.
func Log(folder string, r *Record) (*peers.Log, error) {
	p, err := profile.Read(filepath.Join(folder, ProfileName))
	if err != nil {
		return nil, exit.Usage(exit.CodeRunFolder, "", "the profile of the run: %w", err)
	}
	l := &peers.Log{Tool: "mlperf-go " + r.Tool.Version, ID: r.ID, Started: r.Started, Model: r.Model, Backend: r.Backend,
		HasVisible: true}
	if len(r.Endpoints) > 0 {
		l.Endpoint = r.Endpoints[0].URL
	}
	for i := range r.Stages {
		l.Stages = append(l.Stages, peerStage(&r.Stages[i], &p.Load))
	}
	if g := r.Measured.Total.Goodput; g != nil {
		for i := range g.Limits {
			l.Limits = append(l.Limits, peers.Limit{Metric: g.Limits[i].Metric, Below: g.Limits[i].Below})
		}
	}
	if x := p.Export; x != nil {
		l.Asked = peers.Asked{Percentiles: x.Percentiles, Metrics: x.Metrics, Requests: x.Requests,
			AdapterStages: x.AdapterStages}
	}
	scan := measure.NewScan(&p.Load)
	_, err = eventlog.Read(filepath.Join(folder, eventlog.FileName), func(_ *eventlog.Header, e *eventlog.Request) error {
		if len(l.Requests) == mostExported {
			return fmt.Errorf("it has more than %d requests, and files of other clients are read as a whole", mostExported)
		}
		scan.Add(e)
		q := peerRequest(e)
		if n := e.Adapter; n > 0 && n <= len(p.API.Adapters) {
			q.Adapter = p.API.Adapters[n-1].Name
		}
		l.Requests = append(l.Requests, q)
		return nil
	})
	counts := scan.Counted()
	for i := range l.Requests {
		q := &l.Requests[i]
		q.LeftOut = !counts(&eventlog.Request{Stage: q.Stage, DueNS: q.DueNS, SentNS: q.SentNS})
	}
	return l, err
}

// random are the arrivals at random times.
var random = map[profile.Arrival]bool{profile.Poisson: true, profile.PoissonSeconds: true, profile.Gamma: true,
	profile.Scattered: true}

// peerStage returns the load of a stage. A sweep's stage keeps its name, by which other clients know it.
func peerStage(s *Stage, load *profile.Load) peers.Stage {
	p := peers.Stage{RatePerS: s.Rate, Concurrency: s.Concurrency, Poisson: random[s.Arrival],
		Warmup: s.Warmup, Burst: s.Arrival == profile.Burst, Stopped: s.Span.Stopped != "", Unsent: int(s.Span.Unsent)}
	if s.Arrival == profile.Gamma && s.Span.Stage < len(load.Stages) {
		p.Burstiness = load.Stages[s.Span.Stage].Burstiness
	}
	if s.Probe {
		p.Probe = s.Name
	}
	return p
}

func peerRequest(e *eventlog.Request) peers.Request {
	p := peers.Request{DueNS: e.DueNS, SentNS: e.SentNS, FirstByteNS: e.FirstByteNS, ChoiceNS: e.ChoiceNS,
		FirstTokenNS: e.FirstNS(), VisibleNS: e.VisibleNS, LastTokenNS: e.LastNS(), EndNS: e.EndNS, Events: len(e.Events),
		InputTokens: e.InputTokens, CachedTokens: e.CachedTokens, HasCached: e.HasCached, OutputTokens: e.OutputTokens,
		RequestBytes: e.RequestBytes, Failure: string(e.Reason), Stage: e.Stage, Session: e.Session, Turn: e.Turn,
		Retries:   e.Retries,
		Cancelled: e.Cancelled || e.Reason == ledger.FailCancelled}
	if len(e.Events) > 0 {
		p.TokenNS, p.Tokens = make([]int64, len(e.Events)), measure.EventTokens(e)
	}
	if p.InputTokens == 0 && e.Turn == 0 {
		p.InputTokens = e.AskedInput // the clients count prompts themselves if the server does not
	}
	for i, ev := range e.Events {
		p.TokenNS[i] = ev.AtNS
	}
	return p
}
