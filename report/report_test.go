package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/metrics/exposition"
	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/run/record"
)

const hostile = `</script><img src=x onerror=alert(1)>"'&`

// requestsOf returns a test of n requests, 100 a second, whose TTFT is 10 ms and in the second half 20 ms.
func requestsOf(n int) *ledger.Test {
	const ms = 1_000_000
	t := &ledger.Test{Origin: ledger.FromSchedule, Names: ledger.Names{
		Reasons: []ledger.Reason{"", "reset"}, Sources: []ledger.TokenSource{"", ledger.TokensFromIDs}}}
	for i := range n {
		due := int64(i) * 10 * ms
		ttft := int64(10 * ms)
		if i >= n/2 {
			ttft = 20 * ms
		}
		at := int64(1e18) + due
		e := ledger.Entry{Seq: int32(i), Index: int32(i % 7), IssuedNS: at + 1000, SentNS: at + 50_000,
			FirstTokenNS: at + ttft,
			LastTokenNS:  at + ttft + 90*ms, ReadableNS: at + ttft + 90*ms, DoneNS: at + ttft + 90*ms + 10_000,
			OutputTokens: 10, InputTokens: 40, Source: 1}
		if i%100 == 99 {
			e.Reason = 1
		}
		t.Entries, t.Schedule = append(t.Entries, e), append(t.Schedule, due)
	}
	t.T0NS = 1e18
	return t
}

// folderOf writes a run's folder with hostile texts in every field that a server, a data set or a user can fill.
func folderOf(t testing.TB, n int) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, record.MetricsFolder), 0o700))
	require.NoError(t, ledger.WriteRequests(atomicfile.Shared, filepath.Join(folder, record.RequestsName), requestsOf(n)))
	first := time.Unix(1_000_000_000, 0).UTC()
	known := []exposition.Series{{Name: "vllm:num_requests_waiting", Family: "vllm:num_requests_waiting",
		Kind: exposition.Gauge}}
	recorder, err := series.Create(atomicfile.Shared, filepath.Join(folder, filepath.FromSlash(record.MetricsName)),
		first.Add(-2*time.Second), time.Second, []string{"http://" + hostile})
	require.NoError(t, err)
	for i := range 12 {
		require.NoError(t, recorder.Append(0, first.Add(time.Duration(i-2)*time.Second), known, []float64{float64(i)}, nil))
	}
	require.NoError(t, recorder.Close())
	r := &record.Record{Schema: record.Schema, Model: hostile, Scenario: "Server", Mode: "performance",
		Verdict: record.Invalid, Reasons: []record.Cause{{Code: "failed_samples", Text: hostile}}, FirstIssue: first,
		Command: []string{"mlperf-go", "run", "--served-model", "it's " + hostile}, Notes: []string{hostile},
		Metrics: &record.ServerMetrics{File: record.MetricsName}, Endpoints: []record.EndpointCounts{{URL: hostile}},
		LatencyS: record.Latencies{TTFT: &ledger.Stats{P99: 0.02}},
		Tails: []record.Tail{{What: "time to first token", Limit: 15 * time.Millisecond},
			{What: "time per output token", Limit: time.Second}},
		Samples: record.SampleCounts{Failed: int64(n / 100)}}
	require.NoError(t, atomicfile.WriteJSON(filepath.Join(folder, record.FileName), r))
	var lines bytes.Buffer
	for i := range n / 100 {
		require.NoError(t, json.NewEncoder(&lines).Encode(failureLine{Endpoint: hostile, AtS: float64(i + 1), Reason: "reset",
			Retried: i == 0, Detail: hostile, Body: hostile}))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.FailuresName), lines.Bytes(), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.ConfigName), []byte("model: "+hostile), 0o600))
	return folder
}

func pageOf(t testing.TB, folder string) (string, *Run) {
	t.Helper()
	r, err := Read(folder)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, []*Run{r}))
	return b.String(), r
}

// TestForeignTextStaysText parses the page: no text of a server, a data set or a user becomes an element or an
// attribute.
func TestForeignTextStaysText(t *testing.T) {
	text, r := pageOf(t, folderOf(t, 1000))
	require.Empty(t, r.Notes)
	raw := regexp.MustCompile(`(?s)(<script[^>]*>|<style>).*?(</script>|</style>)`)
	require.Len(t, raw.FindAllString(text, -1), len(r.Figures())+2,
		"the data of each figure, and the page's own script and style")
	page := xml.NewDecoder(strings.NewReader(raw.ReplaceAllString(text, "$1$2")))
	page.Strict, page.AutoClose, page.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	texts := 0
	for {
		token, err := page.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.CharData:
			if strings.Contains(string(token), hostile) {
				texts++
			}
		case xml.StartElement:
			require.NotEqual(t, "img", token.Name.Local)
			for _, a := range token.Attr {
				name := a.Name.Local
				require.False(t, strings.HasPrefix(name, "on") || name == "src" || name == "href" || name == "style",
					"%s has %s", token.Name.Local, name)
			}
		}
	}
	require.Greater(t, texts, 8)
}

