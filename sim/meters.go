package sim

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Bucket bounds in seconds, docs/reference/wire-protocols.md#metrics.
var (
	ttftBounds = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
		2560}
	itlBounds = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	e2eBounds = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

// finishReasons are the label values of request_success_total.
var finishReasons = [...]string{"stop", "length", "abort", "error", "repetition"}

// meters counts the engine's work. The engine thread writes and any goroutine reads, without a lock.
type meters struct {
	requests, replies                   atomic.Int64
	promptTokens, generatedTokens       atomic.Int64
	running, waiting, kvUsed, inFlight  atomic.Int64
	peakRunning, peakKV                 atomic.Int64
	finished                            [len(finishReasons)]atomic.Int64
	ttft, itl, e2e, queue               histogram
	events, latenessNS, worstLatenessNS atomic.Int64
	createdNS                           int64
}

func newMeters() *meters {
	m := &meters{createdNS: time.Now().UnixNano()}
	m.ttft.init(ttftBounds)
	m.itl.init(itlBounds)
	m.e2e.init(e2eBounds)
	m.queue.init(e2eBounds)
	return m
}

func (m *meters) finish(reason string) {
	for i, r := range finishReasons {
		if r == reason {
			m.finished[i].Add(1)
		}
	}
}

func (m *meters) late(ns int64) {
	m.events.Add(1)
	m.latenessNS.Add(ns)
	raise(&m.worstLatenessNS, ns)
}

// raise updates a maximum that only one thread writes.
func raise(a *atomic.Int64, v int64) {
	if v > a.Load() {
		a.Store(v)
	}
}

// histogram counts durations; the bounds are nanoseconds.
type histogram struct {
	bounds []int64
	labels []string
	counts []atomic.Int64 // one more than bounds
	sumNS  atomic.Int64
}

func (h *histogram) init(seconds []float64) {
	h.counts = make([]atomic.Int64, len(seconds)+1)
	for _, s := range seconds {
		h.bounds = append(h.bounds, int64(s*1e9))
		h.labels = append(h.labels, formatFloat(s))
	}
}

func (h *histogram) observe(ns int64) { h.observeN(ns, 1) }

func (h *histogram) observeN(ns, n int64) {
	i := 0
	for i < len(h.bounds) && ns > h.bounds[i] {
		i++
	}
	h.counts[i].Add(n)
	h.sumNS.Add(ns * n)
}

