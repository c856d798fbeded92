package measure

import (
	"cmp"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf-go/workload/eventlog"
)

// Series are the requests that the total of a run counts, in the order in which they were sent.
type Series struct {
	Seq     []int // numbers of the requests in the log
	EndNS   []int64
	OK      []bool
	Tokens  []float64            // of successful answers; 0 of others
	Latency map[string][]float64 // by metric, in seconds; NaN: the request has none. Metrics of gaps are missing
	StartNS int64                // first sending
}

// ReadSeries reads the requests of an event log by a definition.
func ReadSeries(path string, o Options) (*Series, error) {
	read := readerOf(path)
	d, err := Define(o.Definition)
	if err != nil {
		return nil, err
	}
	w, err := (&Measured{}).windows(read, &o)
	if err != nil {
		return nil, err
	}
	type one struct {
		seq       int
		sent, end int64
		ok        bool
		tokens    float64
		latency   []float64
	}
	var all []one
	_, err = read(func(_ *eventlog.Header, r *eventlog.Request) error {
		if !w.counts(r) {
			return nil
		}
		q := one{seq: r.Seq, sent: sent(r), end: r.EndNS, ok: r.OK(), latency: make([]float64, len(d.Metrics))}
		if q.ok {
			q.tokens = float64(r.OutputTokens)
		}
		for i, m := range d.Metrics {
			q.latency[i] = math.NaN()
			if m.of == nil || !q.ok || !r.Ordinary() {
				continue
			}
			if s, _, has := m.of(r); has {
				q.latency[i] = s
			}
		}
		all = append(all, q)
		return nil
	})
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.seq, b.seq)) })
	s := &Series{Latency: map[string][]float64{}}
	for i, q := range all {
		if i == 0 {
			s.StartNS = q.sent
		}
		s.Seq, s.EndNS, s.OK, s.Tokens = append(s.Seq, q.seq), append(s.EndNS, q.end), append(s.OK, q.ok),
			append(s.Tokens, q.tokens)
		for k, m := range d.Metrics {
			if m.of != nil {
				s.Latency[m.Name] = append(s.Latency[m.Name], q.latency[k])
			}
		}
	}
	return s, err
}
