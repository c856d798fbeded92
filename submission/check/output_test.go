package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
	"github.com/mlperf-go/mlperf-go/submission/truncate"
)

func checked(t *testing.T, o Options, changes ...mutation) *Report {
	t.Helper()
	r, err := Check(context.Background(), recorded{Mutation: changes}.tree(t), o)
	require.NoError(t, err)
	return r
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, checked(t, Options{}).Text(&b))
	require.Equal(t, strings.ReplaceAll(`valid|closed/ExampleOrg/results/sim-8x/llama3.1-8b/Offline|882.565 Tokens/s
valid|closed/ExampleOrg/results/sim-8x/llama3.1-8b/Server|1008.82 Tokens/s

round v6.1, strict rules: 2 results valid, 0 not; 0 errors, 0 warnings
The submission is valid.
`, "|", "\t"), b.String())

	b.Reset()
	require.NoError(t, checked(t, Options{Mode: Compat},
		change("log_set", "~/Server"+perfOf, "effective_min_duration_ms", "10000")).Text(&b))
	require.Equal(t, strings.ReplaceAll(`error [min-duration, rehearsal] closed/ExampleOrg/results/sim-8x/llama3.1-8b/Server/performance/run_1/mlperf_log_detail.txt, effective_min_duration_ms: found 10000, expected at least 600000; run with min_duration 600000 or more

valid|closed/ExampleOrg/results/sim-8x/llama3.1-8b/Offline|882.565 Tokens/s
invalid|closed/ExampleOrg/results/sim-8x/llama3.1-8b/Server|1008.82 Tokens/s

round v6.1, compat rules: 1 result valid, 1 not; 1 error, 0 warnings
The submission is not valid.
`, "|", "\t"), b.String())
}

// The text of a rehearsal begins with its verdict and the reasons why it is one.
func TestTextOfARehearsal(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, checked(t, Options{},
		change("log_set", "~/Server"+perfOf, "effective_min_duration_ms", "10000"),
		change("json_set", "~/Server/measurements.json", "rehearsal", "true")).Text(&b))
	require.Equal(t, strings.ReplaceAll(`valid|closed/ExampleOrg/results/sim-8x/llama3.1-8b/Offline|882.565 Tokens/s
rehearsal|closed/ExampleOrg/results/sim-8x/llama3.1-8b/Server|1008.82 Tokens/s

round v6.1, strict rules: 1 result valid, 1 rehearsal; no other errors, 0 warnings
The submission is a rehearsal and has no other errors. What makes it a rehearsal:
  min-duration|effective_min_duration_ms|10000; a submission needs at least 600000|1 place
  rehearsal-mark|rehearsal|true; a submission needs no such field|1 place
`, "|", "\t"), b.String())
}

// The strict rules accept a shortened tree that is marked as a rehearsal as one. The official checker rejects it either
// way.
func TestRehearsalsAreMarked(t *testing.T) {
	short := change("log_set", "~/Server"+perfOf, "effective_min_duration_ms", "10000")
	mark := change("json_set", "~/Server/measurements.json", "rehearsal", "true")
	for _, c := range []struct {
		mode    Mode
		changes []mutation
		only    bool
		word    string
		verdict string
	}{
		{Strict, []mutation{short, mark}, true, "rehearsal\tclosed", "The submission is a rehearsal"},
		{Strict, []mutation{short}, false, "invalid\tclosed", "it is not marked as a rehearsal."},
		{Compat, []mutation{short, mark}, false, "invalid\tclosed", "The submission is not valid.\n"},
	} {
		r := checked(t, Options{Mode: c.mode}, c.changes...)
		require.False(t, r.Valid)
		require.Equal(t, c.only, r.OnlyRehearsal(), c.mode)
		require.Equal(t, c.only, r.Rehearsal)
		var b bytes.Buffer
		require.NoError(t, r.Text(&b))
		require.Contains(t, b.String(), c.word)
		require.Contains(t, b.String(), c.verdict)
	}
}

