package shard

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/ledger"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run"
)

// Page shows the progress of all shards as that of one test. Set the exported fields before Show.
type Page struct {
	Server   *live.Server
	Requests int64         // of the whole load; 0: unknown
	Expected time.Duration // of the whole load; 0: unknown

	rate       *ledger.Rate
	ttft, tpot ledger.Histogram // ns
}

// Show adds a sum of a coordinator. One call at a time.
func (p *Page) Show(sum Progress) {
	if sum.Elapsed == 0 {
		return // before the start
	}
	if s := sum.Second; s != nil {
		for i := range s.Failures {
			s.Failures[i].Detail = fmt.Sprintf("shard %d: %s", sum.Shard, s.Failures[i].Detail)
		}
		merge(&p.ttft, s.TTFT)
		merge(&p.tpot, s.TPOT)
	}
	p.Server.Counted(p.progress(time.Now(), sum), sum.Second, sum.Counted)
}

// progress returns what the page shows of a sum at a time.
func (p *Page) progress(now time.Time, sum Progress) run.Progress {
	if p.rate == nil {
		p.rate = ledger.NewRate(now.Add(-sum.Elapsed))
	}
	return run.Progress{Elapsed: sum.Elapsed, Total: p.Requests, Issued: sum.Sent,
		Done: sum.Ended - sum.Cancelled, Failed: sum.Failed, Cancelled: sum.Cancelled,
		InFlight: max(sum.Sent-sum.Ended, 0), RatePerS: p.rate.PerSecond(now, sum.Ended-sum.Cancelled),
		TTFTp99: time.Duration(p.ttft.Quantile(.99)), TPOTp99: time.Duration(p.tpot.Quantile(.99)),
		Left: max(p.Expected-sum.Elapsed, 0)}
}

// merge adds counts, which stay as they are.
func merge(to *ledger.Histogram, counts *ledger.Batch) {
	if counts == nil {
		return
	}
	copied := *counts
	copied.MoveTo(to)
}
