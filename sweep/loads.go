package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is what a sweep varies.
type Kind string

// The kinds of loads.
const (
	Rate        Kind = "rate"        // queries per second, at random times as in LoadGen's Server: an open loop
	Concurrency Kind = "concurrency" // queries in flight; when one ends, the next is sent: a closed loop
)

// Auto is the text of a list for which the sweep chooses the loads itself.
const Auto = "auto"

// Loads are the loads to measure: values in ascending order, or from the idle server until it is saturated.
type Loads struct {
	Kind   Kind
	Auto   bool
	Values []float64 // none with Auto
}

// Bounds of a list.
const (
	MaxPoints      = 1000
	MaxRate        = 1e5 // queries per second
	MaxConcurrency = 1 << 14
)

// Parse reads a list of loads: numbers and ranges that commas separate, such as 1,2,5:50:5, or the word auto. A range
// is FROM:TO:STEP or FROM:TO:xFACTOR, and contains TO only if a step ends there. Duplicates count once.
func Parse(kind Kind, text string) (Loads, error) {
	l := Loads{Kind: kind}
	if strings.TrimSpace(text) == Auto {
		l.Auto = true
		return l, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		values, err := parseRange(kind, strings.TrimSpace(part))
		if err != nil {
			return Loads{}, err
		}
		if l.Values = merge(l.Values, values); len(l.Values) > MaxPoints {
			return Loads{}, fmt.Errorf("%q has more than %d points", text, MaxPoints)
		}
	}
	return l, nil
}

// parseRange reads one number or one range.
func parseRange(kind Kind, text string) ([]float64, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 1 && len(parts) != 3 {
		return nil, fmt.Errorf("%q is neither a number nor a range FROM:TO:STEP or FROM:TO:xFACTOR", text)
	}
	from, err := number(kind, parts[0])
	if err != nil || len(parts) == 1 {
		return []float64{from}, err
	}
	to, err := number(kind, parts[1])
	if err != nil {
		return nil, err
	}
	if to < from {
		return nil, fmt.Errorf("the range %q is empty: %v is above %v", text, from, to)
	}
	factor, multiplies := strings.CutPrefix(parts[2], "x")
	step, err := strconv.ParseFloat(factor, 64)
	switch {
	case err != nil || math.IsInf(step, 0):
		return nil, fmt.Errorf("%q in the range %q is neither a step such as 5 nor a factor such as x2", parts[2], text)
	case multiplies && !(step > 1):
		return nil, fmt.Errorf("the factor of the range %q must be above 1", text)
	case !(step > 0):
		return nil, fmt.Errorf("the step of the range %q must be above 0", text)
	case kind == Concurrency && !multiplies && step != math.Trunc(step):
		return nil, fmt.Errorf("the step of the range %q must be a whole number", text)
	}
	return spread(kind, text, from, to, step, multiplies)
}

// number reads a load.
func number(kind Kind, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	switch {
	case v <= 0:
		return 0, fmt.Errorf("%s is not above 0", text)
	case kind == Concurrency && v != math.Trunc(v):
		return 0, fmt.Errorf("%s is not a whole number of queries in flight", text)
	case kind == Concurrency && v > MaxConcurrency:
		return 0, fmt.Errorf("%s queries in flight are more than %d", text, MaxConcurrency)
	case kind == Rate && (v > MaxRate || v < minRate):
		return 0, fmt.Errorf("%s queries per second are not between %v and %v", text, minRate, MaxRate)
	}
	return v, nil
}

// minRate is one query in about three hours.
const minRate = 1e-4

// spread returns the values of a range. Concurrencies are rounded, so a factor may make one of them twice.
func spread(kind Kind, text string, from, to, step float64, multiplies bool) ([]float64, error) {
	const rounding = 1e-9 // 0.1+0.2 still ends at 0.3
	var list []float64
	for i := 0; ; i++ {
		v := from + float64(i)*step
		if multiplies {
			v = from * math.Pow(step, float64(i))
		}
		if v > to*(1+rounding) {
			return list, nil
		}
		if i >= MaxPoints {
			return nil, fmt.Errorf("the range %q has more than %d points", text, MaxPoints)
		}
		if v = min(shorten(v), to); kind == Concurrency {
			v = math.Round(v)
		}
		list = append(list, v)
	}
}

// shorten removes the rounding errors of a range, such as 0.30000000000000004.
func shorten(v float64) float64 {
	const digits = 12
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// merge returns the values of both lists in ascending order, each once.
func merge(a, b []float64) []float64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Text returns a load with its unit, such as "12.5/s" or "8 in flight".
func (k Kind) Text(v float64) string {
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if k == Rate {
		return text + "/s"
	}
	return text + " in flight"
}
