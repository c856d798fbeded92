package peers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// TestFromRun: the times of a request log count from the first issue, and are converted to clock times.
func TestFromRun(t *testing.T) {
	const t0 = int64(24 * 3600e9)
	issued := time.Date(2026, 11, 23, 9, 0, 0, 250e6, time.UTC)
	rec := &record.Record{Model: "llama3.1-8b", ServedModel: "org/m", Scenario: "Server", Backend: "openai",
		FirstIssue: issued, Endpoints: []record.EndpointCounts{{URL: "http://host:8000"}}}
	rec.LoadGen.Result = map[string]any{"effective_scenario": "Server", "effective_target_qps": 40.}
	l := FromRun(rec, &ledger.Test{T0NS: t0, Schedule: []int64{-1e6, 5e6}, Origin: ledger.FromSchedule,
		Names: ledger.Names{Reasons: []ledger.Reason{"", ledger.FailCancelled}},
		Entries: []ledger.Entry{
			{Seq: 0, IssuedNS: t0, SentNS: t0 + 1e6, FirstTokenNS: t0 + 20e6, LastTokenNS: t0 + 90e6, DoneNS: t0 + 91e6,
				InputTokens: 7, OutputTokens: 5, Events: 4, Retries: 2},
			{Seq: 1, IssuedNS: t0 + 6e6, DoneNS: t0 + 50e6, Reason: 1},
		}})
	at := issued.UnixNano()
	require.Equal(t, []Stage{{RatePerS: 40, Poisson: true}}, l.Stages)
	require.Equal(t, "llama3.1-8b-Server-20261123T090000250Z", l.ID)
	require.Equal(t, []string{"org/m", "openai", "http://host:8000"}, []string{l.Model, l.Backend, l.Endpoint})
	require.Equal(t, []Request{
		{DueNS: at - 1e6, SentNS: at + 1e6, FirstTokenNS: at + 20e6, LastTokenNS: at + 90e6, EndNS: at + 91e6, Events: 4,
			InputTokens: 7, OutputTokens: 5, Retries: 2},
		{DueNS: at + 5e6, EndNS: at + 50e6, Failure: "cancelled", Cancelled: true},
	}, l.Requests)
	require.Equal(t, Stage{Concurrency: 1}, stageOf(&record.Record{Scenario: "SingleStream"}))
	require.Equal(t, Stage{}, stageOf(&record.Record{Scenario: "Offline"}))
}
