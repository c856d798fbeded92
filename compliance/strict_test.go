package compliance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/internal/mllog"
	"github.com/mlperf-go/mlperf-go/models"
)

func line(key string, value any, isError, isWarning bool) string {
	text, _ := json.Marshal(value)
	return fmt.Sprintf(`:::MLLOG {"key": %q, "value": %s, "time_ms": 1.0, "namespace": "mlperf::logging", "event_type": "POINT_IN_TIME", "metadata": {"is_error": %t, "is_warning": %t, "file": "a.cc", "line_no": 1, "pid": 1, "tid": 1}}`+"\n",
		key, text, isError, isWarning)
}

// auditRun returns the detail log of a run with the audit's settings.
func auditRun(a *Audit, scenario string) string {
	text := line("warning_generic_message", mllog.AuditTaken+" (audit.config).", false, true) +
		line("effective_test_mode", "PerformanceOnly", false, false) + line("effective_scenario", scenario, false, false)
	for _, s := range a.Settings {
		key := "requested_" + s.Key
		if name, ok := loggedAs[s.Key]; ok {
			key = name
		}
		text += line(key, json.RawMessage(s.Value), false, false)
	}
	return text
}

// entry is a record of an accuracy log.
type entry struct {
	sample int
	tokens []int32
	first  []int32
	count  int // token_count of the record; 0: the number of tokens
}

func hexOf(tokens []int32) string {
	var b strings.Builder
	for _, t := range tokens {
		u := uint32(t)
		fmt.Fprintf(&b, "%02X%02X%02X%02X", byte(u), byte(u>>8), byte(u>>16), byte(u>>24))
	}
	return b.String()
}

func accuracyLog(entries []entry) string {
	var lines []string
	for i, e := range entries {
		if e.count == 0 {
			e.count = len(e.tokens)
		}
		lines = append(lines, fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%s", "token_data" : "%s", "token_count" : %d }`,
			i, e.sample, hexOf(e.tokens), hexOf(e.first), e.count))
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n]\n"
}

func folder(t testing.TB, accuracy, detail string) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, mllog.AccuracyName), []byte(accuracy), 0o644))
	if detail != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, mllog.DetailName), []byte(detail), 0o644))
	}
	return dir
}

