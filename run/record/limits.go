package record

import (
	"fmt"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// LimitState is a latency limit of a Server test with the percentile that it limits.
type LimitState struct {
	Tail
	Name     string // name of the limit, such as TTFT p99
	P99      time.Duration
	Measured bool
	Own      bool // P99 is this program's, of answered requests, as LoadGen logged none or counts cancelled ones
	Met      bool // P99 is strictly below the limit, as the submission checker requires
}

// limitNames are the short names of limited latencies with LoadGen's keys of their 99th percentiles.
var limitNames = map[string]struct {
	name, key string
	own       func(*Record) *ledger.Stats // for logs without that key
}{
	"time to first token": {"TTFT p99", "result_first_token_99.00_percentile_latency_ns",
		func(r *Record) *ledger.Stats { return r.LatencyS.TTFT }},
	"time per output token": {"TPOT p99", "result_time_per_output_token_99.00_percentile_ns",
		func(r *Record) *ledger.Stats { return r.LatencyS.TPOT }},
	"latency": {"latency p99", "result_99.00_percentile_latency_ns",
		func(r *Record) *ledger.Stats { return r.LatencyS.E2E }},
}

// Limits returns the limits of a Server test, with LoadGen's percentiles or, if its log has none, those of the
// record.
func (r *Record) Limits() []LimitState {
	var list []LimitState
	for _, t := range r.Tails {
		s := LimitState{Tail: t, Name: t.What}
		if known, ok := limitNames[t.What]; ok {
			s.Name = known.name
			ns, logged := number64(r.LoadGen.Result[known.key])
			switch own := known.own(r); {
			case own == nil && r.Samples.Issued > 0: // LoadGen also counts queries that have no answer
			case logged && r.Cancelled() == 0: // LoadGen also counts queries that the interruption cancelled
				s.P99, s.Measured = time.Duration(ns), true
			case own != nil:
				s.P99, s.Measured, s.Own = time.Duration(own.P99*1e9), true, true
			}
			s.Met = s.Measured && s.P99 < s.Limit
		}
		list = append(list, s)
	}
	return list
}

// Word returns ok, over, or that nothing was measured, or that the test is too short for the limit to decide.
func (s *LimitState) Word() string {
	word := "over"
	switch {
	case !s.Measured:
		word = "not measured"
	case s.Met:
		word = "ok"
	}
	if s.Needed > 0 {
		word += fmt.Sprintf("; LoadGen's criterion needs %d queries, the test has %d", s.Needed, s.Queries)
	}
	return word
}

// String returns the state in one line, such as "TTFT p99 313 ms by LoadGen, limit 2000 ms, ok".
func (s *LimitState) String() string {
	if !s.Measured {
		return fmt.Sprintf("%s limit %s, %s", s.Name, inMilliseconds(s.Limit), s.Word())
	}
	by := "LoadGen"
	if s.Own {
		by = "the client"
	}
	p99 := s.P99.Round(time.Microsecond)
	if p99 == s.Limit { // otherwise it would look as if the limit were just met
		p99 = s.P99
	}
	return fmt.Sprintf("%s %s by %s, limit %s, %s", s.Name, inMilliseconds(p99), by, inMilliseconds(s.Limit), s.Word())
}

// inMilliseconds returns four digits, or all from a second on, so that a percentile next to its limit is not rounded
// to it.
func inMilliseconds(d time.Duration) string {
	ms := float64(d) / 1e6
	if ms >= 1000 {
		return strconv.FormatFloat(ms, 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'g', 4, 64) + " ms"
}

// Rate returns the target rate of a Server test, and how many answers per second there were.
func (r *Record) Rate() (target, achieved float64, ok bool) {
	if r.LoadGen.Result["effective_scenario"] != "Server" {
		return 0, 0, false
	}
	target, ok = number64(r.LoadGen.Result["effective_target_qps"])
	return target, r.Throughput.Requests, ok
}
