package pyrepr

import (
	"math"
	"strconv"
	"strings"
)

// The range in which Python writes a float without an exponent.
const (
	smallestPlain = 1e-4
	firstExponent = 1e16
)

// Float returns repr(x) of Python: the shortest digits that parse to the same number, with a point or an exponent.
func Float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if size := math.Abs(f); size != 0 && (size < smallestPlain || size >= firstExponent) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