// codes returns the findings' codes, with warnings in parentheses.
func codes(r *Result) string {
	var names []string
	for _, f := range r.Strict {
		if f.Severity == Warning {
			f.Code = "(" + f.Code + ")"
		}
		names = append(names, f.Code)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// hundred returns the 100 entries of a good TEST06 log.
func hundred() []entry {
	var entries []entry
	for i := range test06Queries {
		entries = append(entries, entry{sample: 7 * i, tokens: []int32{int32(100 + i), 200, 128009},
			first: []int32{int32(100 + i)}})
	}
	return entries
}

func TestStrictTEST06(t *testing.T) {
	asked, err := Find(Test06, llama8b.Name)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(e []entry) []entry
		detail func(text string) string
		option string // value of the official script's option -e
		pass   bool
		codes  string
	}{
		"good":      {pass: true},
		"no record": {change: func([]entry) []entry { return nil }, pass: true, codes: "no_records"},
		"few":       {change: func(e []entry) []entry { return e[:99] }, pass: true, codes: "few_records"},
		"one sample": {change: func(e []entry) []entry { return each(e, func(x *entry) { x.sample = 3 }) },
			pass: true, codes: "samples_repeated"},
		"sample beyond the set": {change: one(func(x *entry) { x.sample = 13368 }), pass: true, codes: "sample_unknown"},
		"two of the model's end": {change: one(func(x *entry) { x.tokens = []int32{150, 128001, 128009} }), pass: true,
			codes: "eos_repeated"},
		"end tokens alone": {change: one(func(x *entry) {
			x.tokens, x.first = []int32{128009, 128009},
				[]int32{128009}
		}), pass: true, codes: "eos_repeated"},
		"end token inside": {change: one(func(x *entry) { x.tokens = []int32{150, 128009, 5} }), pass: true,
			codes: "(eos_inside)"},
		"id 2 twice": {change: one(func(x *entry) { x.tokens = []int32{150, 2, 2} }), codes: "eos_official"},
		"id 2 twice, option given": {change: one(func(x *entry) { x.tokens = []int32{150, 2, 2} }), option: "128001",
			pass: true},
		"no token id": {change: one(func(x *entry) { x.tokens = []int32{150, 128256} }), pass: true,
			codes: "token_range"},
		"negative token id": {change: one(func(x *entry) { x.tokens = []int32{150, -1} }), pass: true,
			codes: "token_range"},
		"empty answer": {change: one(func(x *entry) { x.tokens, x.first = nil, nil }), pass: true,
			codes: "empty_output first_token_missing"},
		"no first token":    {change: one(func(x *entry) { x.first = nil }), pass: true, codes: "first_token_missing"},
		"other first token": {change: one(func(x *entry) { x.first = []int32{9} }), codes: "first_token_differs"},
		"more first tokens": {change: one(func(x *entry) { x.first = append(slices.Clone(x.tokens), 1) }), pass: true,
			codes: "first_token_differs"},
		"count":         {change: one(func(x *entry) { x.count = 17 }), codes: "token_count"},
		"no detail log": {detail: func(string) string { return "" }, pass: true, codes: "(detail_missing)"},
		"an error of many words": {detail: func(s string) string {
			return s + line("error_runtime",
				strings.Repeat("x", 2*maxValue), true, false)
		}, pass: true, codes: "(loadgen_errors)"},
		"no audit": {detail: func(s string) string {
			return strings.Replace(s, mllog.AuditTaken, "Nothing",
				1)
		}, pass: true, codes: "audit_config_unused"},
		"accuracy mode": {detail: func(s string) string {
			return strings.Replace(s, "PerformanceOnly",
				"AccuracyOnly", 1)
		}, pass: true, codes: "test_mode"},
		"other scenario": {detail: func(s string) string { return strings.Replace(s, "Server", "Offline", 1) },
			pass: true, codes: "scenario_differs"},
		"other seed": {detail: func(s string) string { return strings.Replace(s, accuracyLogSeed, "1", 1) },
			pass: true, codes: "setting_accuracy_log_rng_seed"},
		"error in the log": {detail: func(s string) string {
			return s + line("error_runtime", "one token", true,
				false)
		}, pass: true, codes: "(loadgen_errors)"},
		"cut detail log": {detail: func(s string) string { return s[:len(s)-9] }, pass: true,
			codes: "detail_broken"},
		"foreign detail log": {detail: func(string) string { return "hello\n" }, pass: true,
			codes: "audit_config_unused detail_broken"},
	} {
		t.Run(name, func(t *testing.T) {
			entries, detail := hundred(), auditRun(asked, "Server")
			if c.change != nil {
				entries = c.change(entries)
			}
			if c.detail != nil {
				detail = c.detail(detail)
			}
			in := Input{Compliance: folder(t, accuracyLog(entries), detail), Scenario: models.Interactive, Row: llama8b,
				EOSOption: c.option}
			r, err := Verify(Test06, in)
			require.NoError(t, err)
			require.Equal(t, c.codes, codes(r), "%+v", r.Strict)
			require.Equal(t, c.pass, r.Pass)
			require.Equal(t, c.codes == "" || strings.HasPrefix(c.codes, "("), r.OK())
			_, err = json.Marshal(r)
			require.NoError(t, err)
		})
	}
}

func each(e []entry, change func(*entry)) []entry {
	for i := range e {
		change(&e[i])
	}
	return e
}

func one(change func(*entry)) func([]entry) []entry {
	return func(e []entry) []entry {
		change(&e[50])
		return e
	}
}

func TestBrokenAccuracyLogsFailWithTheirPlace(t *testing.T) {
	good := accuracyLog(hundred())
	for name, c := range map[string]struct{ text, want string }{
		"cut":     {good[:len(good)/2], "without its closing bracket: the run was cut off"},
		"empty":   {"", "ends after record 0"},
		"no list": {"hello", "found 'h', expected the opening ["},
		"bad hex": {strings.Replace(good, `"64000000C8`, `"6Z000000C8`, 1), "record 1: its data is not hexadecimal"},
		"odd size": {strings.Replace(good, `"64000000C8000000`, `"64000000C80000`, 1),
			"record 1 has 11 bytes, which is not a multiple of the size of int32"},
		"no count": {strings.Replace(good, `, "token_count" : 3`, "", 1),
			"record 1 has no token_count: the run was made without token latencies"},
		"unknown field": {strings.Replace(good, `"qsl_idx"`, `"idx"`, 1), `record 1: it has the unknown field "idx"`},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Verify(Test06, Input{Compliance: folder(t, c.text, ""), Scenario: models.Server})
			require.NoError(t, err)
			require.False(t, r.Pass)
			require.Empty(t, r.Files)
			require.Contains(t, r.broken(), c.want)
			require.ErrorContains(t, r.Write(t.TempDir()), c.want)
		})
	}
}