// Benchmarks without rules are counted, and left out on request.
func TestBenchmarksWithoutRules(t *testing.T) {
	other := change("copy", strings.TrimSuffix(bench, "/"), home+"results/sim-8x/resnet")
	r := checked(t, Options{}, other)
	require.Equal(t, Counts{Valid: 2, NotJudged: 2, Warnings: 1}, r.Counts)
	require.Equal(t, "2 results of resnet", r.Findings[0].Found)
	require.Len(t, r.Results, 2)
	var b bytes.Buffer
	require.NoError(t, r.Text(&b))
	require.Contains(t, b.String(), "2 results valid, 0 not, 2 not judged; 0 errors, 1 warning\nThe submission is "+
		"valid, except for results that were not judged.")
	r = checked(t, Options{OnlyKnown: true}, other)
	require.Equal(t, Counts{Valid: 2}, r.Counts)
	require.Empty(t, r.Findings)

	mapping := change("write", "open/ExampleOrg/model_mapping.json", `{"mine": "bert-99", "yours": "llama3.1-8b"}`)
	open := []mutation{change("rename", "closed", "open"),
		change("json_set", "open/ExampleOrg/systems/sim-8x.json", "division", `"open"`), mapping,
		change("copy", "open/ExampleOrg/results/sim-8x/llama3.1-8b", "open/ExampleOrg/results/sim-8x/mine"),
		change("rename", "open/ExampleOrg/results/sim-8x/llama3.1-8b", "open/ExampleOrg/results/sim-8x/yours")}
	require.Equal(t, Counts{Valid: 2, NotJudged: 2, Warnings: 1}, checked(t, Options{Mode: Compat}, open...).Counts)
}

// In open a length outside its bounds is a warning, in closed an error.
func TestTokensPerSample(t *testing.T) {
	text := "'rouge1': 50.1 'rouge2': 30.1 'rougeL': 40.1\n'tokens_per_sample': %s\nhash=" + strings.Repeat("0", 64)
	for _, c := range []struct{ found, expected, closed string }{
		{"400.5", "at most 323.895", "score-length-high"}, {"200.5", "at least 265.005", "score-length-low"},
		{"300.5", "", ""},
	} {
		renamed := change("rename", bench, home+"results/sim-8x/llama2-70b-99")
		scores := change("write", home+"results/sim-8x/llama2-70b-99/Offline/accuracy/accuracy.txt",
			fmt.Sprintf(text, c.found))
		for rule, r := range map[string]*Report{
			c.closed: checked(t, Options{Round: "v6.0"}, renamed, scores),
			"score-open": checked(t, Options{Round: "v6.0"}, renamed, scores, change("rename", "closed", "open"),
				change("json_set", "open/ExampleOrg/systems/sim-8x.json", "division", `"open"`)),
		} {
			var got []string
			for _, f := range r.Findings {
				if f.Key == "TOKENS_PER_SAMPLE" && strings.Contains(f.File, "/Offline/") {
					got = append(got, fmt.Sprint(f.Rule, " ", f.Severity, " ", f.Found, " ", f.Expected))
				}
			}
			var want []string
			if c.closed != "" {
				severity := map[bool]Severity{true: Warning, false: Error}[rule == "score-open"]
				want = []string{fmt.Sprint(rule, " ", severity, " ", c.found, " ", c.expected)}
			}
			require.Equal(t, want, got, "%v", r.Findings)
		}
	}
}

// The summary has the scores in the order of accuracy.txt.
func TestScoresInTheOrderOfTheFile(t *testing.T) {
	text := "'gen_len': 8166958 'rougeLsum': '35.8119'\n'rouge1': '38.8012' 'rouge2': '15.9231'\n'rougeL': " +
		"'24.5043'\nhash=" + strings.Repeat("0", 64) + "\n"
	r := checked(t, Options{}, change("write", "~/Offline/accuracy/accuracy.txt", text))
	require.True(t, r.Valid, "%v", r.Findings)
	require.Equal(t, "ROUGELSUM: 35.8119  GEN_LEN: 8166958  ROUGE1: 38.8012  ROUGE2: 15.9231  ROUGEL: 24.5043",
		r.Results[0].row["Accuracy"])
}

// Notes are joined as in Python. If Python cannot join them, the summary has no row.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		values map[string]any
		text   string
		ok     bool
	}{
		{map[string]any{}, "", true},
		{map[string]any{"hw_notes": nil}, "None", true},
		{map[string]any{"hw_notes": nil, "sw_notes": "b"}, "b", true},
		{map[string]any{"hw_notes": "a", "sw_notes": "b"}, "a. b", true},
		{map[string]any{"hw_notes": "a", "sw_notes": json.Number("0")}, "a", true},
		{map[string]any{"hw_notes": true}, "True", true},
		{map[string]any{"hw_notes": true, "sw_notes": "b"}, "", false},
		{map[string]any{"sw_notes": []any{"b"}}, "", false},
	} {
		text, ok := notes(&document{values: c.values})
		require.Equal(t, c.text, text, "%v", c.values)
		require.Equal(t, c.ok, ok, "%v", c.values)
	}
}

