package peers

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hand is a log whose figures can be computed by hand. Times in ms.
//
//	      due sent first last  end  tokens  events
//	A       0    0   100  400  410       4  100, 200, 300, 400
//	B     100  150   350  350  360       1  350
//	C     200  200   300  900 1000       3  300 (1 token), 900 (2 tokens)
//	D     300  300              400       status 500
func hand() *Log {
	started := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	at := func(ms int64) int64 { return started.UnixNano() + ms*1e6 }
	request := func(due, sent, end int64, input, output int, events ...int64) Request {
		r := Request{DueNS: at(due), SentNS: at(sent), EndNS: at(end), InputTokens: input, OutputTokens: output}
		for _, ms := range events {
			r.TokenNS = append(r.TokenNS, at(ms))
		}
		if n := len(events); n > 0 {
			r.FirstTokenNS, r.LastTokenNS, r.Events = at(events[0]), at(events[n-1]), n
			r.VisibleNS = r.FirstTokenNS
		}
		return r
	}
	l := &Log{Tool: "mlperf-go test", ID: "id", Started: started, Model: "org/model", Backend: "openai",
		Endpoint: "http://host:8000", Stages: []Stage{{RatePerS: 10, Poisson: true}},
		Requests: []Request{
			request(0, 0, 410, 10, 4, 100, 200, 300, 400), request(100, 150, 360, 20, 1, 350),
			request(200, 200, 1000, 30, 3, 300, 900), request(300, 300, 400, 5, 0),
		}}
	l.Requests[2].Tokens = []int{1, 2}
	l.Requests[3].Failure = "http_500"
	return l
}

// withoutTokenTimes is a log in the form that a run writes.
func withoutTokenTimes() *Log {
	l := hand()
	for i := range l.Requests {
		l.Requests[i].TokenNS = nil
	}
	return l
}

// convert returns the files of an export by name, and its notes as one text.
func convert(t *testing.T, format string, l *Log) (files map[string]string, notes string) {
	t.Helper()
	e, err := Convert(format, l)
	require.NoError(t, err)
	files = map[string]string{}
	for _, f := range e.Files {
		var b bytes.Buffer
		require.NoError(t, f.Write(&b))
		files[f.Name] = b.String()
	}
	return files, strings.Join(e.Notes, "\n")
}

// values returns the numbers of a JSON text by their paths, such as metrics/ttft/p99. nil: null.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	flat := map[string]any{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, one := range v {
				walk(path.Join(at, key), one)
			}
		case []any:
			for i, one := range v {
				walk(path.Join(at, fmt.Sprint(i)), one)
			}
		default:
			flat[at] = v
		}
	}
	walk("", v)
	return flat
}

// requireValues compares numbers by their paths below a folder.
func requireValues(t *testing.T, got map[string]any, below string, want map[string]float64) {
	t.Helper()
	for key, v := range want {
		at := path.Join(below, key)
		require.Contains(t, got, at)
		require.InDelta(t, v, got[at], 1e-5*max(v, 1), at)
	}
}

func TestVLLM(t *testing.T) {
	files, notes := convert(t, "vllm", hand())
	require.Empty(t, notes)
	got := values(t, files["openai-10.0qps-model-20261123-090000.json"])
	requireValues(t, got, "", map[string]float64{
		"num_prompts": 4, "request_rate": 10, "burstiness": 1, "duration": 1, "completed": 3, "failed": 1,
		"total_input_tokens": 60, "total_output_tokens": 8, "request_throughput": 3, "output_throughput": 8,
		"total_token_throughput": 68, "max_output_tokens_per_s": 7, "max_concurrent_requests": 3,
		"mean_ttft_ms": 400. / 3, "median_ttft_ms": 100, "std_ttft_ms": 47.140452, "p99_ttft_ms": 198,
		"mean_tpot_ms": 200, "median_tpot_ms": 200, "std_tpot_ms": 100, "p99_tpot_ms": 298, // B has one token
		"mean_itl_ms": 225, "median_itl_ms": 100, "std_itl_ms": 216.506351, "p99_itl_ms": 585, // of events
		"mean_e2el_ms": 1300. / 3, "median_e2el_ms": 400, "p99_e2el_ms": 694, // to the last event
	})
	require.Equal(t, "20261123-090000", got["date"])
	require.Equal(t, "org/model", got["model_id"])
	require.Contains(t, got, "request_goodput")
	require.Nil(t, got["request_goodput"])
	requireValues(t, got, "", map[string]float64{"latencies/0": .4, "latencies/1": .2, "latencies/2": .7, "latencies/3": 0,
		"queue_times/1": .05, "queue_times/2": 0})
	require.NotContains(t, got, "ttfts/0")
}

