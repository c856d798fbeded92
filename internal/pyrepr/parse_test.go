package pyrepr

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The expected values are those of Python 3.11's float and int.
func TestParse(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, " 1.5\n": 1.5, ".5": 0.5, "5.": 5, "-1e3": -1000, "+1_000.2_5": 1000.25, "1e1_0": 1e10, "INF": math.Inf(1),
		"-Infinity": math.Inf(-1), "1e999": math.Inf(1),
	} {
		got, err := ParseFloat(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	nan, err := ParseFloat("nan")
	require.NoError(t, err)
	require.True(t, math.IsNaN(nan))
	for _, text := range []string{"", ".", "_1", "1_", "1__0", "1_.0", "0x1", "1p3", "1 2", "60.7 # comment", "e5", "in",
		"1e", "--1"} {
		_, err := ParseFloat(text)
		require.ErrorIs(t, err, ErrNoNumber, text)
	}
	for text, want := range map[string]string{"8": "8", " -8 ": "-8", "+1_000": "1000",
		"12345678901234567890123": "12345678901234567890123", "007": "7"} {
		got, err := ParseInt(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.String(), text)
	}
	for _, text := range []string{"", "7.9", "_1", "1_", "1__0", "0x1", "two", string(make([]byte, maxDigits+1))} {
		_, err := ParseInt(text)
		require.ErrorIs(t, err, ErrNoNumber, text)
	}
}

func TestParseFloatReadsWhatFloatWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		got, err := ParseFloat(Float(f))
		require.NoError(t, err)
		require.Equal(t, f, got)
	})
}
