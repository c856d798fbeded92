package peers

import (
	"bufio"
	"encoding/json"
	"strconv"
	"strings"
)

// aiperfRecords writes profile_export.jsonl: a line per request (aiperf/common/models, MetricRecordInfo), which aiperf
// plot requires.
func aiperfRecords(l *Log) func(*bufio.Writer) error {
	metrics := l.aiperfMetrics()
	return func(w *bufio.Writer) error {
		out := json.NewEncoder(w)
		for i := range l.Requests {
			if err := out.Encode(aiperfRecord(l, metrics, i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// aiperfRecord returns a request with its figures, if it was answered.
func aiperfRecord(l *Log, list []aiperfMetric, i int) object {
	r := &l.Requests[i]
	metrics := object{}
	if r.ok() {
		for _, m := range list {
			if v, has := m.of(r); has {
				metrics.add(m.tag, object{{"value", m.scale * v}, {"unit", m.unit}})
			}
		}
		if list := gapsOf(r, 1e3); len(list) > 0 {
			metrics.add("inter_chunk_latency", object{{"value", list}, {"unit", aiperfMS}})
		}
	}
	failure := any(nil)
	if !r.ok() && !r.incomplete() {
		failure = aiperfError(r.Failure)
	}
	return object{{"metadata", aiperfMetadata(l, i)}, {"metrics", metrics}, {"error", failure}}
}

// aiperfMetadata returns when a request was sent and ended. Everything was done by one worker and in one phase.
func aiperfMetadata(l *Log, i int) object {
	r := &l.Requests[i]
	session, turn := i, 0
	if r.Session > 0 {
		session, turn = r.Session-1, r.Turn
	}
	o := object{{"session_num", session}, {"x_request_id", l.ID + "-" + strconv.Itoa(i)}, {"turn_index", turn},
		{"request_start_ns", r.startNS()}, {"request_end_ns", r.endNS()}, {"worker_id", "mlperf-go"},
		{"record_processor_id", "mlperf-go"}, {"benchmark_phase", "profiling"}, {"was_cancelled", r.incomplete()}}
	if r.DueNS != 0 {
		o.add("credit_issued_ns", r.DueNS)
	}
	if r.incomplete() {
		o.add("cancellation_time_ns", r.endNS())
	}
	return o
}

// gapsOf returns the times between the events of a stream, in s times a scale; none if they were not recorded.
func gapsOf(r *Request, scale float64) []float64 {
	list := []float64{}
	for k := 1; k < len(r.TokenNS); k++ {
		list = append(list, scale*seconds(r.TokenNS[k]-r.TokenNS[k-1]))
	}
	return list
}

// aiperfError returns a cause of failure with its HTTP status, if it has one.
func aiperfError(reason string) object {
	details := object{}
	if status, ok := strings.CutPrefix(reason, "http_"); ok {
		if code, err := strconv.Atoi(status); err == nil {
			details.add("code", code)
		}
	}
	details.add("type", reason)
	details.add("message", reason)
	return details
}
