package peers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// FromRun returns the log of a run from its record and its request log. The run's log has the times of the first and of
// the last token, and not of those between.
func FromRun(r *record.Record, t *ledger.Test) *Log {
	l := &Log{
		Tool: "mlperf-go " + r.Tool.Version, Started: r.FirstIssue, Model: cmp.Or(r.ServedModel, r.Model),
		Backend: r.Backend, Stages: []Stage{stageOf(r)}, Requests: make([]Request, len(t.Entries)),
	}
	if l.Started.IsZero() {
		l.Started = r.Started
	}
	l.ID = fmt.Sprintf("%s-%s-%s", r.Model, r.Scenario, strings.ReplaceAll(l.Started.UTC().Format("20060102T150405.000Z"),
		".", ""))
	if len(r.Endpoints) > 0 {
		l.Endpoint = r.Endpoints[0].URL
	}
	shift := l.Started.UnixNano() - t.T0NS // the request log counts from the first issue
	at := func(ns int64) int64 {
		if ns == 0 {
			return 0
		}
		return ns + shift
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		reason := t.Names.Reason(e)
		l.Requests[i] = Request{
			DueNS: at(ledger.ScheduledNS(e, t.Schedule, t.T0NS, t.Origin)), SentNS: at(e.SentNS),
			FirstByteNS: at(e.FirstByteNS), FirstTokenNS: at(e.FirstTokenNS), LastTokenNS: at(e.LastTokenNS),
			EndNS: at(e.DoneNS), Events: int(e.Events), InputTokens: int(e.InputTokens), OutputTokens: int(e.OutputTokens),
			Failure: string(reason), Cancelled: reason == ledger.FailCancelled,
			Retries: int(e.Retries),
		}
	}
	return l
}

// stageOf returns the load of a test.
func stageOf(r *record.Record) Stage {
	if rate, _, ok := r.Rate(); ok {
		return Stage{RatePerS: rate, Poisson: true}
	}
	if r.Scenario == "SingleStream" {
		return Stage{Concurrency: 1}
	}
	return Stage{}
}
