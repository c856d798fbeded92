package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// due is the time of request i of a test of 100 requests/s.
func due(i int) int64 { return int64(time.Second) + int64(i)*int64(10*time.Millisecond) }

// ofEntries returns a Server test of n requests. Each is sent when it is due and answered within 50 ms.
// change alters each entry.
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

// stops delays the answers that are due in the two seconds from 5 s on until their end. If client is set, it delays
// the sending too.
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

// Every cause has its sentence, and a run without causes has none.
func TestFindings(t *testing.T) {
	same := func(int, *ledger.Entry) {}
	for name, c := range map[string]struct {
		run  *Run
		want string // "": nothing
	}{
		"ordinary":     {ofEntries(1000, same), ""},
		"server pause": {ofEntries(1000, stops(false)), "The server sent nothing for 2 s at 5.0 s, while the client sent 1"},
		"client pause": {ofEntries(1000, stops(true)), "The client stood still for 2 s at 5.0 s: of the 1"},
		"queue": {ofEntries(1000, func(i int, e *ledger.Entry) {
			e.FirstTokenNS += int64(i) * int64(5*time.Millisecond)
			e.DoneNS += int64(i) * int64(5*time.Millisecond)
		}), "The server did not keep up: from the first to the last quarter of the sending, the median of TTFT rose from "},
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

// If most of TTFT is the client's lag, it hides whether the server keeps up.
func TestLateClient(t *testing.T) {
	r := ofEntries(1000, func(int, *ledger.Entry) {})
	r.Record.Client.DispatchLagUS.P99 = 15_000
	list := r.findings(newTimeline(r))
	require.Equal(t, []string{"The client was late: its own p99 from due to sent is 15 ms, 75 % of the TTFT's p99."}, list)
	r.Record.Scenario = "Offline" // all requests are due at once
	require.Empty(t, r.findings(newTimeline(r)))
}

// The report names a replica with nearly all failures, and none if several replicas failed.
func TestFailingReplica(t *testing.T) {
	r := &Run{Record: &record.Record{Endpoints: []record.EndpointCounts{{URL: "http://a", Failed: 1}, {URL: "http://b",
		Failed: 20, Retried: 19}}}, Failures: []*Failure{{Reason: "http_500", Count: 40, FirstS: 1, LastS: 9}}}
	r.Record.Endpoints[1].Requests, r.Record.Samples.Completed = 80, 200
	require.Equal(t, []string{"One server fails: http://b, 1 of 2, had 39 of the 40 failed and repeated requests (25 % " +
		"of the 80 requests to it, and 10 % of all requests, failed): " +
		"http_500 (40, from 1.0 s to 9.0 s)."}, r.findings(nil))
	r.Record.Endpoints[0].Failed = 30
	require.Contains(t, r.findings(nil)[0], "at several servers")
	r.Record.Endpoints = r.Record.Endpoints[:1]
	require.Equal(t, []string{"Requests failed: http_500 (40, from 1.0 s to 9.0 s)."}, r.findings(nil))
}

// Curves have a gap where readings were missed.
func TestGapOfReadings(t *testing.T) {
	line := &series.Line{TimesS: []float64{0, 1, 9, 10}, Values: []float64{1, 1, 3, 1}}
	c, gaps := curveOf("page", line, 0, 1, false)
	require.True(t, gaps)
	require.Equal(t, []float64{0, 1, 5, 9, 10}, c.X)
	require.NotEqual(t, c.Y[2], c.Y[2], "no value")
	same := func(v float64) float64 { return v }
	require.Equal(t, 2, strings.Count(path(&c, same, same), "M"))

	c, gaps = curveOf("page", line, 0, 1, true)
	require.True(t, gaps)
	require.Equal(t, []float64{0, 1, 1.008, 1.016, 9, 10}, c.X)
	require.Equal(t, []float64{3, 3}, c.Y[3:5], "a mean is that of the whole gap")
	_, gaps = curveOf("page", line, 0, 4, false)
	require.False(t, gaps)
}

// Failures are listed by the name of their cause.
func TestPortions(t *testing.T) {
	one := record.EndpointCounts{Failed: 70}
	require.Equal(t, "all 70 failed requests", portion(&one, &one))
	require.Equal(t, "70 of the 71 failed requests", portion(&one, &record.EndpointCounts{Failed: 71}))
	again := record.EndpointCounts{Retried: 3}
	require.Equal(t, "all 3 repeated requests", portion(&again, &again))
}

// withLoad adds the load of the machine and of this program for each second, starting 500 ms after the first request.
func withLoad(r *Run, machine, program func(second int) float64) {
	set := &series.Set{Scrapes: make([]series.Scrapes, 1)}
	set.Targets, set.IntervalS = []string{"this machine"}, 1
	for name, of := range map[string]func(int) float64{"machine_cpu_utilization": machine, "process_cpu_cores": program} {
		s := &series.Series{Series: exposition.Series{Name: name}}
		for i := range 11 {
			s.Values = append(s.Values, of(i-1))
		}
		set.Series = append(set.Series, s)
	}
	for i := range 11 {
		set.Scrapes[0].TimesS = append(set.Scrapes[0].TimesS, float64(i))
	}
	r.Metrics, r.Record.FirstIssue, set.Started = set, time.Unix(0, due(0)), time.Unix(0, due(0))
	r.Record.Host.CPUsAllowed = 4
}

func always(v float64) func(int) float64 { return func(int) float64 { return v } }

// The CPU time of a client that stood still shows whether it got CPU time.
func TestWhyTheClientStoodStill(t *testing.T) {
	const stopped, used = "it did not get to run. Was it stopped, throttled", "it used them up"
	inPause := func(in, out float64) func(int) float64 {
		return func(second int) float64 {
			if second == 5 || second == 6 {
				return in
			}
			return out
		}
	}
	for name, c := range map[string]struct {
		machine, program func(int) float64
		want             []string
	}{
		"stopped": {always(0.2), inPause(0.01, 2), []string{"While it stood still, it used 0.01 of its 4 CPUs: " + stopped}},
		"busy": {inPause(1, 0.3), inPause(3.9, 0.2), []string{"it used 3.9 of its 4 CPUs: " + used,
			"100 % busy then and 30 %"}},
		"between": {always(0.5), always(1), []string{"it used 1 of its 4 CPUs: one of its threads (--shards)"}},
		"stopped on a busy machine": {always(0.99), always(0.1), []string{stopped,
			"99 % busy then and 99 % at other times, so that its load alone does not explain the pauses"}},
	} {
		r := ofEntries(1000, stops(true))
		withLoad(r, c.machine, c.program)
		list := r.findings(newTimeline(r))
		require.Len(t, list, 1, name)
		for _, want := range c.want {
			require.Contains(t, list[0], want, name)
		}
		require.Contains(t, list[0], "it sent 0 in time and 1", name)
	}
	r := ofEntries(1000, stops(true)) // without metrics
	r.Record.Host.CPUsAllowed, r.Record.Client.CPUS, r.Record.DurationS = 2, 1, 10
	require.Contains(t, r.findings(newTimeline(r))[0], "Over the run, it used 0.1 of its 2 CPUs: "+stopped)
}

// If the client stood still, the report does not attribute the other effects, or bursts, to the server.
func TestPausesAreExplained(t *testing.T) {
	note := func(change func(int, *ledger.Entry)) (share, look string) {
		r := ofEntries(1000, change)
		withLoad(r, always(1), always(1))
		r.Metrics.Series = append(r.Metrics.Series, &series.Series{Series: exposition.Series{
			Name: "vllm:num_requests_running"}, Values: make([]float64, 11)})
		r.Metrics.IntervalS = 0.1
		return r.share(newTimeline(r)), figure(t, r, "server-running").Look
	}
	share, look := note(stops(true))
	require.Contains(t, share, "The rest is not all the server's")
	require.Contains(t, look, "a burst after it may be")
	share, look = note(stops(false))
	require.Contains(t, share, "The rest is the server's and the network's.")
	require.NotContains(t, look, "burst")
	require.Contains(t, look, "Readings are missing")
}
