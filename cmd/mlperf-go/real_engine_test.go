package main

import (
	"bufio"
	"encoding/json"
	"math"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// histogram is an engine's histogram: the count of each bucket.
type histogram struct {
	Above []float64 // upper bounds, ascending; the last one is +Inf, or 1e308 in JSON
	Count []float64 // cumulative counts
	Sum   float64
}

var bucketBound = regexp.MustCompile(`le="([^"]*)"`)

func readHistogram(ts *testscript.TestScript, url, name string) (h histogram) {
	response, err := http.Get(url + "/metrics")
	ts.Check(err)
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		line := lines.Text()
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		switch {
		case err != nil:
		case strings.HasPrefix(line, name+"_bucket{"):
			bound, err := strconv.ParseFloat(bucketBound.FindStringSubmatch(line)[1], 64)
			ts.Check(err)
			h.Above, h.Count = append(h.Above, min(bound, math.MaxFloat64)), append(h.Count, value)
		case strings.HasPrefix(line, name+"_sum{"):
			h.Sum = value
		}
	}
	if len(h.Above) == 0 {
		ts.Fatalf("%s/metrics has no histogram %s", url, name)
	}
	return h
}

// since returns a histogram's counts after an earlier state.
func (h histogram) since(before histogram) histogram {
	now := histogram{Above: h.Above, Sum: h.Sum - before.Sum}
	for i := range h.Count {
		now.Count = append(now.Count, h.Count[i]-before.Count[i])
	}
	return now
}

// bucket returns the bucket of a value.
func (h histogram) bucket(value float64) (from, to float64) {
	i, _ := slices.BinarySearch(h.Above, value)
	if i > 0 {
		from = h.Above[i-1]
	}
	return from, h.Above[i]
}

// median returns the bucket of the median.
func (h histogram) median() (from, to float64) {
	total := h.Count[len(h.Count)-1]
	i := slices.IndexFunc(h.Count, func(n float64) bool { return n >= total/2 })
	return h.bucket(h.Above[i])
}

func (h histogram) mean() float64 { return h.Sum / h.Count[len(h.Count)-1] }

// engineHistograms are the engine's histograms, by the client's name of the figure.
var engineHistograms = map[string]string{"ttft": "vllm:time_to_first_token_seconds",
	"itl": "vllm:inter_token_latency_seconds"}

// cmdHistograms compares a client's measurements with the growth of the engine's histograms since the last call:
// histograms URL [DIR [crowd]]
//
// The engine measures the first token from the arrival of its request. So it is compared with the request log (sent to
// first token) and not with latency_s.ttft, which starts at the scheduled time. Mean and median may differ from the
// engine's by at most the width of a bucket. Engine and record both count one gap between tokens for each token except
// the first, however many tokens an event has: the numbers must be equal. With crowd, requests wait in front of the
// engine's front end, which measures from when it has read a request: then the engine's mean must only not exceed the
// client's.
func cmdHistograms(ts *testscript.TestScript, _ bool, args []string) {
	for figure, name := range engineHistograms {
		now, key := readHistogram(ts, args[0], name), "HISTOGRAM_"+figure
		if len(args) > 1 {
			var before histogram
			ts.Check(json.Unmarshal([]byte(ts.Getenv(key)), &before))
			seen[figure](ts, args[1], now.since(before), len(args) > 2)
		}
		text, err := json.Marshal(now)
		ts.Check(err)
		ts.Setenv(key, string(text))
	}
}

var seen = map[string]func(ts *testscript.TestScript, dir string, engine histogram, crowd bool){"ttft": seenTTFT,
	"itl": seenITL}

