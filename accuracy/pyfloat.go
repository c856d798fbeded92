package accuracy

import (
	"math"
	"strconv"
)

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
