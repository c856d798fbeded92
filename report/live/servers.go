package live

import (
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf-go/metrics/series"
	"github.com/mlperf-go/mlperf-go/report"
	"github.com/mlperf-go/mlperf-go/run"
)

// The value of a page is kept until the next reading, for at most this many intervals or this time, whichever is
// longer.
const (
	heldIntervals = 2.5
	heldLeast     = 3 * time.Second
)

// mostPages bounds the pages that are followed: other processes may send their numbers.
const mostPages = 4096

// servers converts the readings of metrics pages to one value a second.
type servers struct {
	numbers []int // of the pages in run.ServerSignals, ascending
	pages   map[int]*pageState
	signals []string // keys that have had a value, in the order of series.Signals
}

// pageState is the state of a page.
type pageState struct {
	name    string
	coming  []run.ServerSignals // readings after now
	now     run.ServerSignals
	between time.Duration // time between the last two readings
}

func (s *servers) add(readings []run.ServerSignals) {
	for _, r := range readings {
		p := s.pages[r.Number]
		if p == nil && len(s.pages) >= mostPages {
			continue
		}
		if p == nil {
			if s.pages == nil {
				s.pages = map[int]*pageState{}
			}
			p = &pageState{name: r.Page}
			s.pages[r.Number] = p
			s.numbers = append(s.numbers, r.Number)
			slices.Sort(s.numbers)
		}
		p.coming = append(p.coming, r)
		for i := range series.Signals {
			if _, has := r.Values[series.Signals[i].Key]; has && !slices.Contains(s.signals, series.Signals[i].Key) {
				s.signals = append(s.signals, series.Signals[i].Key)
			}
		}
	}
}

// names returns the names of the pages.
func (s *servers) names() (list []string) {
	for _, n := range s.numbers {
		list = append(list, s.pages[n].name)
	}
	return list
}

// fill adds the values of each signal in the second that ends at a time.
func (s *servers) fill(values map[string][]number, end time.Time) {
	for _, n := range s.numbers {
		s.pages[n].move(end)
	}
	for i := range series.Signals {
		g := &series.Signals[i]
		if !slices.Contains(s.signals, g.Key) {
			continue
		}
		var list []number
		var present []float64
		for _, n := range s.numbers {
			_, scale := report.SignalUnit(g)
			v := s.pages[n].value(g.Key, end) * scale
			if list = append(list, number(v)); !math.IsNaN(v) {
				present = append(present, v)
			}
		}
		if len(list) > report.MostPages {
			list = []number{number(g.Join(present))}
		}
		values[report.SignalFigure(g.Key)] = list
	}
}

// move advances to the last reading before a time.
func (p *pageState) move(end time.Time) {
	for len(p.coming) > 0 && !p.coming[0].At.After(end) {
		if !p.now.At.IsZero() {
			p.between = p.coming[0].At.Sub(p.now.At)
		}
		p.now, p.coming = p.coming[0], p.coming[1:]
	}
}

func (p *pageState) value(key string, end time.Time) float64 {
	v, has := p.now.Values[key]
	if !has || end.Sub(p.now.At) > max(heldLeast, time.Duration(heldIntervals*float64(p.between))) {
		return math.NaN()
	}
	return v
}
