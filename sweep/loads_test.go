package sweep

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		text string
		want []float64
	}{
		{Concurrency, "1", []float64{1}},
		{Concurrency, "4,1,2", []float64{1, 2, 4}},
		{Concurrency, "1:32:x2", []float64{1, 2, 4, 8, 16, 32}},
		{Concurrency, "1:33:x2", []float64{1, 2, 4, 8, 16, 32}},
		{Concurrency, "1:4:x1.5", []float64{1, 2, 3}}, // 1, 1.5, 2.25 and 3.375, rounded
		{Concurrency, "1:3:1,2:6:2", []float64{1, 2, 3, 4, 6}},
		{Rate, "5:50:5", []float64{5, 10, 15, 20, 25, 30, 35, 40, 45, 50}},
		{Rate, "0.1:0.5:0.1", []float64{0.1, 0.2, 0.3, 0.4, 0.5}},
		{Rate, " 1 , 2.5 ", []float64{1, 2.5}},
		{Rate, "3:3:1", []float64{3}},
		{Rate, "1e2", []float64{100}},
	} {
		l, err := Parse(c.kind, c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, Loads{Kind: c.kind, Values: c.want}, l, c.text)
	}
	l, err := Parse(Concurrency, "1:600:1,301:1000:1")
	require.NoError(t, err)
	require.Len(t, l.Values, MaxPoints)
	l, err = Parse(Rate, "auto")
	require.NoError(t, err)
	require.Equal(t, Loads{Kind: Rate, Auto: true}, l)
}

func TestParseRejects(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		text string
		want string
	}{
		{Rate, "", "not a number"},
		{Rate, "1,", "not a number"},
		{Rate, "fast", "not a number"},
		{Rate, "NaN", "not a number"},
		{Rate, "Inf", "not a number"},
		{Rate, "0", "not above 0"},
		{Rate, "-5", "not above 0"},
		{Rate, "-5:5:1", "not above 0"},
		{Rate, "1000001", "not between"},
		{Rate, "1e-9", "not between"},
		{Rate, "10:5:1", "is empty"},
		{Rate, "1:2", "neither a number nor a range"},
		{Rate, "1:2:3:4", "neither a number nor a range"},
		{Rate, "1:5:0", "must be above 0"},
		{Rate, "1:5:-1", "must be above 0"},
		{Rate, "1:5:x1", "must be above 1"},
		{Rate, "1:5:x0.5", "must be above 1"},
		{Rate, "1:5:xNaN", "must be above 1"},
		{Rate, "1:5:x", "neither a step"},
		{Rate, "1:5:inf", "neither a step"},
		{Rate, "1:100000:1e-5", "more than 1000 points"},
		{Concurrency, "1:1000000000:1", "more than 16384"},
		{Concurrency, "1:16384:1", "more than 1000 points"},
		{Concurrency, "1:999:1,2001:2999:1", "more than 1000 points"},
		{Concurrency, "1.5", "not a whole number"},
		{Concurrency, "1:5:0.5", "must be a whole number"},
	} {
		_, err := Parse(c.kind, c.text)
		require.ErrorContains(t, err, c.want, "%q", c.text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"1", "1,2,4", "1:32:x2", "5:50:5", "auto", "0.1:1:x1.0001", "1:1e9:1", ":::", "1:2:x"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, rate bool) {
		kind := Concurrency
		if rate {
			kind = Rate
		}
		l, err := Parse(kind, text)
		if err != nil || l.Auto {
			return
		}
		require.NotEmpty(t, l.Values)
		require.LessOrEqual(t, len(l.Values), MaxPoints)
		require.True(t, slices.IsSorted(l.Values))
		for i, v := range l.Values {
			require.True(t, v > 0 && v <= MaxRate, "%v", v)
			require.True(t, i == 0 || v > l.Values[i-1], "%v twice", v)
			require.True(t, rate || v == math.Trunc(v) && v <= MaxConcurrency, "%v", v)
		}
	})
}
