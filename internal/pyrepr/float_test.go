package pyrepr

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The expected texts are those of Python 3.11's repr.
func TestFloat(t *testing.T) {
	for want, f := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "-2.5": -2.5, "0.1": 0.1, "0.0001": 1e-4, "9.999e-05": 9.999e-5,
		"1e-05":              1e-5,
		"9999999999999998.0": 9999999999999998, "1e+16": 1e16, "1.2345e+20": 1.2345e20, "5e-324": math.SmallestNonzeroFloat64,
		"1.7976931348623157e+308": math.MaxFloat64, "nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1),
	} {
		require.Equal(t, want, Float(f))
	}
	sum := 0.1
	sum += 0.2
	require.Equal(t, "0.30000000000000004", Float(sum))
}

func TestFloatReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		text := Float(f)
		back, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Equal(t, f, back)
		require.True(t, strings.ContainsAny(text, ".en"), text)
	})
}