// The official length check ends at its first difference, so a broken record after that does not abort it.
func TestADifferenceBeforeABrokenRecordIsAVerdict(t *testing.T) {
	entries := hundred()
	entries[1].count = 9
	text := strings.Replace(accuracyLog(entries), `"67000000C8000000`, `"67000000C80000`, 1)
	r, err := Verify(Test06, Input{Compliance: folder(t, text, ""), Scenario: models.Server})
	require.NoError(t, err)
	require.Equal(t, "First token check pass: False\nEOS check pass: False\nSample length check pass: False\nTEST06 "+
		"verification failed\n", r.Files["verify_accuracy.txt"])
}

func TestMissingInputs(t *testing.T) {
	for test, c := range map[string]struct {
		in   Input
		want string
	}{
		"TEST99": {Input{}, `unknown compliance test "TEST99"`},
		Test01: {Input{Compliance: "x"}, "TEST01 compares with other runs or scenarios: pass the folder of the " +
			"accuracy run"},
		Test04: {Input{Compliance: "x"}, "pass the folder of the performance run"},
		Test06: {Input{Compliance: "x"}, "pass the scenario"},
		Test07: {Input{}, "TEST07 needs the folder with the logs of its run"},
		Test08: {Input{Compliance: "/no/such", ReferenceAccuracy: "/no/such"}, "no such file or directory"},
		Test09: {Input{Compliance: "/no/such", Row: gptOSS}, "no such file or directory"},
	} {
		_, err := Verify(test, c.in)
		require.ErrorContains(t, err, c.want)
	}
	_, err := Verify(Test06, Input{Compliance: "x", Scenario: models.Server, Type: "int5"})
	require.ErrorContains(t, err, `unknown encoding "int5" of answers`)
	_, err = Verify(Test07, Input{Compliance: "x", Row: gptOSS, ScoreMatch: "("})
	require.ErrorContains(t, err, "the expression that finds the score")
}

