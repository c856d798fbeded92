package bench

import (
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/peers"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// mostExported is how many requests the formats of other clients may have: their files are read as a whole.
const mostExported = 5_000_000

// Log returns the requests of a run for the formats of other clients.
func Log(folder string, r *Record) (*peers.Log, error) {
	l := &peers.Log{Tool: "mlperf-go " + r.Tool.Version, ID: r.ID, Started: r.Started, Model: r.Model, Backend: r.Backend}
	if len(r.Endpoints) > 0 {
		l.Endpoint = r.Endpoints[0].URL
	}
	for _, s := range r.Stages {
		l.Stages = append(l.Stages, peers.Stage{RatePerS: s.Rate, Concurrency: s.Concurrency,
			Poisson: s.Arrival != profile.Constant})
	}
	_, err := eventlog.Read(filepath.Join(folder, eventlog.FileName), func(_ *eventlog.Header, e *eventlog.Request) error {
		if len(l.Requests) == mostExported {
			return fmt.Errorf("it has more than %d requests, and files of other clients are read as a whole", mostExported)
		}
		l.Requests = append(l.Requests, peerRequest(e))
		return nil
	})
	return l, err
}

func peerRequest(e *eventlog.Request) peers.Request {
	p := peers.Request{DueNS: e.DueNS, SentNS: e.SentNS, FirstByteNS: e.FirstByteNS, FirstTokenNS: e.FirstNS(),
		LastTokenNS: e.LastNS(), EndNS: e.EndNS, Events: len(e.Events), InputTokens: e.InputTokens,
		OutputTokens: e.OutputTokens, Failure: string(e.Reason), Stage: e.Stage, Retries: e.Retries,
		Cancelled: e.Cancelled || e.Reason == ledger.FailCancelled}
	for _, ev := range e.Events {
		p.TokenNS = append(p.TokenNS, ev.AtNS)
	}
	return p
}
