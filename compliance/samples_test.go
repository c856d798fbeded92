package compliance

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
)

// The figures of every audit include the number of records and the number of different samples.
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

// A record may contain objects. Data that is not a string does not count as an empty answer.
func TestRecordsOfOtherForms(t *testing.T) {
	for text, want := range map[string]struct {
		samples []int64
		dataErr string
	}{
		`[{"seq_id": 0, "x": {"y": {"z": 1}}, "qsl_idx": 4}, {"seq_id": 1, "qsl_idx": 5}]`: {[]int64{4, 5}, ""},
		`[{"seq_id": 0, "qsl_idx": 6, "x": "}{", "data": 7}]`:                              {[]int64{6}, "its data is not a string: \"7\""},
		`[{"seq_id": 0, "qsl_idx": 6, "data": ["00"]}]`:                                    {[]int64{6}, "its data is not a string"},
		`[{"seq_id": 0, "qsl_idx": 6, "data": "0g"}]`:                                      {[]int64{6}, "its data is not hexadecimal"},
	} {
		var samples []int64
		_, err := readRecords(strings.NewReader(text), func(r *record) error {
			samples = append(samples, r.sample)
			if want.dataErr == "" {
				require.NoError(t, r.dataErr)
			} else {
				require.ErrorContains(t, r.dataErr, want.dataErr)
			}
			return nil
		})
		require.NoError(t, err, text)
		require.Equal(t, want.samples, samples, text)
	}
}

// Numbers that JSON cannot represent become text.
func TestNonNumericFigures(t *testing.T) {
	r := &Result{Figures: map[string]any{}}
	r.figure("a", 1.5)
	r.figure("b", math.NaN())
	r.figure("c", math.Inf(-1))
	require.Equal(t, map[string]any{"a": 1.5, "b": "nan", "c": "-inf"}, r.Figures)
}