func formatFloat(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// Stats counts the work of a server so far. PeakRunning and PeakKVTokens are the highest values seen; lateness is the
// time from an event's scheduled time until the engine handled it.
type Stats struct {
	Requests        int64 // accepted completion requests
	Served          int64 // of them, answered to the end
	Aborted         int64 // sequences ended because the client disconnected, or by the fault abort
	GeneratedTokens int64
	PromptTokens    int64 // of sequences that were admitted
	Running         int64
	Waiting         int64
	PeakRunning     int64
	PeakKVTokens    int64
	Events          int64 // streamed
	MeanLateness    time.Duration
	WorstLateness   time.Duration
}

// Stats returns the counters of the server; it may be called at any time.
func (s *Server) Stats() Stats {
	m := s.meters
	st := Stats{
		Requests: m.requests.Load(), Served: m.replies.Load(), Aborted: m.finished[2].Load(),
		GeneratedTokens: m.generatedTokens.Load(), PromptTokens: m.promptTokens.Load(),
		Running: m.running.Load(), Waiting: m.waiting.Load(),
		PeakRunning: m.peakRunning.Load(), PeakKVTokens: m.peakKV.Load(),
		Events: m.events.Load(), WorstLateness: time.Duration(m.worstLatenessNS.Load()),
	}
	if st.Events > 0 {
		st.MeanLateness = time.Duration(m.latenessNS.Load() / st.Events)
	}
	return st
}

// exposition returns vLLM's /metrics: its names, labels and bounds in Prometheus' text format.
func (p *pages) exposition() []byte {
	m := p.meters
	x := p.newExposition(`engine="0",`)
	x.one("gauge", "vllm:num_requests_running", "Sequences that hold a slot.", float64(m.running.Load()))
	x.one("gauge", "vllm:num_requests_waiting", "Sequences that wait for a slot.", float64(m.waiting.Load()))
	x.one("gauge", "vllm:kv_cache_usage_perc", "Share of the KV budget in use, 0 to 1.",
		float64(m.kvUsed.Load())/float64(p.cfg.kvTokens()))
	x.counter("vllm:num_preemptions", "Preemptions; the simulator has none.", []string{""}, 0)
	x.counter("vllm:prompt_tokens", "Prompt tokens of admitted sequences.", []string{""}, m.promptTokens.Load())
	x.counter("vllm:generation_tokens", "Output tokens.", []string{""}, m.generatedTokens.Load())
	labels, values := make([]string, len(finishReasons)), make([]int64, len(finishReasons))
	for i, r := range finishReasons {
		labels[i], values[i] = `finished_reason="`+r+`"`, m.finished[i].Load()
	}
	x.counter("vllm:request_success", "Ended sequences by reason.", labels, values...)
	x.histogram("vllm:time_to_first_token_seconds", "Arrival to first token.", &m.ttft)
	x.histogram("vllm:inter_token_latency_seconds", "Between tokens of one sequence.", &m.itl)
	x.histogram("vllm:e2e_request_latency_seconds", "Arrival to last token.", &m.e2e)
	x.histogram("vllm:request_queue_time_seconds", "Arrival to admission.", &m.queue)
	return x.b
}

// sglangMetrics returns SGLang's /metrics.
func (p *pages) sglangMetrics() []byte {
	m, x := p.meters, p.newExposition(`engine_type="unified",`)
	x.one("gauge", "sglang:num_running_reqs", "Sequences that hold a slot.", float64(m.running.Load()))
	x.one("gauge", "sglang:num_queue_reqs", "Sequences that wait for a slot.", float64(m.waiting.Load()))
	x.one("gauge", "sglang:token_usage", "Share of the KV budget in use, 0 to 1.",
		float64(m.kvUsed.Load())/float64(p.cfg.kvTokens()))
	x.counter("sglang:prompt_tokens", "Prompt tokens of admitted sequences.", []string{""}, m.promptTokens.Load())
	x.counter("sglang:generation_tokens", "Output tokens.", []string{""}, m.generatedTokens.Load())
	x.histogram("sglang:time_to_first_token_seconds", "Arrival to first token.", &m.ttft)
	x.histogram("sglang:inter_token_latency_seconds", "Between tokens of one sequence.", &m.itl)
	x.histogram("sglang:e2e_request_latency_seconds", "Arrival to last token.", &m.e2e)
	x.histogram("sglang:queue_time_seconds", "Arrival to admission.", &m.queue)
	return x.b
}

// llamaMetrics returns llama.cpp's /metrics, whose values have no labels.
func (p *pages) llamaMetrics() []byte {
	m := p.meters
	x := &exposition{bare: true}
	x.one("gauge", "llamacpp:requests_processing", "Sequences that hold a slot.", float64(m.running.Load()))
	x.one("gauge", "llamacpp:requests_deferred", "Sequences that wait for a slot.", float64(m.waiting.Load()))
	x.one("counter", "llamacpp:prompt_tokens_total", "Prompt tokens of admitted sequences.",
		float64(m.promptTokens.Load()))
	x.one("counter", "llamacpp:tokens_predicted_total", "Output tokens.", float64(m.generatedTokens.Load()))
	return x.b
}

// newExposition returns an empty exposition whose values have the given labels and the model's.
func (p *pages) newExposition(labels string) *exposition {
	return &exposition{labels: labels + `model_name="` + escapeLabel(p.cfg.Model) + `"`,
		created: formatFloat(float64(p.meters.createdNS) / 1e9)}
}

type exposition struct {
	bare            bool // values without labels
	b               []byte
	labels, created string
}

func (x *exposition) head(kind, name, help string) {
	x.b = append(x.b, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

func (x *exposition) line(name, labels, value string) {
	if x.bare {
		x.b = append(x.b, name+" "+value+"\n"...)
		return
	}
	if labels != "" {
		labels = "," + labels
	}
	x.b = append(x.b, name+"{"+x.labels+labels+"} "+value+"\n"...)
}

func (x *exposition) one(kind, name, help string, v float64) {
	x.head(kind, name, help)
	x.line(name, "", formatFloat(v))
}

// counter writes name_total and name_created, as Python's client does.
func (x *exposition) counter(name, help string, labels []string, values ...int64) {
	x.head("counter", name+"_total", help)
	for i, l := range labels {
		x.line(name+"_total", l, formatFloat(float64(values[i])))
	}
	x.head("gauge", name+"_created", help)
	for _, l := range labels {
		x.line(name+"_created", l, x.created)
	}
}

func (x *exposition) histogram(name, help string, h *histogram) {
	x.head("histogram", name, help)
	total := int64(0)
	for i, l := range h.labels {
		total += h.counts[i].Load()
		x.line(name+"_bucket", `le="`+l+`"`, formatFloat(float64(total)))
	}
	total += h.counts[len(h.bounds)].Load()
	x.line(name+"_bucket", `le="+Inf"`, formatFloat(float64(total)))
	x.line(name+"_count", "", formatFloat(float64(total)))
	x.line(name+"_sum", "", formatFloat(float64(h.sumNS.Load())/1e9))
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace
