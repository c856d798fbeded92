package series

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf-go/metrics/exposition"
)

// Latest derives the signals of one target while its scrapes come. It keeps two scrapes of the series that signals
// need, and has one owner.
type Latest struct {
	set  Set
	from []int // kept series: index into the target's
	seen int   // of the target's series
	at   time.Time
}

// Add adds a successful scrape: values[i] belongs to known[i], which only grows from call to call. It returns the
// value of each signal that the target has, by its key. A rate has no value before the second scrape.
func (l *Latest) Add(at time.Time, known []exposition.Series, values []float64) map[string]float64 {
	if l.seen == 0 && l.at.IsZero() {
		l.set.Scrapes, l.at = []Scrapes{{}}, at
	}
	for ; l.seen < len(known); l.seen++ {
		s := &Series{Series: known[l.seen]}
		if !IsSignal(s) {
			continue
		}
		for range l.set.Scrapes[0].TimesS {
			s.Values = append(s.Values, math.NaN())
		}
		l.set.Series, l.from = append(l.set.Series, s), append(l.from, l.seen)
	}
	times := &l.set.Scrapes[0].TimesS
	*times = lastTwo(append(*times, at.Sub(l.at).Seconds()))
	for i, s := range l.set.Series {
		v := math.NaN()
		if l.from[i] < len(values) {
			v = values[l.from[i]]
		}
		s.Values = lastTwo(append(s.Values, v))
	}
	signals := map[string]float64{}
	for i := range Signals {
		line := Signals[i].Of(&l.set, 0)
		if n := len(line.Values); n > 0 && !math.IsNaN(line.Values[n-1]) {
			signals[Signals[i].Key] = line.Values[n-1]
		}
	}
	return signals
}

// lastTwo keeps the last two values, in place.
func lastTwo(list []float64) []float64 {
	n := copy(list, list[max(len(list)-2, 0):])
	return list[:n]
}
