package compliance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// The figures of an audit count its records and their samples, whichever audit it is.
func TestRecordsAndSamplesAreCounted(t *testing.T) {
	var entries []entry
	for i := range 6 {
		entries = append(entries, entry{sample: i / 2, tokens: make([]int32, 1200)})
	}
	for _, test := range []string{Test06, Test07, Test09} {
		r, err := Verify(test, Input{Compliance: folder(t, accuracyLog(entries), ""), Scenario: models.Server, Row: gptOSS,
			MinTokens: ptr(1), MaxTokens: ptr(2000), Threshold: ptr(1), Evaluator: "{'exact_match': 60.698}"})
		require.NoError(t, err)
		require.Equal(t, 6, r.Figures["records"], test)
		require.Equal(t, 3, r.Figures["distinct_samples"], test)
	}
	for i := range entries {
		entries[i].sample = 3
	}
	r, err := Verify(Test09, Input{Compliance: folder(t, accuracyLog(entries), ""), Scenario: models.Server, Row: gptOSS,
		MinTokens: ptr(1), MaxTokens: ptr(2000)})
	require.NoError(t, err)
	require.Contains(t, codes(r), "samples_repeated")
}
