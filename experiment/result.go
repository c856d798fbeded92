package experiment

import (
	"fmt"
	"math"
	"strings"
)

// Interval is a mean with its confidence interval of 95 %.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// student are the 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook
// of Statistical Methods, 1.3.6.7.2). For more degrees the last value is used, which is slightly too large.
var student = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
	2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}

// interval returns the mean of values with its interval; nil without values. The interval of one value is the value.
func interval(values []float64) *Interval {
	n := float64(len(values))
	if n == 0 {
		return nil
	}
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	half := 0.0
	if n > 1 {
		half = student[min(len(values)-1, len(student))-1] * math.Sqrt(squares/(n-1)/n)
	}
	return &Interval{mean, mean - half, mean + half}
}

// Outcome is one arrangement over all its trials.
type Outcome struct {
	Arrangement
	Name             string    `json:"name"`
	Trials           int       `json:"trials"`
	Spoiled          string    `json:"spoiled"` // why no trial counts; empty: one does
	SamplesPerS      *Interval `json:"samples_per_s"`
	OutputTokensPerS *Interval `json:"output_tokens_per_s"`
	TailS            *Interval `json:"idle_tail_s"` // of all replicas together: their mean
	KVCacheMax       *Interval `json:"kv_cache_max"`
	Preemptions      *Interval `json:"preemptions"`
	// samples/s against the first arrangement, round by round: 0.05 is 5 % more
	VersusFirst *Interval `json:"versus_first"`
}

// Result is how an experiment ended.
type Result struct {
	Outcomes []Outcome `json:"outcomes"` // by arrangement
	Best     int       `json:"best"`     // index; -1: nothing was measured
	Advice   string    `json:"advice"`   // one sentence
}

// finish computes the result.
func (s *State) finish() {
	r := &Result{Best: -1}
	for a := range s.Arrangements {
		r.Outcomes = append(r.Outcomes, s.outcome(a))
	}
	for a := range r.Outcomes {
		if r.Outcomes[a].Trials > 0 && (r.Best < 0 ||
			r.Outcomes[a].SamplesPerS.Mean > r.Outcomes[r.Best].SamplesPerS.Mean) {
			r.Best = a
		}
	}
	s.Result = r
	r.Advice = s.advice()
}

// of returns a figure of an arrangement's trials that count and have the figure.
func (s *State) of(arrangement int, figure func(*Trial) *float64) (values []float64) {
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Arrangement == arrangement && t.counts() {
			if v := figure(t); v != nil {
				values = append(values, *v)
			}
		}
	}
	return values
}

func (s *State) outcome(a int) Outcome {
	rate := s.of(a, func(t *Trial) *float64 { return &t.SamplesPerS })
	o := Outcome{Arrangement: s.Arrangements[a], Name: s.Arrangements[a].Name(), Trials: len(rate),
		SamplesPerS:      interval(rate),
		OutputTokensPerS: interval(s.of(a, func(t *Trial) *float64 { return &t.OutputTokensPerS })),
		TailS:            interval(s.of(a, func(t *Trial) *float64 { return s.tailOf(t) })),
		KVCacheMax:       interval(s.of(a, func(t *Trial) *float64 { return t.KVCacheMax })),
		Preemptions:      interval(s.of(a, func(t *Trial) *float64 { return t.Preemptions })),
		VersusFirst:      s.versus(a, 0)}
	for i := range s.Trials {
		if t := &s.Trials[i]; t.Arrangement == a && !t.counts() && o.Trials == 0 {
			o.Spoiled = t.Spoiled[0].Text
		}
	}
	return o
}

// tailOf returns the idle tail of a trial: of one server by its rate, of replicas their mean.
func (s *State) tailOf(t *Trial) *float64 {
	if s.Experiment != Partition {
		return &t.TailS
	}
	mean := 0.0
	for _, r := range t.Replicas {
		mean += r.IdleTailS / float64(len(t.Replicas))
	}
	return &mean
}