// TestPolicyAllowsThePageAlone compares the hashes of the policy with the style and the script of the page.
func TestPolicyAllowsThePageAlone(t *testing.T) {
	text, _ := pageOf(t, folderOf(t, 1000))
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]+)"`).FindStringSubmatch(text)[1]
	policy = strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy)
	hash := func(element string) string {
		parts := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(text, -1)
		require.Len(t, parts, 1, element)
		sum := sha256.Sum256([]byte(parts[0][1]))
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	require.Equal(t, fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; "+
		"form-action 'none'", hash("style"), hash("script")), policy)
	require.NotContains(t, strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), "url(")
}

func figure(t *testing.T, r *Run, id string) Figure {
	t.Helper()
	for _, f := range r.Figures() {
		if f.ID == id {
			return f
		}
	}
	t.Fatalf("no figure %s", id)
	return Figure{}
}

func TestFiguresShowTheRequests(t *testing.T) {
	_, r := pageOf(t, folderOf(t, 1000))
	ttft := figure(t, r, "ttft")
	require.Len(t, ttft.Curves, 3)
	n := len(ttft.Curves[0].X)
	require.Equal(t, 50, n, "twenty requests a bin")
	require.InDelta(t, 10, ttft.Curves[0].Y[1], 0.01)
	require.InDelta(t, 20, ttft.Curves[2].Y[n-2], 0.01)
	require.Equal(t, "limit of p99 15 ms", ttft.Limits[0].Name)
	require.False(t, ttft.Limits[0].Far)
	require.True(t, figure(t, r, "tpot").Limits[0].Far, "a limit of 1 s would flatten 10 ms")
	rates := figure(t, r, "rates")
	require.InDelta(t, 100, rates.Curves[0].Y[20], 10)
	require.InDelta(t, 99, mean(rates.Curves[1].Y[1:n-1]), 3)
	require.InDelta(t, 990, mean(figure(t, r, "tokens").Curves[0].Y[2:n-2]), 30)
	require.InDelta(t, 10.5, mean(figure(t, r, "inflight").Curves[0].Y[5:n-5]), 1.5)
	require.InDelta(t, 0.05, figure(t, r, "lag").Curves[0].Y[3], 0.0001)
	cdf := figure(t, r, "ttft-cdf").Curves[0]
	require.InDelta(t, 10, cdf.X[90], 0.01)
	require.InDelta(t, 20, cdf.X[len(cdf.X)-1], 0.01)
	waiting := figure(t, r, "server-waiting").Curves[0]
	require.InDelta(t, -2, waiting.X[0], 0.001, "on the axis of the requests")
	require.Equal(t, 0.25, figure(t, r, "length-ratio").Curves[0].X[39]/39.5*40)
	require.Len(t, r.Failures, 1)
	require.Equal(t, 10, r.Failures[0].Count)
	require.Equal(t, 1, r.Failures[0].Retried)
	require.Equal(t, []row{{r.Failures[0].Endpoint, "10"}}, r.Failures[0].ByEndpoint())
	require.Equal(t, "limit of p99 1000 ms per token, to the right of the chart", figure(t, r, "tpot-cdf").Limits[0].Name)
}

func TestFailuresByEndpoint(t *testing.T) {
	f := &Failure{}
	for i, name := range []string{"http://b", "http://a", "http://c", "http://c"} {
		f.add(&failureLine{Endpoint: name, AtS: float64(i)})
	}
	require.Equal(t, []row{{"http://c", "2"}, {"http://a", "1"}, {"http://b", "1"}}, f.ByEndpoint())
	for i := range 2 * maxFailedEndpoints {
		f.add(&failureLine{Endpoint: strconv.Itoa(i)})
	}
	require.Len(t, f.ByEndpoint(), maxFailedEndpoints)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// cut removes the last tenth of a file.
func cut(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()*9/10)
}

// TestDamagedFolders reads folders with missing, truncated or foreign parts.
func TestDamagedFolders(t *testing.T) {
	for _, damage := range []struct {
		name string
		to   func(folder string) error
		note string
	}{
		{"no log", func(f string) error { return os.Remove(filepath.Join(f, record.RequestsName)) }, "no request log"},
		{"log without a request", func(f string) error { return os.Truncate(filepath.Join(f, record.RequestsName), 10) },
			"request log cannot"},
		{"cut log", func(f string) error { return cut(filepath.Join(f, record.RequestsName)) },
			"the request log is cut after "},
		{"cut metrics", func(f string) error { return os.Truncate(filepath.Join(f, record.MetricsName), 10) },
			"metrics cannot"},
		{"bad failures", func(f string) error {
			return os.WriteFile(filepath.Join(f, record.FailuresName), []byte("[]\n"), 0o600)
		}, "failures cannot be shown: line 1"},
		{"link", func(f string) error {
			_ = os.Remove(filepath.Join(f, record.ConfigName))
			return os.Symlink("/etc/passwd", filepath.Join(f, record.ConfigName))
		}, "configuration cannot"},
	} {
		t.Run(damage.name, func(t *testing.T) {
			folder := folderOf(t, 1000)
			require.NoError(t, damage.to(folder))
			text, r := pageOf(t, folder)
			require.Len(t, r.Notes, 1)
			require.Contains(t, r.Notes[0], damage.note)
			require.Contains(t, text, "INVALID")
			require.NotContains(t, text, "root:x:")
			require.Equal(t, damage.name == "cut log", r.Cut)
			if r.Cut {
				n := len(r.Requests.Entries)
				require.True(t, n > 100 && n < 1000, "%d requests", n)
				require.Contains(t, r.Notes[0], fmt.Sprintf(" %d requests", n))
				require.Contains(t, text, fmt.Sprintf("Note: the request log is cut after %d requests", n))
				require.EqualValues(t, n-1, r.Requests.Entries[n-1].Seq)
			}
		})
	}
	_, err := Read(t.TempDir())
	require.ErrorContains(t, err, "has no run.json")
}

func TestShortKeepsFourDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1.23456: "1.235", 123456.7: "123457", 0.000123456: "0.0001235",
		-2.5: "-2.5", math.NaN(): "-"} {
		require.Equal(t, want, short(v))
	}
}

// BenchmarkMillionRequests measures time and memory of the report of a long run.
func BenchmarkMillionRequests(b *testing.B) {
	folder := folderOf(b, 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		text, _ := pageOf(b, folder)
		b.ReportMetric(float64(len(text))/1e6, "MB")
	}
}

func TestCountsAddUp(t *testing.T) {
	r := &record.Record{Samples: record.SampleCounts{Issued: 296, Completed: 296, Failed: 238},
		Endpoints: []record.EndpointCounts{{URL: "http://a", Requests: 200, Failed: 200}, {URL: "http://b", Requests: 94,
			Failed: 36}}}
	require.Contains(t, counts(r), row{"requests sent to no server", "2, 2 failed"})
	r.Endpoints[1].Requests += 2
	for _, one := range counts(r) {
		require.NotEqual(t, "requests sent to no server", one.Name)
	}
}

func TestExamplesAreCut(t *testing.T) {
	folder, long := t.TempDir(), strings.Repeat("128000,", 100)
	text, err := json.Marshal(failureLine{Reason: "cancelled", Detail: long, Body: long})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.FailuresName), text, 0o600))
	r := &Run{}
	require.NoError(t, r.readFailures(folder))
	require.Len(t, r.Failures[0].Body, maxExample+len("..."))
	require.Len(t, r.Failures[0].Detail, maxExample+len("..."))
}

// The report states failures as shares of all requests and of those to a server. Charts show which server had them.
func TestSharesOfFailures(t *testing.T) {
	_, r := pageOf(t, folderOf(t, 1000))
	r.Record.Samples.Completed = 1000
	r.Record.Endpoints = []record.EndpointCounts{{URL: "http://a", Requests: 500, Failed: 10}, {URL: "http://b"}}
	require.Contains(t, counts(r.Record), row{"failed", "10 (1 %)"})
	require.Contains(t, counts(r.Record), row{"requests to http://a", "500, 10 (2 %) failed"})
	for i := range r.Requests.Entries {
		r.Requests.Entries[i].Endpoint = 1
	}
	f := figure(t, r, "failed-servers")
	require.Zero(t, mean(f.Curves[0].Y))
	require.InDelta(t, 1, mean(f.Curves[1].Y), 0.1, "one of a hundred requests, of which there are a hundred a second")
}

// Charts of servers use the units of the client's charts.
func TestUnitsOfSignals(t *testing.T) {
	for _, g := range series.Signals {
		unit, scale := SignalUnit(&g)
		switch g.Key {
		case "ttft_p99":
			require.Equal(t, "ms", unit)
			require.Equal(t, 1e3, scale)
		case "kv_cache":
			require.Equal(t, "%", unit)
			require.Equal(t, 100.0, scale)
		case "running":
			require.Equal(t, "requests", unit)
			require.Equal(t, 1.0, scale)
		}
	}
}

// TestInterruptedCounts: requests that an interruption cancelled are not failures.
func TestInterruptedCounts(t *testing.T) {
	r := &record.Record{Verdict: record.Interrupted, Samples: record.SampleCounts{Issued: 100, Failed: 25,
		FailedByReason: map[ledger.Reason]int64{ledger.FailCancelled: 20, ledger.FailReset: 5}}}
	require.Equal(t, []row{{"requests", "100"}, {"failed", "5"}, {"cancelled by the interruption", "20"}}, counts(r)[:3])
	r.Verdict = record.Invalid
	require.Equal(t, []row{{"requests", "100"}, {"failed", "25"}, {"repeated", "0"}}, counts(r)[:3])
}

// TestITLHasNoCharts: a run that measured ITL has a note that explains why there is no chart of it.
func TestITLHasNoCharts(t *testing.T) {
	text, r := pageOf(t, folderOf(t, 1000))
	require.NotContains(t, text, "no charts of the time between tokens")
	r.Record.LatencyS.ITL = &ledger.Stats{P99: 0.01}
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, []*Run{r}))
	require.Contains(t, b.String(), "no charts of the time between tokens")
}
