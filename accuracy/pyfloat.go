package accuracy

import (
	"math"
	"strconv"
	"strings"
)

// pyFloat is repr of a Python float: the shortest digits that read back the same, with a point or an exponent.
func pyFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// pyRound is round of a Python float: the decimal nearest to its exact value, ties to even.
func pyRound(f float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
	if err != nil {
		return f
	}
	return r
}

// numpyRound4 is round(x, 4) of a numpy float, which scales, rounds and scales back.
func numpyRound4(f float64) float64 { return math.RoundToEven(f*1e4) / 1e4 }
