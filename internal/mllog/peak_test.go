package mllog

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// searched returns the first lines of the log of a search that starts at 40 and finds 60.
func searched(lines int) string {
	texts := []string{
		"Starting FindPeakPerformance mode",
		"FindPeakPerformance: Check validity of the base settings field: 40.000000",
		"FindBoundaries: Checking fields [40.000000, 80.000000)",
		"FindPeakPerformance: Found boundaries: [40.000000, 80.000000)",
		"FindPeakPerformanceBinarySearch: Testing the mid value of bounds [40.000000, 80.000000): 60.000000",
		"FindPeakPerformanceBinarySearch: Testing the mid value of bounds [60.000000, 80.000000): 70.000000",
		"FindPeakPerformance: Found peak performance field: 60.000000",
	}
	text := ""
	for _, t := range texts[:lines] {
		text += line("generic_message", `"`+t+`"`, false, false)
	}
	return text
}

func TestReadPeak(t *testing.T) {
	read := func(text string) (*Peak, error) {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, DetailName), []byte(text), 0o600))
		return ReadPeak(folder)
	}
	for name, c := range map[string]struct {
		log              string
		tests            string // rates of the tests, each with + if it met the limits and - if it did not
		found, low, high float64
		fails            string
	}{
		"nothing yet":     {log: searched(1)},
		"the first test":  {log: searched(2), tests: "40?"},
		"widening":        {log: searched(3), tests: "40+ 80?", low: 40},
		"bounds":          {log: searched(4), tests: "40+ 80-", low: 40, high: 80},
		"the middle":      {log: searched(5), tests: "40+ 80- 60?", low: 40, high: 80},
		"the next middle": {log: searched(6), tests: "40+ 80- 60+ 70?", low: 60, high: 80},
		"found":           {log: searched(7), tests: "40+ 80- 60+ 70-", found: 60, low: 60, high: 70},
		"the start fails": {log: searched(2) + line("error_runtime", `"FindPeakPerformance: Initial lower bound does not `+
			`satisfy performance constraints, msg: Reduce target QPS."`, true, false), tests: "40-", high: 40,
			fails: "Reduce target QPS."},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := read(c.log)
			require.NoError(t, err)
			var tests []string
			for _, one := range p.Tests {
				sign := "?"
				if one.Met != nil {
					sign = map[bool]string{true: "+", false: "-"}[*one.Met]
				}
				tests = append(tests, strconv.FormatFloat(one.Rate, 'g', -1, 64)+sign)
			}
			low, high := p.Range()
			require.Equal(t, c.tests, strings.Join(tests, " "))
			require.Equal(t, []float64{c.found, c.low, c.high}, []float64{p.Found, low, high})
			require.Equal(t, c.fails, p.Fails)
		})
	}
	_, err := read(line("generic_message", `"FindPeakPerformance: Found peak performance field: many"`, false, false))
	require.ErrorIs(t, err, errRate)
	_, err = read(strings.Repeat(line("generic_message",
		`"FindPeakPerformance: Check validity of the base settings field: 4"`, false, false), maxPeakTests+1))
	require.ErrorIs(t, err, errPeakTests)
}

// FuzzReadPeak reads arbitrary logs. No result may contain an impossible rate.
func FuzzReadPeak(f *testing.F) {
	for n := range 8 {
		f.Add([]byte(searched(n)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := peakReader{peak: &Peak{}}
		_, _ = ReadDetail(bytes.NewReader(data), r.entry)
		low, high := r.peak.Range()
		for _, v := range []float64{low, high, r.peak.Found} {
			require.True(t, v >= 0 && v < 1e12)
		}
		require.LessOrEqual(t, len(r.peak.Tests), maxPeakTests)
	})
}