func TestJSON(t *testing.T) {
	r := checked(t, Options{}, change("delete", sut))
	var b bytes.Buffer
	require.NoError(t, r.JSON(&b))
	var back Report
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	require.Equal(t, Schema, back.Schema)
	require.False(t, back.Valid)
	require.Equal(t, r.Findings, back.Findings)
	require.Equal(t, Counts{Invalid: 2, Errors: r.Counts.Errors}, back.Counts)
	require.Equal(t, "system-json", r.Findings[len(r.Findings)-1].Rule)
	require.Equal(t, Finding{
		Rule: "system-json", Class: Document, Severity: Error, Place: home + "results/sim-8x", File: sut,
		Found: r.Findings[len(r.Findings)-1].Found, Expected: "a JSON object",
		Advice: "write the system's description as a JSON object in this file",
	}, r.Findings[len(r.Findings)-1])

	b.Reset()
	require.NoError(t, checked(t, Options{Submitter: "Nobody", Mode: Compat}).JSON(&b))
	require.Contains(t, b.String(), `"results": [],`, "an empty list, not null")
}

// A tree is rejected until its logs are truncated.
func TestTruncatedTreeIsAccepted(t *testing.T) {
	long := "[\n" + strings.Repeat(`{ "seq_id" : 0, "qsl_idx" : 0, "data" : "01020304" },`+"\n", 1000) + "]\n"
	scores := "{'rouge1': '38.8012', 'rouge2': '15.9231', 'rougeL': '24.5043', 'rougeLsum': '35.8119', 'gen_len': " +
		"8166958}\n"
	var changes []mutation
	for _, s := range []string{"Offline", "Server"} {
		changes = append(changes, change("write", "~/"+s+"/accuracy/mlperf_log_accuracy.json", long),
			change("write", "~/"+s+"/accuracy/accuracy.txt", scores))
	}
	root := recorded{Mutation: changes}.tree(t)
	r, err := Check(context.Background(), root, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"hash", "accuracy-json-size"}, ruleIDs(r))
	_, err = truncate.Tree(context.Background(), root, truncate.Options{Submitter: "ExampleOrg", Backup: t.TempDir()})
	require.NoError(t, err)
	r, err = Check(context.Background(), root, Options{})
	require.NoError(t, err)
	require.True(t, r.Valid, "%v", r.Findings)
}

// The summary's numbers equal those of the organisers' tools: columns of integers contain integers, other columns
// floats, and missing values are empty.
func TestFinalReportColumns(t *testing.T) {
	r := checked(t, Options{Mode: Compat},
		change("json_set", sut, "accelerators_per_node", `"0"`), change("json_set", sut, "accelerator_model_name", `"-"`),
		change("json_set", sut, "framework", `"N/A"`), change("json_set", sut, "hw_notes", `"caf\u00e9 \ud83d\ude00"`),
		change("json_set", sut, "sw_notes", `"two"`))
	require.True(t, r.Valid, "%v", r.Findings)
	var b bytes.Buffer
	ids := map[string]int{"datacenter/closed/Other/x": 41}
	require.NoError(t, r.FinalReport(&b, FinalOptions{Version: "6.1", IDs: ids}))
	require.Equal(t, 42, ids["datacenter/closed/ExampleOrg/sim-8x"])
	for _, line := range []string{
		`"ID": "6.1-0042"`, `"a#": ""`, `"Total Accelerators": 0`, `"Accelerator": ""`, `"Software": ""`,
		`"Notes": "caf\u00e9 \ud83d\ude00. two"`, `"has_power": false`, `"Performance_Result": 1008.82`,
	} {
		require.Contains(t, b.String(), line)
	}
	require.ErrorContains(t, r.FinalReport(&b, FinalOptions{}), "no table of IDs given")
}

func TestPythonNumbers(t *testing.T) {
	for want, f := range map[string]float64{
		"1.0": 1, "0.0001": 0.0001, "1e-05": 0.00001, "1e+16": 1e16, "1234567890123456.0": 1234567890123456,
		"286.068295": 286068295 / 1e6,
	} {
		require.Equal(t, want, pyrepr.Float(f))
	}
	for text, v := range map[string]any{
		"['a', 1, 1.5, None, True]": []any{"a", json.Number("1"), json.Number("1.5"), nil, true},
		"{'k': \"it's\"}":           map[string]any{"k": "it's"},
		"fp8":                       "fp8",
		"100.0":                     json.Number("1e2"),
	} {
		require.Equal(t, text, pyStr(v))
	}
	for text, v := range map[string]any{"8": " 8 ", "7": json.Number("7.9"),
		"12345678901234567890": json.Number("12345678901234567890")} {
		n, ok := pyInt(v)
		require.True(t, ok)
		require.Equal(t, text, n.String())
	}
	for _, v := range []any{"7.9", "", nil, []any{}, json.Number("1e999")} {
		_, ok := pyInt(v)
		require.False(t, ok, "%v", v)
	}
}
