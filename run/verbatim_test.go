package run

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/run/record"
)

// The figures that the record attributes to LoadGen equal those in LoadGen's two files, to the last digit. The record's
// own figures concern the same samples and tokens.
func TestNumbersOfEveryScenario(t *testing.T) {
	server := simulate(t, "--ttft", "2ms", "--tpot", "1ms", "--answers", "random", "--output-tokens", "8",
		"--max-num-seqs", "512")
	for name, c := range map[string]struct {
		args    []string
		summary map[string]string // label of a line of the summary → key of the record
	}{
		"Offline": {[]string{"--model", "llama3.1-8b", "--scenario", "Offline", "--samples", "64", "--min-queries", "128"},
			map[string]string{
				"Samples per second": "result_samples_per_second", "Tokens per second": "result_tokens_per_second",
				"99.00 percentile latency (ns)": "result_99.00_percentile_latency_ns", "Max latency (ns)": "result_max_latency_ns",
			}},
		"Server": {[]string{"--model", "llama3.1-8b", "--scenario", "Server", "--samples", "64", "--target-qps", "100",
			"--min-queries", "200", "--min-duration", "0"}, map[string]string{
			"Completed samples per second":               "result_completed_samples_per_sec",
			"Completed tokens per second":                "result_completed_tokens_per_second",
			"99.00 percentile first token latency (ns)":  "result_first_token_99.00_percentile_latency_ns",
			"99.00 percentile time to output token (ns)": "result_time_per_output_token_99.00_percentile_ns",
		}},
		"SingleStream": {[]string{"--model", "llama3.1-8b-edge", "--scenario", "SingleStream", "--samples", "64",
			"--min-queries", "100"}, map[string]string{
			"90.00 percentile latency (ns)":             "result_90.00_percentile_latency_ns",
			"90.00 percentile first token latency (ns)": "result_first_token_90.00_percentile_latency_ns",
			"Mean Time per Output Token (ns)":           "result_time_to_output_token_mean",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, append([]string{"--endpoint", server.url}, c.args...)...)
			r.sound(t, "scenario_limit", "loadgen_invalid")
			stored := storedResult(t, r.Folder)
			require.Equal(t, loggedResult(t, r.Folder), stored)
			summary := summaryOf(t, r.Folder)
			for label, key := range c.summary {
				require.Contains(t, summary, label)
				require.Contains(t, stored, key)
				sameDigits(t, summary[label], stored[key], label)
			}
			require.Equal(t, 8*r.Samples.Issued, r.Tokens.Output)
			checkTotals(t, name, r, stored)
			if name != "Offline" { // Offline answers have no first token
				checkFigures(t, r)
				checkLoadGen(t, r)
			}
		})
	}
}

// sameDigits compares a number of the summary with one of the record. The summary rounds rates to two digits, and no
// other number.
func sameDigits(t *testing.T, summary, record, what string) {
	t.Helper()
	if !strings.Contains(summary, ".") {
		require.Equal(t, summary, record, what)
		return
	}
	ours, err := strconv.ParseFloat(record, 64)
	require.NoError(t, err)
	theirs, err := strconv.ParseFloat(summary, 64)
	require.NoError(t, err)
	require.InDelta(t, theirs, ours, 0.005+theirs*5e-6, what) // the detail log has six digits
}

// checkTotals derives the numbers of samples and tokens and the duration from LoadGen's figures.
func checkTotals(t *testing.T, scenario string, r *ran, stored map[string]string) {
	t.Helper()
	value := func(key string) float64 {
		t.Helper()
		v, err := strconv.ParseFloat(stored[key], 64)
		require.NoError(t, err, key)
		return v
	}
	switch scenario {
	case "Offline": // its rates are over the time to the last completion
		seconds := value("result_max_latency_ns") / 1e9
		require.InEpsilon(t, float64(r.Samples.Completed), seconds*value("result_samples_per_second"), 1e-4)
		require.InEpsilon(t, float64(r.Tokens.Output), seconds*value("result_tokens_per_second"), 1e-4)
		require.InDelta(t, value("result_max_latency_ns")/1e9, r.LatencyS.E2E.Max, 1e-3+r.Client.ReportLagUS.Max/1e6)
		require.InDelta(t, value("result_50.00_percentile_latency_ns")/1e9, r.LatencyS.E2E.P50,
			1e-3+r.Client.ReportLagUS.Max/1e6)
	case "Server":
		require.EqualValues(t, r.Samples.Completed, value("result_query_count"))
		// Over the same time LoadGen counts all tokens, but one sample less than there are.
		perSample := value("result_completed_tokens_per_second") / value("result_completed_samples_per_sec")
		require.InEpsilon(t, float64(r.Tokens.Output)/float64(r.Samples.Completed-1), perSample, 1e-4)
	default:
		require.EqualValues(t, r.Samples.Completed, value("result_query_count"))
	}
}

// storedResult returns the numbers of loadgen.result in run.json, digit by digit.
func storedResult(t *testing.T, folder string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, record.FileName))
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var record struct {
		LoadGen struct {
			Result map[string]any `json:"result"`
		} `json:"loadgen"`
	}
	require.NoError(t, d.Decode(&record))
	numbers := map[string]string{}
	for key, v := range record.LoadGen.Result {
		if n, ok := v.(json.Number); ok {
			numbers[key] = plainNumber(t, n.String())
		}
	}
	require.Greater(t, len(numbers), 20)
	return numbers
}

// loggedResult returns the same numbers from the detail log.
func loggedResult(t *testing.T, folder string) map[string]string {
	t.Helper()
	numbers := map[string]string{}
	_, err := mllog.ReadDetailFile(filepath.Join(folder, record.LogFolder, mllog.DetailName), func(e *mllog.Entry) error {
		text := string(e.Value)
		_, isNumber := strconv.ParseFloat(text, 64)
		known := strings.HasPrefix(e.Key, "result_") || strings.HasPrefix(e.Key, "effective_") ||
			strings.HasPrefix(e.Key, "early_stopping")
		if _, seen := numbers[e.Key]; known && !seen && isNumber == nil {
			numbers[e.Key] = plainNumber(t, text)
		}
		return nil
	})
	require.NoError(t, err)
	return numbers
}

// plainNumber formats whole numbers unchanged, and 6.3e-05 and 0.000063 alike.
func plainNumber(t *testing.T, text string) string {
	t.Helper()
	if strings.Trim(text, "-0123456789") == "" {
		return text
	}
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// summaryOf returns the lines of LoadGen's summary; if a label occurs twice, the first line.
func summaryOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, record.LogFolder, mllog.SummaryName))
	require.NoError(t, err)
	lines := map[string]string{}
	for line := range strings.Lines(string(data)) {
		label, value, ok := strings.Cut(line, ":")
		label = strings.TrimSpace(label)
		if _, seen := lines[label]; ok && !seen {
			lines[label] = strings.TrimSpace(value)
		}
	}
	return lines
}