// TestVLLMInDetail: the arrays of save-detailed have a value for each request in the order in which they were due, and
// the metrics are those that were asked for.
func TestVLLMInDetail(t *testing.T) {
	l := hand()
	l.Stages[0].Concurrency = 8
	l.Requests[0], l.Requests[2] = l.Requests[2], l.Requests[0] // the log is in the order of the ends
	l.Asked = Asked{Requests: true, Percentiles: []float64{25, 99.9}, Metrics: []string{"tpot", "client_queue_time",
		"e2el_including_client_queue"}}
	files, notes := convert(t, "vllm", l)
	require.Equal(t, "the log has no answers: generated_texts is left out", notes)
	text := files["openai-10.0qps-concurrency8-model-20261123-090000.json"]
	got := values(t, text)
	requireValues(t, got, "", map[string]float64{
		"input_lens/0": 10, "input_lens/3": 5, "output_lens/0": 4, "output_lens/2": 3, "output_lens/3": 0,
		"ttfts/0": .1, "ttfts/1": .2, "ttfts/2": .1, "ttfts/3": 0,
		"itls/0/0": .1, "itls/0/2": .1, "itls/2/0": .6,
		"p25_tpot_ms": 150, "p99.9_tpot_ms": 299.8, "mean_client_queue_time_ms": 50. / 3,
		"mean_e2el_including_client_queue_ms": 1350. / 3, // 400, 250 and 700 from the due time
	})
	require.InDelta(t, .15, got["start_times/1"].(float64)-got["start_times/0"].(float64), 1e-6)
	require.Equal(t, []any{"", "http_500"}, []any{got["errors/2"], got["errors/3"]})
	require.Contains(t, text, "[],\n[0.6],\n[]", "one event and a failure have no gaps")
	for _, key := range []string{"mean_ttft_ms", "mean_itl_ms", "mean_e2el_ms", "p50_tpot_ms", "generated_texts"} {
		require.NotContains(t, got, key)
	}
	l.Stages[0].Concurrency = 0 // nothing waits for room
	files, _ = convert(t, "vllm", l)
	require.NotContains(t, files["openai-10.0qps-model-20261123-090000.json"], "client_queue_time_ms")
	for i := range l.Requests {
		l.Requests[i].TokenNS = nil
	}
	files, _ = convert(t, "vllm", l)
	require.NotContains(t, files["openai-10.0qps-model-20261123-090000.json"], "itls")
}

func TestVLLMWithoutTokenTimes(t *testing.T) {
	files, notes := convert(t, "vllm", withoutTokenTimes())
	require.Equal(t, "the log has no time of each token: the keys of itl and max_output_tokens_per_s are left out", notes)
	got := values(t, files["openai-10.0qps-model-20261123-090000.json"])
	requireValues(t, got, "", map[string]float64{"mean_tpot_ms": 200, "p99_ttft_ms": 198, "max_concurrent_requests": 3})
	for key := range got {
		require.NotContains(t, key, "itl")
	}
	require.NotContains(t, got, "max_output_tokens_per_s")

	whole := withoutTokenTimes() // answers in one piece
	whole.Stages = []Stage{{Concurrency: 8}}
	for i := range whole.Requests {
		whole.Requests[i].FirstTokenNS, whole.Requests[i].LastTokenNS = 0, 0
	}
	files, notes = convert(t, "vllm", whole)
	require.Empty(t, notes)
	got = values(t, files["openai-infqps-concurrency8-model-20261123-090000.json"])
	require.Equal(t, "inf", got["request_rate"])
	requireValues(t, got, "", map[string]float64{"max_concurrency": 8, "mean_e2el_ms": 1420. / 3})
	require.NotContains(t, got, "mean_ttft_ms")
}

