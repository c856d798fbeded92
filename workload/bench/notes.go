package bench

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf-go/workload/measure"
	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// longWait is the wait for a limit of requests in flight from which a note reports it: below, it may be a coincidence.
const longWait = 10 * time.Millisecond

// loadNotes returns a sentence for each way in which the load differed from that of the profile through no fault of the
// client: requests that waited for a limit of requests in flight, and answers that ended before their length.
func loadNotes(m *measure.Measured, p *profile.Profile) (notes []string) {
	for i := range m.Stages {
		part := &m.Stages[i]
		if part.Number >= len(p.Load.Stages) {
			continue
		}
		s := &p.Load.Stages[part.Number]
		limit := p.Load.InFlight
		if s.Concurrency > 0 && (limit == 0 || s.Concurrency < limit) {
			limit = s.Concurrency
		}
		all, own := part.Latency["schedule_delay"], part.Latency["client_delay"]
		if s.Rate == 0 || limit == 0 || s.Arrival == profile.Closed || s.Arrival == profile.Sessions || all == nil ||
			own == nil {
			continue
		}
		if wait := all.Percentile["p99"] - own.Percentile["p99"]; wait > longWait.Seconds() {
			notes = append(notes, fmt.Sprintf("stage %d: requests waited for the limit of %d in flight, %.3g s at the 99th "+
				"percentile: %.4g of %.4g requests/s were sent", part.Number, limit, wait, part.Throughput.SendRate, s.Rate))
		}
	}
	if n := m.Total.Tokens.ShortIn; n > 0 {
		notes = append(notes, fmt.Sprintf("for %d of %d requests the server counts less than 90 %% of the prompt's tokens: "+
			"it cuts prompts, or uses another tokenizer", n, m.Total.Requests.OK))
	}
	if n := m.Total.Tokens.ShortOut; n > 0 && p.API.IgnoreEOS {
		notes = append(notes, fmt.Sprintf("%d of %d answers are shorter than the profile asks for, although it sets "+
			"ignore_eos: the server does not support it", n,
			m.Total.Requests.OK))
	}
	return notes
}
