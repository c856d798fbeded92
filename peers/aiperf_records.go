package peers

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// mostAIPerfRecords is how many requests a log may have to get a file of records: about 100 MB. Rates over time, which
// aiperf computes from the records, would be wrong if a part were left out.
const mostAIPerfRecords = 100_000

// aiperfRecords returns profile_export.jsonl: a line per request (aiperf/common/models, MetricRecordInfo), which aiperf
// plot requires; nil: there are too many.
func aiperfRecords(l *Log, e *Export) ([]byte, error) {
	if len(l.Requests) > mostAIPerfRecords {
		e.note("profile_export.jsonl is left out: the log has %d requests, more than %d", len(l.Requests),
			mostAIPerfRecords)
		return nil, nil
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	for i := range l.Requests {
		r := &l.Requests[i]
		metrics := object{}
		if r.ok() {
			for _, m := range aiperfMetrics {
				if v, has := m.of(r); has {
					metrics.add(m.tag, object{{"value", m.scale * v}, {"unit", m.unit}})
				}
			}
			if list := gapsOf(r); len(list) > 0 {
				metrics.add("inter_chunk_latency", object{{"value", list}, {"unit", aiperfMS}})
			}
		}
		failure := any(nil)
		if !r.ok() && !r.incomplete() {
			failure = aiperfError(r.Failure)
		}
		line := object{{"metadata", aiperfMetadata(l, i)}, {"metrics", metrics}, {"error", failure}}
		if err := out.Encode(line); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// aiperfMetadata returns when a request was sent and ended. Everything was done by one worker and in one phase.
func aiperfMetadata(l *Log, i int) object {
	r := &l.Requests[i]
	o := object{{"session_num", i}, {"x_request_id", l.ID + "-" + strconv.Itoa(i)}, {"turn_index", 0},
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

// gapsOf returns the times in ms between the events of a stream; none if they were not recorded.
func gapsOf(r *Request) []float64 {
	var list []float64
	for k := 1; k < len(r.TokenNS); k++ {
		list = append(list, 1e3*seconds(r.TokenNS[k]-r.TokenNS[k-1]))
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