// Each adapter has a file like the summary, with its own requests, and one of each stage if these are asked for.
func TestAdaptersOfInferencePerf(t *testing.T) {
	l := hand()
	l.Stages = append(l.Stages, Stage{RatePerS: 5})
	l.Requests[2].Stage, l.Requests[3].Stage = 1, 1
	for i, name := range []string{"a", "org/b", "a", ""} {
		l.Requests[i].Adapter, l.Requests[i].RequestBytes = name, 100*(i+1)
	}
	l.Asked.Requests = true
	files, notes := convert(t, "inference-perf", l)
	require.NotContains(t, notes, "request_size_bytes")
	require.NotContains(t, files, "adapter_a_stage_0_lifecycle_metrics.json")
	got := values(t, files["adapter_a_lifecycle_metrics.json"])
	requireValues(t, got, "", map[string]float64{"load_summary/count": 2, "successes/count": 2, "failures/count": 0,
		"successes/request_size_bytes/mean": 200, "successes/request_size_bytes/median": 200,
		"successes/request_size_bytes/max": 300, "successes/prompt_tokens/total": 40})
	requireValues(t, values(t, files["adapter_org%2Fb_lifecycle_metrics.json"]), "", map[string]float64{
		"successes/count": 1, "successes/prompt_tokens/total": 20, "benchmark_time_seconds": 0.21})
	requireValues(t, values(t, files["summary_lifecycle_metrics.json"]), "", map[string]float64{
		"load_summary/count": 4, "successes/request_size_bytes/mean": 200}) // the failed one is not in it
	var entries []struct {
		Info struct {
			LoRA *string `json:"lora_adapter"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(files["per_request_lifecycle_metrics.json"]), &entries))
	require.Equal(t, "org/b", *entries[1].Info.LoRA)
	require.Nil(t, entries[3].Info.LoRA)

	l.Asked.AdapterStages = true
	files, _ = convert(t, "inference-perf", l)
	requireValues(t, values(t, files["adapter_a_stage_1_lifecycle_metrics.json"]), "", map[string]float64{
		"load_summary/count": 1, "load_summary/requested_rate": 5, "successes/prompt_tokens/total": 30})
	require.NotContains(t, files, "adapter_org%2Fb_stage_1_lifecycle_metrics.json")
}

func TestInferencePerf(t *testing.T) {
	files, notes := convert(t, "inference-perf", hand())
	require.NotContains(t, notes, "time of each token")
	require.Contains(t, notes, "the log has no sizes of requests: request_size_bytes is null")
	for _, name := range []string{"summary_lifecycle_metrics.json", "stage_0_lifecycle_metrics.json"} {
		got := values(t, files[name])
		requireValues(t, got, "", map[string]float64{"benchmark_time_seconds": 1, "load_summary/count": 4,
			"load_summary/schedule_delay/mean": 0.0125, "load_summary/schedule_delay/max": 0.05})
		requireValues(t, got, "successes/latency", map[string]float64{
			"request_latency/mean": 1.42 / 3, "request_latency/median": 0.41, "request_latency/p99": 0.7922,
			"request_latency/p0.1": 0.2104, "request_latency/p1": 0.214, "request_latency/p5": 0.23,
			"request_latency/p10": 0.25, "request_latency/p25": 0.31, "request_latency/p75": 0.605,
			"request_latency/p90": 0.722, "request_latency/p95": 0.761,
			"normalized_time_per_output_token/mean": (0.41/4 + 0.21 + 0.8/3) / 3,
			"time_to_first_token/mean":              0.1, "time_to_first_token/max": 0.1, // B is one token
			"time_per_output_token/mean": 0.2, "time_per_output_token/p99.9": 0.2998,
			"inter_token_latency/mean": 0.18, "inter_token_latency/p99": 0.58, // 0.1 three times, 0.6, and 0 in an event
		})
		requireValues(t, got, "successes", map[string]float64{"count": 3, "throughput/input_tokens_per_sec": 60,
			"throughput/output_tokens_per_sec": 8, "throughput/total_tokens_per_sec": 68, "throughput/requests_per_sec": 3,
			"throughput/images_per_sec": 0, "throughput/videos_per_sec": 0, "throughput/audios_per_sec": 0,
			"prompt_len/mean": 20, "prompt_len/max": 30,
			"prompt_tokens/total": 60, "prompt_tokens/median": 20, "output_len/max": 4, "output_tokens/total": 8})
		requireValues(t, got, "failures", map[string]float64{"count": 1, "request_latency/mean": 0.1,
			"prompt_len/mean": 5, "prompt_tokens/total": 5, "by_label/500 - Internal Server Error/count": 1})
		require.Nil(t, got["successes/request_size_bytes"])
	}
	requireValues(t, values(t, files["stage_0_lifecycle_metrics.json"]), "load_summary",
		map[string]float64{"send_duration": 0.3, "requested_rate": 10, "achieved_rate": 4 / 0.3})

	files, notes = convert(t, "inference-perf", withoutTokenTimes())
	require.Contains(t, notes, "the log has no time of each token: inter_token_latency is null")
	got := values(t, files["summary_lifecycle_metrics.json"])
	require.Contains(t, got, "successes/latency/inter_token_latency")
	require.Nil(t, got["successes/latency/inter_token_latency"])
	requireValues(t, got, "successes/latency", map[string]float64{"time_to_first_token/mean": 0.1})

	l := hand()
	l.Requests[1].OutputTokens, l.Requests[1].Tokens = 3, []int{3} // at once
	files, _ = convert(t, "inference-perf", l)
	requireValues(t, values(t, files["summary_lifecycle_metrics.json"]), "successes/latency",
		map[string]float64{"time_per_output_token/mean": 0.4 / 3, "time_to_first_token/max": 0.2,
			"inter_token_latency/mean": 0.9 / 7})
}

// TestReasoningOfInferencePerf: the first two of A's four tokens are reasoning, and so is all of C's answer. Its client
// has neither their times nor their number, and the server counts them.
func TestReasoningOfInferencePerf(t *testing.T) {
	l := hand()
	l.HasVisible = true
	l.Requests[0].VisibleNS = l.Requests[0].TokenNS[2]
	l.Requests[2].VisibleNS = 0
	l.Asked.Requests = true
	l.Limits = []Limit{{"ttft", 250 * time.Millisecond}}
	files, _ := convert(t, "inference-perf", l)
	got := values(t, files["summary_lifecycle_metrics.json"])
	requireValues(t, got, "successes", map[string]float64{"latency/time_to_first_token/mean": 0.3,
		"latency/time_per_output_token/mean": 0.1, "latency/inter_token_latency/mean": 0.1,
		"latency/normalized_time_per_output_token/mean": (0.41/2 + 0.21) / 3, "output_len/mean": 1, "output_tokens/total": 8,
		"throughput/output_tokens_per_sec": 3, "throughput/total_tokens_per_sec": 63, "goodput_metrics/good_requests": 0})
	one := values(t, files["per_request_lifecycle_metrics.json"])
	requireValues(t, one, "0", map[string]float64{"info/response_metrics/output_tokens": 2,
		"computed_metrics/output_tokens": 2, "computed_metrics/inter_token_latencies/0": 0.1})
	require.NotContains(t, one, "0/info/response_metrics/chunk_times/2")
	require.Nil(t, one["2/computed_metrics/time_to_first_token"])

	files, _ = convert(t, "aiperf", l)
	requireValues(t, values(t, files["profile_export_aiperf.json"]), "", map[string]float64{"total_osl/avg": 8,
		"total_output_tokens/avg": 3, "total_reasoning_tokens/avg": 5, "output_token_count/max": 2,
		"reasoning_token_count/max": 3, "time_to_first_output_token/max": 300, "time_to_first_output_token/count": 2})
}

func TestInferencePerfStages(t *testing.T) {
	l := hand()
	l.Stages = []Stage{{RatePerS: 10}, {RatePerS: 20, Concurrency: 4}, {RatePerS: 30}} // nothing was sent in the third
	l.Requests[2].Stage, l.Requests[3].Stage = 1, 1
	files, _ := convert(t, "inference-perf", l)
	require.Len(t, files, 3)
	second := values(t, files["stage_1_lifecycle_metrics.json"])
	requireValues(t, second, "", map[string]float64{"benchmark_time_seconds": 0.8, "load_summary/requested_rate": 20,
		"load_summary/concurrency": 4, "load_summary/count": 2, "successes/count": 1, "failures/count": 1})
}

// TestRepeatedRequests: inference-perf counts repeats, in each stage too. A note names what the other clients would
// have counted.
func TestRepeatedRequests(t *testing.T) {
	l := hand()
	l.Stages = []Stage{{RatePerS: 10}, {RatePerS: 20}}
	l.Requests[1].Stage, l.Requests[0].Retries, l.Requests[3].Retries = 1, 1, 2
	files, notes := convert(t, "inference-perf", l)
	want := map[string]float64{"requests_retried": 2, "attempts": 3, "recovered": 1, "failed_after_retry": 1}
	requireValues(t, values(t, files["summary_lifecycle_metrics.json"]), "retries", want)
	requireValues(t, values(t, files["stage_0_lifecycle_metrics.json"]), "retries", want)
	require.NotContains(t, files["stage_1_lifecycle_metrics.json"], "retries")
	require.Contains(t, notes, "2 repeated requests count in retries;")
	l.Requests[0].Retries = 0
	for _, name := range []string{"vllm", "guidellm", "aiperf"} {
		_, notes = convert(t, name, l)
		require.Contains(t, notes, "1 repeated request counts by the last attempt, from the first sending;")
		_, notes = convert(t, name, hand())
		require.NotContains(t, notes, "repeated")
	}
}

func TestPerfLabel(t *testing.T) {
	for failure, want := range map[string]string{"http_429": "429 - Rate Limit", "http_418": "418 - other",
		"timeout_first_token": "Timeout", "connect": "Connection Error", "truncated": "truncated", "": "cancelled"} {
		require.Equal(t, want, perfLabel(failure))
	}
}

// Of the answers A (100, 100, 400 ms), B (200, none, 200 ms) and C (100, 300, 700 ms), and a failure.
func TestGoodputOfAIPerf(t *testing.T) {
	for _, c := range []struct {
		limits []Limit
		good   float64
	}{
		{[]Limit{{"ttft", 100 * time.Millisecond}}, 2},
		{[]Limit{{"tpot", time.Second}}, 2}, // B has no figure
		{[]Limit{{"e2e", 400 * time.Millisecond}}, 2},
		{[]Limit{{"e2e", 400 * time.Millisecond}, {"ttft", 150 * time.Millisecond}}, 1},
	} {
		l := hand()
		l.Limits = append(c.limits, Limit{"ntpot", 1})
		files, notes := convert(t, "aiperf", l)
		require.Contains(t, notes, "good_request_count ignores the limits of ntpot")
		requireValues(t, values(t, files["profile_export_aiperf.json"]), "", map[string]float64{
			"good_request_count/avg": c.good, "good_request_fraction/avg": c.good / 4, "goodput/avg": c.good / 0.9})
	}
	files, _ := convert(t, "aiperf", hand())
	require.NotContains(t, files["profile_export_aiperf.json"], "good")
}

func TestAIPerf(t *testing.T) {
	files, notes := convert(t, "aiperf", hand())
	require.NotContains(t, notes, "time of each token")
	got := values(t, files["profile_export_aiperf.json"])
	requireValues(t, got, "", map[string]float64{
		"request_latency/avg": 1300. / 3, "request_latency/p99": 694, "request_latency/sum": 1300,
		"request_latency/count": 3, "request_latency/std": 205.480467,
		"time_to_first_token/avg": 400. / 3, "time_to_second_token/avg": 350,
		"inter_token_latency/avg": 200, "inter_token_latency/std": 100, "inter_chunk_latency/p50": 100,
		"inter_chunk_latency/count": 4, "output_token_throughput_per_user/max": 10, "decode_duration/max": 600,
		"output_sequence_length/sum": 8, "input_sequence_length/avg": 20, "request_count/avg": 3,
		"benchmark_duration/avg": 0.9, "request_throughput/avg": 3 / 0.9, "output_token_throughput/avg": 8 / 0.9,
		"total_token_throughput/avg": 68 / 0.9, "request_error_rate/avg": 25, "error_request_count/avg": 1,
		"error_isl/avg": 5, "error_summary/0/count": 1, "error_summary/0/error_details/code": 500,
	})
	require.Equal(t, "ms", got["request_latency/unit"])
	require.NotContains(t, got, "request_throughput/count")
	require.Equal(t, "2026-11-23T09:00:00.000000", got["start_time"])
	require.Equal(t, true, got["is_complete"])
	text := files["profile_export_aiperf.csv"]
	require.Contains(t, text, "Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std\r\n")
	require.Contains(t, text, "Inter Token Latency (ms),200.00,100.00,300.00,400.00,")
	require.Contains(t, text, "\r\n\r\nMetric,Value\r\nBenchmark Duration (sec),0.90\r\n")
	require.Contains(t, text, "Request Count,3\r\n")

	files, notes = convert(t, "aiperf", withoutTokenTimes())
	require.Contains(t, notes, "time_to_second_token and inter_chunk_latency are left out")
	got = values(t, files["profile_export_aiperf.json"])
	require.NotContains(t, got, "time_to_second_token/avg")
	requireValues(t, got, "", map[string]float64{"inter_token_latency/avg": 200})
}

func TestGuideLLM(t *testing.T) {
	for _, l := range []*Log{hand(), withoutTokenTimes()} { // guidellm does not keep the time of each token
		files, _ := convert(t, "guidellm", l)
		got := values(t, files["benchmarks.json"])
		requireValues(t, got, "benchmarks/0", map[string]float64{"duration": 1, "config/strategy/rate": 10,
			"scheduler_metrics/request_targeted_start_delay_avg": 0.0125})
		requireValues(t, got, "benchmarks/0/metrics", map[string]float64{
			"request_totals/successful": 3, "request_totals/errored": 1, "request_totals/incomplete": 0,
			"request_totals/total": 4,
			// the value at which the share is reached, without interpolation
			"request_latency/successful/median": 0.41, "request_latency/successful/percentiles/p99": 0.8,
			"request_latency/successful/mean": 1.42 / 3, "request_latency/errored/mean": 0.1,
			"request_latency/total/count":              4,
			"request_dispatch_delay/successful/max":    0.05,
			"time_to_first_token_ms/successful/median": 100, "time_to_first_token_ms/successful/percentiles/p90": 200,
			// from the sending, including the first token, weighted by tokens
			"time_per_output_token_ms/successful/mean": 162.5, "time_per_output_token_ms/successful/median": 100,
			// weighted by gaps
			"inter_token_latency_ms/successful/mean": 180, "inter_token_latency_ms/successful/count": 5,
			"inter_token_latency_ms/successful/std_dev": 97.979590,
			// over time: each end has the time from half-way to the previous end to half-way to the next
			"requests_per_second/successful/mean": 3, "requests_per_second/successful/max": 1 / 0.205,
			"requests_per_second/successful/count": 3,
			"request_concurrency/successful/mean":  1.42, "request_concurrency/successful/median": 1,
			"request_concurrency/successful/percentiles/p90": 3,
			"prompt_tokens_per_second/successful/mean":       60, "output_tokens_per_second/successful/mean": 8,
			"output_tokens_per_iteration/successful/mean": 8. / 7, "output_tokens_per_iteration/successful/count": 7,
			"iter_tokens_per_iteration/successful/mean": 1.25, "iter_tokens_per_iteration/successful/max": 2,
			"turn_predecessor_delay/total/max": 0, "turn_scheduling_delay/total/max": .05,
			"tokens_per_second/successful/mean": 68, "request_streaming_iterations_count/successful/max": 4,
		})
		require.Equal(t, "poisson", got["benchmarks/0/config/strategy/type_"])
		lines, err := csv.NewReader(strings.NewReader(files["benchmarks.csv"])).ReadAll()
		require.NoError(t, err)
		require.Len(t, lines, 4, "three heads and a benchmark")
		column := func(group, name, unit string) string {
			for i := range lines[0] {
				if lines[0][i] == group && lines[1][i] == name && lines[2][i] == unit {
					return lines[3][i]
				}
			}
			return "none"
		}
		require.Equal(t, "3", column("Request Counts", "Successful", ""))
		require.Equal(t, "100.0", column("Time to First Token", "Successful ms", "Median"))
		require.Equal(t, "[100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 200.0, 200.0, 200.0, 200.0, 200.0]",
			column("Time to First Token", "Successful ms", "Percentiles"))
		require.Equal(t, "none", column("Time per Output Token", "Errored ms", "Mean"), "nothing but zeros")
		require.Equal(t, "2026-11-23 09:00:01", column("Timings", "End Time", ""))
	}
}

// TestCancelled: guidellm counts requests that the client ended as incomplete, neither as answered nor as errors.
func TestCancelled(t *testing.T) {
	l := hand()
	l.Requests[3].Failure, l.Requests[3].Cancelled = "cancelled", true
	l.Requests[1].EndNS = 0 // it was never answered
	files, _ := convert(t, "guidellm", l)
	got := values(t, files["benchmarks.json"])
	requireValues(t, got, "benchmarks/0/metrics/request_totals", map[string]float64{"successful": 2, "incomplete": 2,
		"errored": 0, "total": 4})
	files, _ = convert(t, "aiperf", l)
	got = values(t, files["profile_export_aiperf.json"])
	require.Equal(t, true, got["was_cancelled"])
	requireValues(t, got, "", map[string]float64{"request_count/avg": 2, "request_error_rate/avg": 0})
}

// TestNothingSucceeded: every format writes a file without answers.
func TestNothingSucceeded(t *testing.T) {
	l := hand()
	l.Requests = l.Requests[3:]
	for _, name := range Formats() {
		files, _ := convert(t, name, l)
		for file, text := range files {
			if strings.HasSuffix(file, ".json") {
				require.True(t, json.Valid([]byte(text)), file)
			}
		}
	}
	l.Requests = nil
	_, err := Convert("vllm", l)
	require.ErrorContains(t, err, "no requests")
	_, err = Convert("wrk", l)
	require.ErrorContains(t, err, `unknown format "wrk": use one of [vllm guidellm aiperf inference-perf]`)
}

// TestFileWord: names of servers become parts of file names.
func TestFileWord(t *testing.T) {
	l := hand()
	l.Model, l.Backend = "../..", "a/../b"
	e, err := Convert("vllm", l)
	require.NoError(t, err)
	require.Equal(t, "a_.._b-10.0qps-..-20261123-090000.json", e.Files[0].Name)
}

// TestGuideLLMHasWhatItsLoaderRequires: guidellm 0.8.1 refuses a report without one of these keys.
func TestGuideLLMHasWhatItsLoaderRequires(t *testing.T) {
	for _, c := range []struct {
		stages   []Stage
		strategy string
	}{
		{[]Stage{{RatePerS: 10, Poisson: true}}, `{"type_":"poisson","rate":10}`},
		{[]Stage{{RatePerS: 10, Concurrency: 3}}, `{"type_":"constant","rate":10,"max_concurrency":3}`},
		{[]Stage{{Concurrency: 2}}, `{"type_":"concurrent","max_concurrency":2,"streams":2}`},
		{[]Stage{{}}, `{"type_":"throughput"}`},
		{[]Stage{{RatePerS: 1}, {Concurrency: 2}}, `{"type_":"constant","rate":1}`},
	} {
		l := hand()
		l.Stages = c.stages
		files, _ := convert(t, "guidellm", l)
		var report struct {
			Config struct {
				Spec       map[string]json.RawMessage
				Benchmarks []json.RawMessage
			}
			Benchmarks []map[string]json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(files["benchmarks.json"]), &report))
		for _, key := range []string{"backend", "profile", "data"} {
			require.Contains(t, report.Config.Spec, key)
		}
		if len(c.stages) > 1 {
			require.Len(t, report.Config.Benchmarks, len(c.stages), "with one override each")
		}
		for key, required := range map[string]string{
			"config": "id_ run_id run_index strategy constraints profile requests backend environment",
			"scheduler_state": "start_time end_time created_requests processed_requests successful_requests " +
				"errored_requests cancelled_requests",
			"scheduler_metrics": "start_time request_start_time measure_start_time measure_end_time request_end_time " +
				"end_time requests_made queued_time_avg resolve_start_delay_avg resolve_targeted_start_delay_avg " +
				"request_start_delay_avg request_targeted_start_delay_avg request_time_avg resolve_end_delay_avg " +
				"resolve_time_avg finalized_delay_avg processed_delay_avg",
			"metrics": "request_totals requests_per_second request_concurrency request_latency " +
				"request_streaming_iterations_count prompt_token_count output_token_count total_token_count " +
				"time_to_first_token_ms time_to_last_round_trip_ms avg_round_trip_time_ms time_to_first_output_token_ms " +
				"time_per_output_token_ms inter_token_latency_ms prompt_tokens_per_second output_tokens_per_second " +
				"tokens_per_second output_tokens_per_iteration iter_tokens_per_iteration text image video audio tool_call",
			"requests": "successful errored incomplete",
		} {
			var part map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(report.Benchmarks[0][key], &part), key)
			for _, want := range strings.Fields(required) {
				require.Contains(t, part, want, key)
			}
			if key == "config" {
				require.JSONEq(t, c.strategy, string(part["strategy"]))
			}
		}
		got := values(t, files["benchmarks.json"])
		requireValues(t, got, "benchmarks/0", map[string]float64{"scheduler_state/successful_requests": 3,
			"scheduler_state/errored_requests": 1, "scheduler_state/cancelled_requests": 0,
			"scheduler_state/created_requests": 4, "scheduler_metrics/queued_time_avg": -1,
			"metrics/avg_round_trip_time_ms/total/count": 0})
	}
}
