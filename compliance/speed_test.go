package compliance

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/mllog"
)

// performed returns the detail log of a valid performance run.
func performed(scenario, key string, score any, more ...string) string {
	return line("effective_scenario", scenario, false, false) + line(key, score, false, false) +
		line("result_validity", "VALID", false, false) + strings.Join(more, "")
}

func TestSpeedOfTEST01(t *testing.T) {
	latency := func(ns int) string { return line("effective_target_latency_ns", ns, false, false) }
	for name, c := range map[string]struct {
		ref, test string
		end       string // end of verify_performance.txt; empty: the official script aborts
		codes     string
	}{
		"server": {
			performed("Server", "result_completed_samples_per_sec", 10, latency(5)),
			performed("Server", "result_completed_samples_per_sec", 11, latency(5)),
			"Reference score = 10.0\nTest score = 11.0\nTEST PASS\n", "",
		},
		"server with another latency": {
			performed("Server", "result_completed_samples_per_sec", 10, latency(5)),
			performed("Server", "result_completed_samples_per_sec", 10, latency(6)),
			"TEST FAIL: Server target latency mismatch\n", "speed_differs",
		},
		"short latencies may differ more": {
			performed("SingleStream", "early_stopping_latency_ss", 200000),
			performed("SingleStream", "early_stopping_latency_ss", 239999),
			"TEST PASS\n", "",
		},
		"long ones may not": {
			performed("MultiStream", "early_stopping_latency_ms", 1600001),
			performed("MultiStream", "early_stopping_latency_ms", 1900000),
			"TEST FAIL: Test score invalid\n", "speed_differs",
		},
		"no score": {performed("Offline", "result_samples_per_second", 1), performed("Offline", "other", 1), "",
			"log_broken"},
		"no scenario":   {performed("Offline", "result_samples_per_second", 1), "", "", "log_broken"},
		"score is text": {performed("Offline", "result_samples_per_second", "x"), "", "", "log_broken"},
		"no latency":    {performed("Server", "result_completed_samples_per_sec", 1), "", "", "log_broken"},
		"an error": {performed("Offline", "result_samples_per_second", 1, line("error_runtime", "x", true, false)), "",
			"", "log_broken"},
		"a broken line": {performed("Offline", "result_samples_per_second", 1) + ":::MLLOG {\n", "", "", "log_broken"},
	} {
		t.Run(name, func(t *testing.T) {
			one := "[{\"seq_id\" : 0, \"qsl_idx\" : 0, \"data\" : \"01\"}]"
			in := Input{
				Compliance: folder(t, one, c.test+"\n"), ReferenceAccuracy: folder(t, one, ""),
				ReferencePerformance: folder(t, "", c.ref),
				Now:                  time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.Local),
			}
			r, err := Verify(Test01, in)
			require.NoError(t, err)
			text := r.Files["verify_performance.txt"]
			require.Equal(t, c.end == "", text == "")
			require.True(t, strings.HasSuffix(text, c.end), text)
			require.Equal(t, strings.Contains(c.end, "PASS"), r.Pass)
			if c.end != "" {
				require.Contains(t, text, "[2026-03-04 05:06:07,089 log_parser.py:72 INFO] Sucessfully loaded MLPerf log from "+
					in.Compliance+"/mlperf_log_detail.txt.\n")
			}
			if c.codes != "" {
				require.Contains(t, codes(r), c.codes)
			}
		})
	}
}