func TestStrictTEST07AndTEST09(t *testing.T) {
	for name, c := range map[string]struct {
		test   string
		change func(*Input)
		log    func([]entry) []entry
		pass   bool
		codes  string
	}{
		"TEST07 good": {test: Test07, pass: true},
		"TEST07 repeated": {test: Test07, log: func(e []entry) []entry { e[3].sample = 4; return e }, pass: true,
			codes: "samples_repeated"},
		"TEST07 fewer": {test: Test07, log: func(e []entry) []entry { return e[:989] }, pass: true,
			codes: "few_records"},
		"TEST07 lower target": {test: Test07, change: func(in *Input) { in.Threshold = ptr(50.0) }, pass: true,
			codes: "threshold_weakened"},
		"TEST07 below": {test: Test07, change: func(in *Input) { in.Evaluator = "'exact_match': 3 TEST PASS" },
			codes: "accuracy_below_target pass_printed"},
		"TEST07 no score": {test: Test07, change: func(in *Input) { in.Evaluator = "" }, codes: "score_missing"},
		"TEST07 two points": {test: Test07, change: func(in *Input) { in.Evaluator = "'exact_match': 1.2.3" },
			codes: "score_missing"},
		"TEST07 own expression": {test: Test07, change: func(in *Input) {
			in.Evaluator, in.ScoreMatch = "score=61",
				`score=(\d+)`
		}, pass: true},
		"TEST07 two empty": {test: Test07, log: func(e []entry) []entry {
			e[5].tokens, e[6].tokens = nil, nil
			return e
		}, pass: true, codes: "empty_output"},
		"TEST07 one byte": {test: Test07, log: func(e []entry) []entry { e[5].tokens = []int32{0}; return e },
			pass: true},
		"TEST07 no detail log": {test: Test07, change: func(in *Input) {
			require.NoError(t, os.Remove(filepath.Join(in.Compliance, mllog.DetailName)))
		}, pass: true, codes: "detail_missing"},
		"TEST07 no group": {test: Test07, change: func(in *Input) { in.Evaluator, in.ScoreMatch = "score=61", `score=\d+` },
			codes: "score_missing"},
		"TEST09 good": {test: Test09, pass: true},
		"TEST09 scaled": {test: Test09, change: func(in *Input) {
			a, _ := Find(Test09, gptOSS.Name)
			in.Audit = a.Scale(10)
		}, log: func(e []entry) []entry { return e[:10] }, pass: true,
			codes: "(rehearsal) setting_min_query_count setting_test09_min_output_tokens"},
		"TEST09 empty": {test: Test09, log: func(e []entry) []entry { e[5].tokens = nil; return e }, pass: true,
			codes: "empty_output"},
		"TEST09 text": {test: Test09, log: func(e []entry) []entry { e[5].tokens[3] = 0x6c6c6548; return e },
			pass: true, codes: "token_range"},
		"TEST09 count": {test: Test09, log: func(e []entry) []entry { e[5].count = 3; return e }, pass: true,
			codes: "token_count"},
		"TEST09 wider bounds": {test: Test09, change: func(in *Input) { in.MaxTokens = ptr(9999.0) }, pass: true,
			codes: "threshold_weakened"},
		"TEST09 too short": {test: Test09, log: func(e []entry) []entry {
			return each(e,
				func(x *entry) { x.tokens = x.tokens[:1149] })
		}, codes: "output_length"},
	} {
		t.Run(name, func(t *testing.T) {
			asked, err := Find(c.test, gptOSS.Name)
			require.NoError(t, err)
			tokens := 3
			if c.test == Test09 {
				tokens = 1200
				asked.Records = 60 // fewer than in a real log, which has tens of megabytes
			}
			var entries []entry
			for i := range asked.Records {
				entries = append(entries, entry{sample: i, tokens: make([]int32, tokens)})
			}
			if c.log != nil {
				entries = c.log(entries)
			}
			in := Input{Compliance: folder(t, accuracyLog(entries), auditRun(asked, "Server")), Scenario: models.Server,
				Row: gptOSS, Audit: asked,
				Evaluator: "{'exact_match': 60.698}"}
			if c.change != nil {
				c.change(&in)
			}
			r, err := Verify(c.test, in)
			require.NoError(t, err)
			require.Equal(t, c.codes, codes(r), "%+v", r.Strict)
			require.Equal(t, c.pass, r.Pass)
			require.NoError(t, r.Write(t.TempDir()))
		})
	}
}

func ptr(f float64) *float64 { return &f }

// The settings that a real LoadGen logged with the official audit files equal those of this package.
func TestGoldenAuditSettings(t *testing.T) {
	for name, c := range map[string]struct {
		test, model, scenario string
	}{
		"audit_test06_offline_llama2": {Test06, "llama2-70b-99", "Offline"},
		"audit_test06_server_llama2":  {Test06, "llama2-70b-99", "Server"},
		"audit_test07_offline_gptoss": {Test07, "gptoss", "Offline"},
		"audit_test09_server_gptoss":  {Test09, "gptoss", "Server"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(golden.Dir(t, "loadgen"), name+".json"))
			require.NoError(t, err)
			var recorded struct {
				Detail []struct {
					Key       string          `json:"key"`
					Value     json.RawMessage `json:"value"`
					IsWarning bool            `json:"is_warning"`
				} `json:"detail"`
			}
			require.NoError(t, json.Unmarshal(text, &recorded))
			var b strings.Builder
			for _, e := range recorded.Detail {
				if e.Value != nil {
					b.WriteString(line(e.Key, e.Value, false, e.IsWarning))
				}
			}
			in := Input{Compliance: folder(t, "[\n]\n", b.String()), Scenario: models.Scenario(c.scenario),
				Row: mustRow(c.model)}
			r, err := Verify(c.test, in)
			if c.test == Test09 {
				require.NoError(t, err)
				require.Contains(t, codes(r), codeBroken)
				return
			}
			require.NoError(t, err)
			for _, f := range r.Strict {
				require.Contains(t, []string{"no_records", "score_missing"}, f.Code, f.Text)
			}
		})
	}
}

