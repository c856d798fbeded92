package live

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run"
)

// mostExact is the largest number of values in a second whose percentiles are exact. Above it, percentiles have the 0.8
// % error of a ledger.Histogram: sorting 180,000 requests took 3 % of a core.
const mostExact = 1000

// second collects the requests that ended in one second.
type second struct {
	ttft, tpot, e2e, dispatch, report durations
	answered, failed, tokens          float64

	// Of a Counter.
	failures []run.Failure
	servers  []run.ServerSignals
}

// add adds a request whose latencies count from due. The client's lag counts from the issue.
func (s *second) add(e *ledger.Entry, due int64) {
	t := ledger.TimesOf(e, due)
	s.ttft.add(t.TTFT)
	s.tpot.add(t.TPOT)
	s.e2e.add(t.E2E)
	s.dispatch.add(t.DispatchLag - t.IssueLag)
	s.report.add(t.ReportLag)
	if e.Succeeded() {
		s.answered++
		s.tokens += float64(e.OutputTokens)
	} else {
		s.failed++
	}
}

// durations are values of one kind in s.
type durations struct {
	few  []float64
	many *ledger.Batch // ns; nil up to mostExact values
}

// add adds a value, and ignores NaN.
func (d *durations) add(v float64) {
	switch {
	case math.IsNaN(v):
	case d.many != nil:
		d.many.Record(nanoseconds(v))
	case len(d.few) < mostExact:
		d.few = append(d.few, v)
	default:
		d.batch().Record(nanoseconds(v))
	}
}

// batch returns the values in buckets, and puts later values there too.
func (d *durations) batch() *ledger.Batch {
	if d.many == nil {
		d.many = new(ledger.Batch)
		for _, v := range d.few {
			d.many.Record(nanoseconds(v))
		}
		d.few = nil
	}
	return d.many
}

func nanoseconds(s float64) int64 { return int64(s*1e9 + 0.5) }

// percentiles returns percentiles in units of 1/scale seconds; NaN without values.
func (d *durations) percentiles(scale float64, shares ...float64) []number {
	list := make([]number, len(shares))
	if d.many == nil {
		slices.Sort(d.few)
		for i, p := range shares {
			list[i] = number(scale * report.Percentile(d.few, p))
		}
		return list
	}
	h := new(ledger.Histogram)
	d.many.MoveTo(h)
	for i, p := range shares {
		list[i] = number(scale * float64(h.Quantile(p)) / 1e9)
	}
	return list
}