func TestAnswersOfTEST01(t *testing.T) {
	record := func(sample, data string) string {
		return `{"seq_id" : 0, "qsl_idx" : ` + sample + `, "data" : "` + data + `"}`
	}
	good := performed("Offline", "result_samples_per_second", 1)
	for name, c := range map[string]struct {
		ref, test string
		dtype     DType
		want      string // line of verify_accuracy.txt; empty: the official script aborts
		codes     string
	}{
		"equal":          {record("1", "0102"), record("1", "0102"), "", "TEST PASS", ""},
		"equal at first": {record("1", "0102"), record("1", "0103"), "", "TEST PASS", "(answer_partly)"},
		"both empty":     {record("1", ""), record("1", ""), "", "TEST PASS", ""},
		"one empty":      {record("1", ""), record("1", "01"), "", "num_perf_log_data_mismatch = 1", "answer_differs"},
		"two of one sample": {record("1", "01") + record("1", "02"), record("1", "01"), "", "num_acc_log_data_mismatch = 1",
			"answer_differs"},
		"logged twice": {record("1", "01"), record("1", "01") + record("1", "02"), "",
			"num_perf_log_data_mismatch = 1", "answer_differs"},
		"NaN is never equal": {record("1", "0000C07F"), record("1", "0000C07F"), Float32, "num_perf_log_data_mismatch = 1",
			"answer_differs"},
		"large int64": {record("1", "0000000000002000"), record("1", "0100000000002000"), Int64,
			"num_perf_log_data_mismatch = 1", "answer_differs"},
		"int16":               {record("1", "0100FFFF"), record("1", "0100"), Int16, "TEST PASS", "(answer_partly)"},
		"none":                {record("1", "01"), "", "", "TEST FAIL", "no_records"},
		"not whole":           {record("1", "0102"), record("1", "0102"), Int32, "", codeBroken},
		"reference not whole": {record("1", "0102"), record("1", "01020304"), Int32, "", codeBroken},
		"not hex":             {record("1", "0x"), "", "", "", codeBroken},
		"no text":             {record("1", "77"), strings.Replace(record("1", "77"), `"77"`, "77", 1), "", "", codeBroken},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Compliance: folder(t, "["+c.test+"]", good), ReferenceAccuracy: folder(t, "["+c.ref+"]", ""),
				ReferencePerformance: folder(t, "", good), Type: c.dtype}
			r, err := Verify(Test01, in)
			require.NoError(t, err)
			require.Contains(t, r.Files["verify_accuracy.txt"], c.want)
			require.Equal(t, c.want == "", r.Files["verify_accuracy.txt"] == "")
			require.Equal(t, strings.Contains(r.Files["verify_accuracy.txt"], "TEST PASS"), r.Pass)
			require.Contains(t, codes(r), c.codes)
		})
	}
}

func TestSummariesOfTEST04(t *testing.T) {
	const good = "Scenario : Offline\nSamples per second: 100\nResult is : VALID\n"
	for name, c := range map[string]struct {
		ref, test string
		text      string // expected text; empty: the official script aborts
		want      string // part of the finding
	}{
		"errors are told": {good, good + "2 ERRORS encountered. See detailed log.\n",
			"Verifying performance.\nWARNING: 2 ERROR reported in test results\nreference score = 100\ntest score = 100\nTEST " +
				"PASS\n", ""},
		"reference invalid": {strings.Replace(good, "VALID", "INVALID", 1), good,
			"Verifying performance.\nTEST FAIL: Reference results are invalid\n", "LoadGen calls the run invalid"},
		"no score": {"Scenario : Offline\n", good,
			"Verifying performance.\nreference score = 0\ntest score = 100\nTEST FAIL: Test score invalid\n",
			"answers may come from a cache"},
		"multistream": {"Scenario : MultiStream\nEarly stopping 99.0th percentile estimate: 1e9\n",
			"Scenario : MultiStream\nper query, Early stopping 99th percentile estimate: 900000000\n",
			"Verifying performance.\nreference score = 1.0\ntest score = 1.1111111111111112\nTEST PASS\n", ""},
		"latency of 0": {"Scenario : SingleStream\nEarly stopping 90th percentile estimate: 0\n", good, "",
			`line 2: the latency "0" has no rate`},
		"score is not a number": {good, strings.Replace(good, "100", "fast", 1), "",
			`a score cannot be read: "fast" is not a number`},
		"scenario is missing": {"Scenario\n", good, "", `line 1: "Scenario" has no value`},
		"one endless line":    {strings.Repeat("x", maxSummary), good, "", "token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			test, ref := t.TempDir(), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(test, mllog.SummaryName), []byte(c.test), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(ref, mllog.SummaryName), []byte(c.ref), 0o644))
			r, err := Verify(Test04, Input{Compliance: test, ReferencePerformance: ref})
			require.NoError(t, err)
			require.Equal(t, c.text, r.Files["verify_performance.txt"])
			require.Equal(t, strings.Contains(c.text, "TEST PASS"), r.Pass)
			if c.want != "" {
				require.Contains(t, r.Strict[0].Text, c.want)
			}
		})
	}
}

