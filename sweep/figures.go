package sweep

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
)

// Limits are the latency limits that a good query meets; 0: none.
type Limits struct {
	TTFT   time.Duration `json:"ttft_ns,omitempty"`
	TPOT   time.Duration `json:"tpot_ns,omitempty"`
	Answer time.Duration `json:"answer_ns,omitempty"` // of the whole answer
}

// Any reports whether there is a limit.
func (l Limits) Any() bool { return l != Limits{} }

// met reports whether a query met every limit. A query without the limited time did not.
func (l Limits) met(t ledger.Times) bool {
	for _, one := range []struct {
		limit time.Duration
		s     float64
	}{{l.TTFT, t.TTFT}, {l.TPOT, t.TPOT}, {l.Answer, t.E2E}} {
		if one.limit > 0 && !(one.s <= one.limit.Seconds()) {
			return false
		}
	}
	return true
}

// Window is the counted part of a point, in ns of the wall clock.
type Window struct{ FromNS, ToNS int64 }

// Seconds returns the length of the window.
func (w Window) Seconds() float64 { return time.Duration(w.ToNS - w.FromNS).Seconds() }

// Figures are the results of a point. Latencies are those of the queries that were due in the window; rates count
// the server's work in the window.
type Figures struct {
	WindowS  float64 `json:"window_s"`
	Queries  int     `json:"queries"`          // due in the window
	InFlight float64 `json:"queries_inflight"` // on average

	RequestsPerS     float64 `json:"requests_per_s"` // answers that ended in the window
	OutputTokensPerS float64 `json:"output_tokens_per_s"`
	PerAccelerator   float64 `json:"output_tokens_per_s_per_accelerator"` // of the system if their number is unknown
	PerUser          float64 `json:"output_tokens_per_s_per_user"`        // 1 / median TPOT; 0: not measured

	TTFT *ledger.Stats `json:"ttft_s"`
	TPOT *ledger.Stats `json:"tpot_s"`
	E2E  *ledger.Stats `json:"e2e_s"`

	Met          *float64 `json:"met_share"`      // share of the queries that met every limit; null: there are no limits
	GoodputPerS  *float64 `json:"goodput_per_s"`  // queries of the window that met every limit
	DispatchLagS float64  `json:"dispatch_lag_s"` // 99th percentile of scheduled to sent: the client's own delay
}

// Measure computes the figures of a point.
func Measure(data *ledger.Test, w Window, limits Limits, accelerators int) Figures {
	f := Figures{WindowS: w.Seconds()}
	if f.WindowS <= 0 {
		return f
	}
	counted := make([]ledger.Entry, 0, len(data.Entries))
	met, ended, tokens, busy := 0, 0, 0.0, 0.0
	for i := range data.Entries {
		e := &data.Entries[i]
		due := ledger.ScheduledNS(e, data.Schedule, data.T0NS, data.Origin)
		if due >= w.FromNS && due < w.ToNS {
			counted = append(counted, *e)
			if e.Succeeded() && limits.met(limited(e, due)) {
				met++
			}
		}
		if e.DoneNS >= w.FromNS && e.DoneNS < w.ToNS && e.Succeeded() {
			ended++
		}
		tokens += w.Tokens(e)
		busy += w.overlap(due, e.DoneNS)
	}
	m := ledger.Compute(counted, data.Schedule, data.T0NS, ledger.Options{Origin: data.Origin})
	f.Queries, f.InFlight = len(counted), busy/f.WindowS
	f.RequestsPerS, f.OutputTokensPerS = float64(ended)/f.WindowS, tokens/f.WindowS
	f.PerAccelerator = f.OutputTokensPerS / float64(max(accelerators, 1))
	f.TTFT, f.TPOT, f.E2E = m.TTFT, m.TPOT, m.E2E
	if m.TPOT != nil && m.TPOT.P50 > 0 {
		f.PerUser = 1 / m.TPOT.P50
	}
	if m.DispatchLag != nil {
		f.DispatchLagS = m.DispatchLag.P99
	}
	if limits.Any() && len(counted) > 0 {
		share, rate := float64(met)/float64(len(counted)), float64(met)/f.WindowS
		f.Met, f.GoodputPerS = &share, &rate
	}
	return f
}

// limited returns the latencies that limits apply to. An answer of one token has no time per token, and meets every
// limit.
func limited(e *ledger.Entry, due int64) ledger.Times {
	t := ledger.TimesOf(e, due)
	if math.IsNaN(t.TPOT) && e.OutputTokens == 1 {
		t.TPOT = 0
	}
	return t
}

// Tokens returns how many output tokens of an answer the server sent in the window. They are assumed to be spread
// evenly between the first and the last token.
func (w Window) Tokens(e *ledger.Entry) float64 {
	if !e.Succeeded() {
		return 0
	}
	first, last := e.FirstTokenNS, e.LastTokenNS
	if last == 0 {
		last = e.DoneNS
	}
	if first == 0 || first >= last {
		if last >= w.FromNS && last < w.ToNS {
			return float64(e.OutputTokens)
		}
		return 0
	}
	return float64(e.OutputTokens) * w.overlap(first, last) / time.Duration(last-first).Seconds()
}

// overlap returns how many seconds of a span are in the window.
func (w Window) overlap(fromNS, toNS int64) float64 {
	return max(0, time.Duration(min(toNS, w.ToNS)-max(fromNS, w.FromNS)).Seconds())
}