// wide returns a log of 64-bit tokens.
func wide(entries []entry) string {
	return regexp.MustCompile(`[0-9A-F]{8}`).ReplaceAllString(accuracyLog(entries), "${0}00000000")
}

// Answers of 64-bit ids that are read as 32-bit ids seem to have twice the counted tokens. The finding must name the
// flag.
func TestDoubleCountsSuggestTheEncoding(t *testing.T) {
	const hint = "--dtype int64"
	for text, want := range map[string]bool{
		wide(hundred()):        true,
		accuracyLog(hundred()): false,
		strings.Replace(wide(hundred()), `"token_count" : 3`, `"token_count" : 4`, 1):        false,
		strings.Replace(accuracyLog(hundred()), `"token_count" : 3`, `"token_count" : 4`, 1): false,
	} {
		in := Input{Compliance: folder(t, text, ""), Scenario: models.Server, Row: llama8b}
		r, err := Verify(Test06, in)
		require.NoError(t, err)
		require.Equal(t, want, strings.Contains(fmt.Sprint(r.Strict), hint), "%v", r.Strict)
		if in.Type = Int64; want {
			r, err = Verify(Test06, in)
			require.NoError(t, err)
			require.True(t, r.Pass, "%v", r.Strict)
		}
	}
}

// ReadTest06 reads a submission's log with each encoding that the log may have.
func TestReadTest06(t *testing.T) {
	good := accuracyLog(hundred())
	for name, c := range map[string]struct {
		text     string
		pass     bool
		encoding DType
		codes    string
	}{
		"good":              {good, true, Int32, ""},
		"64 bits":           {wide(hundred()), true, Int64, ""},
		"empty":             {"[\n]\n", true, Int32, "no_records"},
		"no bytes":          {"", false, Int32, "log_broken no_records"},
		"cut":               {good[:len(good)-2], false, Int32, "log_broken"},
		"several end marks": {accuracyLog(one(func(x *entry) { x.tokens = []int32{150, 2, 2} })(hundred())), true, Int32, ""},
		"two ends inside": {accuracyLog(each(hundred(), func(x *entry) { x.tokens = []int32{x.tokens[0], 128009, 5} })),
			true, Int32, "(eos_inside)"},
	} {
		t.Run(name, func(t *testing.T) {
			r, encoding := ReadTest06(strings.NewReader(c.text), "the log", models.Server, llama8b)
			require.Equal(t, c.pass, r.Pass)
			require.Equal(t, c.encoding, encoding)
			require.Equal(t, c.codes, codes(r), "%v", r.Strict)
		})
	}
}

// A tolerance of 0 is a valid tolerance and does not mean that none was given.
func TestToleranceOfTEST08(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(golden.Dir(t, "compliance"), "test08.json"))
	require.NoError(t, err)
	var file struct{ Cases []goldenCase }
	require.NoError(t, json.Unmarshal(text, &file))
	for _, c := range file.Cases {
		in := Input{Compliance: folder(t, c.Files["perf.json"], ""), ReferenceAccuracy: folder(t, c.Files["acc.json"], "")}
		for tolerance, line := range map[float64]string{0: "tolerance = 0.00%", 0.6: "tolerance = 60.00%",
			-1: "tolerance = -100.00%"} {
			in.Tolerance = &tolerance
			r, err := Verify(Test08, in)
			require.NoError(t, err)
			require.Contains(t, r.Files["verify_accuracy.txt"], line)
			require.Equal(t, c.Name != "unmatched" && tolerance >= 0 && (c.Name == "ok" || tolerance > 0.598410), r.Pass,
				"%s, %v", c.Name, tolerance)
			require.Equal(t, tolerance > officialTolerance, strings.Contains(codes(r), "threshold_weakened"))
		}
	}
}