func TestBrokenAnswersOfTEST08(t *testing.T) {
	const (
		shown     = "0000803F0000A040CDCC4C3E"
		reference = "0000803F0000A040CDCC4C3E0000803F0000803F0000803F"
	)
	for name, c := range map[string]struct{ shown, reference, want string }{
		"cut value":       {shown + "00", reference, "not a multiple of the size of float32"},
		"no query":        {"0000803F", reference, "time step and query need two"},
		"NaN as a name":   {"0000C07F0000A040", reference, "found NaN, expected an integer"},
		"empty reference": {shown, "", "record 1: it is empty"},
		"other candidates": {shown, strings.TrimSuffix(reference, "0000803F") + "00000040",
			"it has 6 values, but 2 candidates need 9"},
		"more shown": {shown + shown, reference, "(1, 5) has 1 candidates, but 4 in the audit's run"},
	} {
		t.Run(name, func(t *testing.T) {
			log := func(data string) string { return folder(t, `[{"seq_id" : 0, "qsl_idx" : 0, "data" : "`+data+`"}]`, "") }
			r, err := Verify(Test08, Input{Compliance: log(c.shown), ReferenceAccuracy: log(c.reference)})
			require.NoError(t, err)
			require.False(t, r.Pass)
			require.Contains(t, r.broken(), c.want)
		})
	}
	log := func(data string) string { return folder(t, `[{"seq_id" : 0, "qsl_idx" : 0, "data" : "`+data+`"}]`, "") }
	r, err := Verify(Test08, Input{Compliance: log(shown), ReferenceAccuracy: log(reference)})
	require.NoError(t, err)
	require.NotContains(t, codes(r), "sample_unknown")
	other := strings.Replace(reference, "0000A040", "0000C040", 1)
	r, err = Verify(Test08, Input{Compliance: log(shown), ReferenceAccuracy: log(other)})
	require.NoError(t, err)
	require.False(t, r.Pass)
	require.Contains(t, codes(r), "sample_unknown")
	require.Equal(t, "acc_ne=0.0, perf_ne=0.5", (&shownAnswer{test: 0.5}).mismatch(0.001))
	require.Zero(t, entropy([]float32{0.5}, []float32{1}, []float32{0}))
	require.Empty(t, (&shownAnswer{ref: math.NaN(), test: 1}).mismatch(0.001))
}

func TestThresholds(t *testing.T) {
	const key = "test09_min_output_tokens"
	for text, want := range map[string]float64{
		"*.*." + key + " = 9.5":                        9.5,
		" a.b.c." + key + "=1e3 # c":                   1000,
		"*.*." + key + " = 1\n*.*." + key + " = 2":     2,
		"# *.*." + key + " = 1\n*.*." + key + " = inf": math.Inf(1),
	} {
		v, found, err := parseThreshold(strings.NewReader(text), key, true)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, want, v, text)
	}
	for _, text := range []string{"", key + " = 1", "*." + key + " = 1", "*.*.other = 1", "*.*." + key,
		"#*.*." + key + " = 1"} {
		_, found, err := parseThreshold(strings.NewReader(text), key, true)
		require.NoError(t, err)
		require.False(t, found, text)
	}
	path := filepath.Join(t.TempDir(), "audit.config")
	require.NoError(t, os.WriteFile(path, []byte("\n*.*.test07_accuracy_threshold = 60 # percent\n"), 0o644))
	_, err := Verify(Test07, Input{Compliance: "x", AuditFile: path})
	require.ErrorContains(t, err, `line 2: test07_accuracy_threshold: "60 # percent" is not a number; put comments on separate lines`)
	_, err = Verify(Test07, Input{Compliance: "x", AuditFile: path + "x"})
	require.ErrorContains(t, err, "read the thresholds")
}