// seenTTFT compares the times from a request's last byte to its first token.
func seenTTFT(ts *testscript.TestScript, dir string, engine histogram, crowd bool) {
	var times []float64
	header := 0.0
	for _, e := range requestLog(ts, dir) {
		if e.FirstTokenNS != 0 {
			times = append(times, float64(e.FirstTokenNS-e.SentNS)/1e9)
			header += float64(e.FirstByteNS-e.SentNS) / 1e9
		}
	}
	slices.Sort(times)
	sum := 0.0
	for _, t := range times {
		sum += t
	}
	if n := engine.Count[len(engine.Count)-1]; n != float64(len(times)) {
		ts.Fatalf("the client saw %d first tokens, and the engine %v", len(times), n)
	}
	mean := sum / float64(len(times))
	ts.Logf("ttft of %s: record, from its schedule, mean %s s; sent to header %.2f ms, sent to first token %.2f ms", dir,
		recorded(ts, dir, "latency_s.ttft.mean"),
		header/float64(len(times))*1e3, mean*1e3)
	if !crowd {
		engine.near(ts, dir, "ttft", mean, times[len(times)/2])
		return
	}
	ts.Logf("ttft of %s: engine, once its front end has read the request, mean %.2f ms", dir, engine.mean()*1e3)
	if engine.mean() > mean {
		ts.Fatalf("the engine's mean of ttft is %g s, and the client's only %g s", engine.mean(), mean)
	}
}

// seenITL compares the gaps between tokens, several of which may arrive in one event.
func seenITL(ts *testscript.TestScript, dir string, engine histogram, _ bool) {
	gaps, events, merged := 0, 0, 0
	for _, e := range requestLog(ts, dir) {
		gaps += int(e.OutputTokens) - 1
		events, merged = events+int(e.Events), merged+int(e.Merged)
	}
	ts.Logf("%s: %d gaps, %d events, %d of them with several tokens", dir, gaps, events, merged)
	if n := engine.Count[len(engine.Count)-1]; n != float64(gaps) {
		ts.Fatalf("the client's tokens have %d gaps, and the engine's %v", gaps, n)
	}
	number := func(of string) float64 {
		v, err := strconv.ParseFloat(recorded(ts, dir, "latency_s.itl."+of), 64)
		ts.Check(err)
		return v
	}
	median := number("p50")
	// tokens in one event have gaps of 0, but the engine's do not; the means are still equal
	if merged*20 > events {
		median = math.NaN()
	}
	engine.near(ts, dir, "itl", number("mean"), median)
}

// near requires that mean and median differ by at most the width of the histogram's bucket. A median of NaN is not
// compared.
func (h histogram) near(ts *testscript.TestScript, dir, figure string, mean, median float64) {
	from, to := h.bucket(h.mean())
	ts.Logf("%s of %s: mean %.2f ms, engine %.2f ms (bucket %g to %g)", figure, dir, mean*1e3, h.mean()*1e3, from, to)
	if math.Abs(mean-h.mean()) > to-from {
		ts.Fatalf("the mean of %s is %g s, and the engine's %g s", figure, mean, h.mean())
	}
	from, to = h.median()
	ts.Logf("%s of %s: median %.2f ms, engine's bucket %g to %g", figure, dir, median*1e3, from, to)
	if median < from-(to-from) || median > to+(to-from) {
		ts.Fatalf("the median of %s is %g s, and the engine's between %g and %g s", figure, median, from, to)
	}
}

// requestLog reads a run's request log.
func requestLog(ts *testscript.TestScript, dir string) []ledger.Entry {
	log, err := ledger.ReadRequests(ts.MkAbs(filepath.Join(dir, record.RequestsName)))
	ts.Check(err)
	return log.Entries
}

// cmdIdle waits until an engine runs and has no requests: idle URL
func cmdIdle(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(realWait); ; time.Sleep(100 * time.Millisecond) {
		running, ok := counter(ts, args[0], "vllm:num_requests_running")
		waiting, too := counter(ts, args[0], "vllm:num_requests_waiting")
		if ok && too && running+waiting == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the engine still has %v running and %v waiting requests", running, waiting)
		}
	}
}
