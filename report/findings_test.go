package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// due is the time of request i of a test of 100 requests/s.
func due(i int) int64 { return int64(time.Second) + int64(i)*int64(10*time.Millisecond) }

// ofEntries returns a Server test of n requests. Each is sent when it is due and answered within 50 ms, until change.
func ofEntries(n int, change func(i int, e *ledger.Entry)) *Run {
	log := &ledger.Test{T0NS: int64(time.Second), Origin: ledger.FromSchedule,
		Names: ledger.Names{Reasons: []ledger.Reason{""}}}
	for i := range n {
		at := due(i)
		e := ledger.Entry{Seq: int32(i), IssuedNS: at, SentNS: at, FirstTokenNS: at + int64(20*time.Millisecond),
			DoneNS: at + int64(50*time.Millisecond), OutputTokens: 10}
		change(i, &e)
		log.Entries = append(log.Entries, e)
		log.Schedule = append(log.Schedule, at-int64(time.Second))
	}
	rec := &record.Record{Scenario: "Server", LatencyS: record.Latencies{TTFT: &ledger.Stats{P99: 0.02}}}
	return &Run{Record: rec, Requests: log}
}

// stops delays the answers, or the requests too, of two seconds from 5 s on to their end.
func stops(client bool) func(int, *ledger.Entry) {
	from, to := due(500), due(700)
	return func(_ int, e *ledger.Entry) {
		late := func(at int64) int64 {
			if at > from && at < to {
				return to + (at-from)/1000
			}
			return at
		}
		if client {
			e.IssuedNS, e.SentNS = late(e.IssuedNS), late(e.SentNS)
		}
		e.FirstTokenNS, e.DoneNS = late(e.FirstTokenNS), late(e.DoneNS)
	}
}

// Every cause has its sentence, and a run without any has none.
func TestFindings(t *testing.T) {
	same := func(int, *ledger.Entry) {}
	for name, c := range map[string]struct {
		run  *Run
		want string // "": nothing
	}{
		"ordinary":     {ofEntries(1000, same), ""},
		"server pause": {ofEntries(1000, stops(false)), "The server sent nothing for 2 s at 0:05, while the client sent 1"},
		"client pause": {ofEntries(1000, stops(true)), "The client stood still for 2 s at 0:05: of 1"},
		"queue": {ofEntries(1000, func(i int, e *ledger.Entry) {
			e.FirstTokenNS += int64(i) * int64(5*time.Millisecond)
			e.DoneNS += int64(i) * int64(5*time.Millisecond)
		}), "The server did not keep up: from the first to the last quarter, the median of TTFT rose from "},
		"few requests": {ofEntries(20, stops(false)), ""},
	} {
		list := c.run.findings(newTimeline(c.run))
		if c.want == "" {
			require.Empty(t, list, name)
			continue
		}
		require.Len(t, list, 1, name)
		require.True(t, strings.HasPrefix(list[0], c.want), "%s: %s", name, list[0])
	}
}

// A client's lag that is most of TTFT hides whether the server keeps up.
func TestLateClient(t *testing.T) {
	r := ofEntries(1000, func(int, *ledger.Entry) {})
	r.Record.Client.DispatchLagUS.P99 = 15_000
	list := r.findings(newTimeline(r))
	require.Equal(t, []string{"The client was late: its own p99 from due to sent is 15 ms, 75 % of the TTFT's p99."}, list)
	r.Record.Scenario = "Offline" // all requests are due at once
	require.Empty(t, r.findings(newTimeline(r)))
}

// A replica with nearly all failures is named; failures of several are not one replica's.
func TestFailingReplica(t *testing.T) {
	r := &Run{Record: &record.Record{Endpoints: []record.EndpointCounts{{URL: "http://a", Failed: 1}, {URL: "http://b",
		Failed: 20, Retried: 19}}}, Failures: []*Failure{{Reason: "http_500", Count: 40, FirstS: 1, LastS: 9}}}
	require.Equal(t, []string{"One server fails: http://b, 1 of 2, had 39 of the 40 failed and repeated requests: " +
		"http_500 (40, from 1.0 s to 9.0 s)."}, r.findings(nil))
	r.Record.Endpoints[0].Failed = 30
	require.Contains(t, r.findings(nil)[0], "at several servers")
	r.Record.Endpoints = r.Record.Endpoints[:1]
	require.Equal(t, []string{"Requests failed: http_500 (40, from 1.0 s to 9.0 s)."}, r.findings(nil))
}

// A line does not bridge missed readings.
func TestGapOfReadings(t *testing.T) {
	c := curveOf("page", &series.Line{TimesS: []float64{0, 1, 9, 10}, Values: []float64{1, 1, 1, 1}}, 0, 1)
	require.Equal(t, []float64{0, 1, 5, 9, 10}, c.X)
	require.NotEqual(t, c.Y[2], c.Y[2], "no value")
	same := func(v float64) float64 { return v }
	require.Equal(t, 2, strings.Count(path(&c, same, same), "M"))
}
