package bench

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/eventlog"
	"github.com/mlperf-go/mlperf-go/workload/measure"
)

const ms = int64(1e6)

// writeRun writes the folder of a run that was killed: an event log with its profile.
func writeRun(t *testing.T, requests ...eventlog.Request) string {
	t.Helper()
	folder := t.TempDir()
	text := "schema: mlperf-go/profile/1\nname: <script>\ndata: {kind: random, input: 20, output: 3}\n" +
		"load: {stages: [{arrival: constant, rate: 10, requests: 4}]}\nslo: {ttft: 50ms}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, ProfileName), []byte(text), 0o600))
	w, err := eventlog.Create(filepath.Join(folder, eventlog.FileName), eventlog.Header{ID: "one", StartNS: 1000 * ms})
	require.NoError(t, err)
	for i := range requests {
		w.Add(&requests[i])
	}
	require.NoError(t, w.Close(eventlog.End{Cause: "killed"}))
	return folder
}

// In a report, latencies count from the sending, lags from the moment when a request had room, and rates from the due
// time.
func TestReport(t *testing.T) {
	at := func(v int64) int64 { return (1000 + v) * ms }
	folder := writeRun(t,
		eventlog.Request{Seq: 0, DueNS: at(0), ReadyNS: at(0), SentNS: at(1), EndNS: at(100), InputTokens: 20,
			OutputTokens: 3,
			Events:       []eventlog.Event{{AtNS: at(11), Tokens: 1}, {AtNS: at(20), Tokens: 1}, {AtNS: at(61), Tokens: 1}}},
		eventlog.Request{Seq: 2, DueNS: at(200), ReadyNS: at(300), SentNS: at(302), EndNS: at(400), Reason: "reset"},
		eventlog.Request{Seq: 1, DueNS: at(100), ReadyNS: at(100), Reason: "connect", EndNS: at(101)})
	run, err := Report(folder)
	require.NoError(t, err)
	require.Equal(t, record.Interrupted, run.Record.Verdict)
	require.EqualValues(t, 3, run.Record.Samples.Issued)
	require.EqualValues(t, 2, run.Record.Samples.Failed)
	require.Equal(t, []int64{0, 200 * ms, 100 * ms}, run.Requests.Schedule)
	require.InDelta(t, 0.041, run.Workload.GapS[0], 1e-6)
	require.True(t, math.IsNaN(float64(run.Workload.GapS[1])), "a failed request has no gap")
	charts := map[string]report.Figure{}
	for _, f := range run.Figures() {
		charts[f.ID] = f
	}
	require.InDelta(t, 10, charts["ttft"].Curves[0].Y[0], 1e-9, "from 1 ms to 11 ms")
	require.InDelta(t, 99e-3, charts["e2e"].Curves[0].Y[0], 1e-9)
	require.InDelta(t, 41, charts["itl-cdf"].Curves[0].X[0], 1e-5)
	require.InDelta(t, 2, charts["lag"].Curves[0].Y[0], 1e-9, "the larger of 1 ms and 2 ms: waiting for room is no lag")
	require.Len(t, charts["lag"].Curves, 1)
	require.Equal(t, "limit of p100 50 ms, above the chart", charts["ttft"].Limits[0].Name)
	require.True(t, charts["ttft-cdf"].Limits[0].OnX)
	for _, id := range []string{"rates", "tokens", "inflight", "length-input", "length-output"} {
		require.Contains(t, charts, id)
	}

	var page bytes.Buffer
	require.NoError(t, report.WriteHTML(&page, []*report.Run{run}))
	require.Contains(t, page.String(), "Limits of the service")
	require.NotContains(t, page.String(), "<script>:", "names are text")

	require.NoError(t, os.Truncate(filepath.Join(folder, eventlog.FileName), 40))
	run, err = Report(folder)
	if err == nil {
		require.NotEmpty(t, run.Notes)
	}
}

// The counts of the page are those of the requests that its rates count: 7 of 8 in 0.5 s are 14 requests/s. The charts
// and the verdict have the 3 requests of the warm-up too.
func TestCountsOfAReportFitItsRates(t *testing.T) {
	m := &measure.Measured{LeftOut: 3, Stages: []measure.Part{
		{Figures: measure.Figures{Requests: measure.Counts{Total: 3, OK: 2, Failed: 1}}},
		{Number: 1, Figures: measure.Figures{Requests: measure.Counts{Total: 9, OK: 7, Failed: 1, Cancelled: 1}}}}}
	m.Total.Requests, m.Total.DurationS = m.Stages[1].Requests, 0.5
	m.Total.Throughput.Requests = 14
	r := &Record{Profile: "p", Verdict: record.Valid, Measured: m}
	run := &report.Run{Name: "one", Record: reported(r), Workload: r.workload()}
	require.EqualValues(t, 12, run.Record.Samples.Issued)
	var page bytes.Buffer
	require.NoError(t, report.WriteHTML(&page, []*report.Run{run}))
	text := regexp.MustCompile(`<[^>]*>|\s+`).ReplaceAllString(page.String(), " ")
	require.Regexp(t, `requests +9 +failed +1 \(12\.5 %\) +cancelled by the client +1 +`+
		`left out: warm-up and cool-down +3 +repeated +0 +duration +0\.5 s +requests/s +14 `, text)
}

// The report states the begin and end of the steady window.
func TestReportMarksSteadyWindow(t *testing.T) {
	run, err := Report(writeRun(t, eventlog.Request{DueNS: 1000 * ms, ReadyNS: 1000 * ms, SentNS: 1000 * ms,
		EndNS:        3000 * ms,
		OutputTokens: 1, Events: []eventlog.Event{{AtNS: 2000 * ms, Tokens: 1}}}))
	require.NoError(t, err)
	run.Workload.SteadyFromNS, run.Workload.SteadyToNS = 1500*ms, 2500*ms
	for _, f := range run.Figures() {
		if f.ID == "rates" {
			require.Equal(t, "the steady window begins at 0.5 s", f.Limits[0].Name)
			require.Equal(t, "the steady window ends at 1.5 s", f.Limits[1].Name)
			return
		}
	}
	require.Fail(t, "no chart of rates")
}

// The row of a group that is a class of priority begins with its name.
func TestClassesAreNamed(t *testing.T) {
	require.Equal(t, "7", partCells(&measure.Part{Number: 7})[0])
	require.Equal(t, "high", partCells(&measure.Part{Number: 7, Name: "high"})[0])
}
