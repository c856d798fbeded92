package main

import (
	"bufio"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// histogram is one of an engine's: how often each bucket was hit.
type histogram struct {
	Above []float64 // upper bounds, ascending; the last one is +Inf, as 1e308 where it is kept as JSON
	Count []float64 // in all buckets up to it
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

// since is what a histogram counted after an earlier state of it.
func (h histogram) since(before histogram) histogram {
	now := histogram{Above: h.Above, Sum: h.Sum - before.Sum}
	for i := range h.Count {
		now.Count = append(now.Count, h.Count[i]-before.Count[i])
	}
	return now
}

// bucket is the one that a value falls into.
func (h histogram) bucket(value float64) (from, to float64) {
	i, _ := slices.BinarySearch(h.Above, value)
	if i > 0 {
		from = h.Above[i-1]
	}
	return from, h.Above[i]
}

// median is the bucket that holds the middle.
func (h histogram) median() (from, to float64) {
	total := h.Count[len(h.Count)-1]
	i := slices.IndexFunc(h.Count, func(n float64) bool { return n >= total/2 })
	return h.bucket(h.Above[i])
}

func (h histogram) mean() float64 { return h.Sum / h.Count[len(h.Count)-1] }

// latencyHistograms are the figures of a record that vLLM counts too.
var latencyHistograms = map[string]string{"ttft": "vllm:time_to_first_token_seconds", "itl": "vllm:inter_token_latency_seconds"}

// cmdHistograms holds the record's TTFT and ITL against the engine's histograms since the last call, which it notes: mean and median must
// be no further from the engine's than the bucket is wide: histograms URL [DIR]
func cmdHistograms(ts *testscript.TestScript, _ bool, args []string) {
	for figure, name := range latencyHistograms {
		now, key := readHistogram(ts, args[0], name), "HISTOGRAM_"+figure
		if len(args) > 1 {
			var before histogram
			ts.Check(json.Unmarshal([]byte(ts.Getenv(key)), &before))
			compareHistogram(ts, args[1], figure, now.since(before))
		}
		text, err := json.Marshal(now)
		ts.Check(err)
		ts.Setenv(key, string(text))
	}
}

func compareHistogram(ts *testscript.TestScript, dir, figure string, engine histogram) {
	number := func(of string) float64 {
		v, err := strconv.ParseFloat(recorded(ts, dir, "latency_s."+figure+"."+of), 64)
		ts.Check(err)
		return v
	}
	mean, median := number("mean"), number("p50")
	from, to := engine.bucket(engine.mean())
	ts.Logf("%s of %s: mean %.2f ms, engine %.2f ms (bucket %g to %g)", figure, dir, mean*1e3, engine.mean()*1e3, from, to)
	if math.Abs(mean-engine.mean()) > to-from {
		ts.Fatalf("the mean of %s is %g s, and the engine's %g s", figure, mean, engine.mean())
	}
	from, to = engine.median()
	ts.Logf("%s of %s: median %.2f ms, engine's bucket %g to %g", figure, dir, median*1e3, from, to)
	if median < from-(to-from) || median > to+(to-from) {
		ts.Fatalf("the median of %s is %g s, and the engine's between %g and %g s", figure, median, from, to)
	}
}

// cmdIdle waits until an engine runs and holds no request: idle URL
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