// versus returns by which share an arrangement had more samples/s than another, over the rounds that contain both.
// These were measured one after the other, so a drift of the server hardly changes their ratio.
func (s *State) versus(a, b int) *Interval {
	rates := map[int][2]float64{}
	for i := range s.Trials {
		t := &s.Trials[i]
		if !t.counts() {
			continue
		}
		pair := rates[t.Round]
		if t.Arrangement == a {
			pair[0] = t.SamplesPerS
		}
		if t.Arrangement == b {
			pair[1] = t.SamplesPerS
		}
		rates[t.Round] = pair
	}
	var ratios []float64
	for round := range s.Repeats {
		if pair := rates[round]; pair[0] > 0 && pair[1] > 0 {
			ratios = append(ratios, pair[0]/pair[1]-1)
		}
	}
	return interval(ratios)
}

// advice returns one sentence: the fastest arrangement, or the simplest if the fastest is not measurably faster. The
// arrangements are listed with the simplest first.
func (s *State) advice() string {
	r := s.Result
	if r.Best < 0 {
		return "No arrangement could be measured."
	}
	best := &r.Outcomes[r.Best]
	pick := r.Best
	for a := range r.Best {
		if d := s.versus(r.Best, a); d != nil && (d.Low <= 0 || best.Trials < 2) {
			pick = a
			break
		}
	}
	chosen := &r.Outcomes[pick]
	if best.Trials < 2 {
		return fmt.Sprintf("One pass is not enough: repeat it (the fastest was %s, with %s samples/s).", best.Name,
			short(best.SamplesPerS.Mean))
	}
	if pick == r.Best && pick == 0 {
		return fmt.Sprintf("Send %s: no other arrangement was faster%s.", chosen.phrase(), s.second())
	}
	if pick != r.Best {
		d := s.versus(r.Best, pick)
		return fmt.Sprintf("Send %s: the fastest, %s, is not measurably faster (%s samples/s).", chosen.phrase(), best.Name,
			d.percent())
	}
	text := fmt.Sprintf("Send %s: %s samples/s against %s", chosen.phrase(), chosen.VersusFirst.percent(),
		r.Outcomes[0].Name)
	if chosen.VersusFirst == nil {
		text = fmt.Sprintf("Send %s: %s could not be measured", chosen.phrase(), r.Outcomes[0].Name)
	}
	if p := r.Outcomes[0].Preemptions; p != nil && p.Mean >= 1 {
		text += fmt.Sprintf(", with which the server preempted %s requests in each pass", short(p.Mean))
	}
	return text + "."
}

// second returns the distance to the second best arrangement.
func (s *State) second() string {
	next := -1
	for a := range s.Result.Outcomes {
		if o := &s.Result.Outcomes[a]; a != s.Result.Best && o.Trials > 0 && (next < 0 ||
			o.SamplesPerS.Mean > s.Result.Outcomes[next].SamplesPerS.Mean) {
			next = a
		}
	}
	if next < 0 {
		return ""
	}
	return fmt.Sprintf(" (the next, %s: %s samples/s)", s.Result.Outcomes[next].Name,
		s.versus(next, s.Result.Best).percent())
}

// phrase returns the words of an arrangement after "Send".
func (o *Outcome) phrase() string {
	switch o.How {
	case AllAtOnce:
		return "all samples at once"
	case Sorted:
		return "all samples at once, the longest first"
	case Window:
		return fmt.Sprintf("samples with %d in flight", o.Size)
	case Batch:
		return fmt.Sprintf("batches of %d", o.Size)
	case Stealing:
		return "samples to whichever replica has room (work stealing)"
	case LongestFirst:
		return "the longest samples first, each to the replica with the least work"
	case Strided:
		return "samples to the replicas in turn"
	}
	return "each replica one contiguous piece"
}

// percent returns a share with its interval, such as "+12.3 % (95 %: +10.1 to +14.5 %)".
func (i *Interval) percent() string {
	if i == nil {
		return "not comparable"
	}
	return strings.ReplaceAll(fmt.Sprintf("%+.1f %% (95 %%: %+.1f to %+.1f %%)", percents*i.Mean, percents*i.Low,
		percents*i.High), "-0.0", "+0.0")
}

const percents = 100
