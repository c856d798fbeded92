package check

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

var update = flag.Bool("update-limits", false, "write testdata/limits.txt anew")

// scenarios are the names of folders and of logs; the last three are another client's.
var scenarios = []string{"Offline", "Server", "Interactive", "SingleStream", "MultiStream", "offline", "server",
	"interactive"}

// resultOf returns a scenario's folder with a performance log of another scenario.
func resultOf(round *rounds.Round, name, folder, ran, system string, otherClient bool) *scope {
	c := &checker{round: round, tables: tablesOf(round)}
	up := &scope{checker: c, level: systemLevel, system: &document{values: map[string]any{"system_type": system}}}
	up = &scope{checker: c, level: benchmarkLevel, name: name, up: up, bench: c.tables[name]}
	d := &detail{path: "log", values: map[string]any{"effective_scenario": ran}}
	return &scope{checker: c, level: resultLevel, name: folder, up: up,
		result: &result{performance: d, accuracy: &detail{}, otherClient: otherClient, scores: &scores{}}}
}

// edges are the values that a check is tried with: absent, and around each of the limits in ns.
func edges(limits ...int64) []any {
	list := []any{nil}
	for _, l := range limits {
		list = append(list, l-1, l, l+1)
	}
	return list
}

// accepted returns the values of a key that a check accepts.
func accepted(s *scope, check func(*scope, breachFunc), key string, values []any, others ...string) string {
	var list []string
	for _, other := range others {
		s.result.performance.values[other] = int64(1)
	}
	for _, v := range values {
		if s.result.performance.values[key] = v; v == nil {
			delete(s.result.performance.values, key)
		}
		broken := false
		check(s, func(string, string, any, any) { broken = true })
		if !broken {
			list = append(list, fmt.Sprint(v))
		}
	}
	for _, one := range append(others, key) {
		delete(s.result.performance.values, one)
	}
	return strings.Join(list, " ")
}

// limitsOf returns what a folder with a log accepts, one check a line; all values are left out.
func limitsOf(s *scope, rules *benchmark) (text string) {
	add := func(name, key string, check func(*scope, breachFunc), values []any, others ...string) {
		if kept := accepted(s, check, key, values, others...); kept != strings.Trim(fmt.Sprint(values), "[]") {
			text += fmt.Sprintf("      %s: %s\n", name, kept)
		}
	}
	var ttft, tpot, whole []int64
	for _, name := range []string{"Server", "Interactive"} {
		if first, next, ok := rules.limits(name); ok {
			ttft, tpot = append(ttft, first.Nanoseconds()), append(tpot, next.Nanoseconds())
		}
	}
	for _, name := range scenarios {
		if bound, ok := rules.TargetLatencyNS[models.Scenario(name)]; ok {
			whole = append(whole, bound)
		}
	}
	add("TTFT", ttftKey, ttftTPOT, edges(ttft...), tpotKey)
	add("TPOT", tpotKey, ttftTPOT, edges(tpot...), ttftKey)
	add("the folder's TTFT", ttftKey, folderTTFTTPOT, edges(ttft...), tpotKey)
	add("the folder's TPOT", tpotKey, folderTTFTTPOT, edges(tpot...), ttftKey)
	add("configured TTFT", "requested_server_ttft_latency", configuredLimits, edges(ttft...))
	add("configured TPOT", "requested_server_tpot_latency", configuredLimits, edges(tpot...))
	add("latency", latencyKey, latency, edges(whole...))
	add("bound", "effective_target_latency_ns", latencyBound, edges(whole...))
	add("the folder's bound", "effective_target_latency_ns", folderLatencyBound, edges(whole...))
	return text
}

// limitsOfLogs writes what each folder accepts of each log, the same ones together.
func limitsOfLogs(w io.Writer, round *rounds.Round, rules *benchmark) {
	var texts []string
	places := map[string][]string{}
	for _, folder := range scenarios {
		for _, ran := range scenarios {
			for _, client := range []string{"", " of another client"} {
				text := limitsOf(resultOf(round, rules.Name, folder, ran, "edge", client != ""), rules)
				if places[text] == nil {
					texts = append(texts, text)
				}
				places[text] = append(places[text], ran+" in "+folder+client)
			}
		}
	}
	for _, text := range texts {
		fmt.Fprintf(w, "    %s:\n%s", strings.Join(places[text], ", "), text)
	}
}

// TestLimitsOfEveryBenchmark compares what each check of a limit accepts, for every benchmark, folder and log, with
// testdata/limits.txt.
func TestLimitsOfEveryBenchmark(t *testing.T) {
	var got bytes.Buffer
	for _, round := range rounds.All() {
		for _, b := range round.Benchmarks {
			rules := newBenchmark(b)
			fmt.Fprintf(&got, "%s %s: types %v, offline %d, performance %d, llm %v\n", round.Name, b.Name,
				SystemTypes(b.Name, round.Name), rules.OfflineSamples, rules.PerformanceCount, rules.isLLM())
			for _, folder := range scenarios {
				ttft, tpot, ok := rules.limits(folder)
				fmt.Fprintf(&got, "  %s: %v %v %v, %d answers, at least %v, unit %s, metric %q\n", folder, ttft,
					tpot, ok, rules.accuracyCount(folder), rules.atLeast(folder), rules.unit(folder), rules.instead(folder))
			}
			if round.Name == rounds.Current {
				limitsOfLogs(&got, round, rules)
			}
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile("testdata/limits.txt", got.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/limits.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// A folder may hold the log of its own scenario, and on an edge system one that the result may be inferred from.
func TestLogsThatAFolderMayHold(t *testing.T) {
	var got []string
	for _, folder := range scenarios {
		for _, ran := range scenarios {
			for _, system := range []string{"datacenter", "edge", "Edge,datacenter", ""} {
				s := resultOf(rounds.All()[0], "llama3.1-8b", folder, ran, system, false)
				own := strings.EqualFold(ran, folder) ||
					strings.EqualFold(ran, "Server") && strings.EqualFold(folder, "Interactive")
				require.Equal(t, !own, isInferred(ran, folder), "%s in %s", ran, folder)
				if s.mayHold(s.result.performance) && !own {
					got = append(got, ran+" in "+folder+" on "+system)
				}
			}
		}
	}
	require.ElementsMatch(t, []string{"MultiStream in Offline on edge", "MultiStream in Offline on Edge,datacenter",
		"MultiStream in offline on edge", "MultiStream in offline on Edge,datacenter",
		"SingleStream in Offline on edge", "SingleStream in Offline on Edge,datacenter",
		"SingleStream in offline on edge", "SingleStream in offline on Edge,datacenter",
		"SingleStream in MultiStream on edge", "SingleStream in MultiStream on Edge,datacenter"}, got)
}

// The answers of another client have the length that the organisers require, where TEST09 is an audit.
func TestLengthOfAnotherClientsAnswers(t *testing.T) {
	values := []any{nil, 1150.37, minOutputTokens, 1300.0, maxOutputTokens, 1406.03, "1300"}
	for _, round := range rounds.All() {
		for _, b := range round.Benchmarks {
			s := resultOf(round, b.Name, "Offline", "Offline", "datacenter", true)
			want := "1150.38 1300 1406.02"
			if !slices.Contains(b.Audits, "TEST09") {
				want = "<nil> 1150.37 1150.38 1300 1406.02 1406.03 1300"
			}
			require.Equal(t, want, accepted(s, clientOutputLength, "mean_output_tokens", values), b.Name)
		}
	}
}

// The pattern of a metric finds its figure in the forms in which scorers print it, and in no other.
func TestPatternsOfMetrics(t *testing.T) {
	for line, want := range map[string]string{
		`{'rouge1': '38.1', 'rouge2': 2.5, 'rougeL':  '3', 'rougeLsum': 4.25, 'gen_len': 5, 'tokens_per_sample': 6.5}`: "" +
			"GEN_LEN 5, ROUGE1 38.1, ROUGE2 2.5, ROUGEL 3, ROUGELSUM 4.25, TOKENS_PER_SAMPLE 6.5",
		`{'exact_match': 81.1, 'gsm8k': 73.2, 'mbxp': 60.1}`: "exact_match 81.1, gsm8k_accuracy 73.2, mbxp_accuracy 60.1",
		`{"f1": 0.78}`: "F1_HIERARCHICAL 0.78", ` {"f1": 0.78}`: "", `{"f1": 0.78`: "",
		`mAP=0.5`: "mAP 0.5", `'Total': 0.5`: "mAP 0.5", `Accuracy: 0.5`: "E2E_ACCURACY 0.5", ` Accuracy: 0.5`: "",
		`'gen_len': '5'`: "", `'gen_len':5`: "", `'gen_len':  5`: "", `'rouge1':5`: "", `"rouge1": 5`: "",
	} {
		var got []string
		s := &scores{}
		for _, metric := range sortedKeys(patterns) {
			if text, _, ok := s.value(metric, line); ok {
				got = append(got, metric+" "+text)
			}
		}
		require.Equal(t, want, strings.Join(got, ", "), line)
	}
	s := &scores{}
	_, _, ok := s.value("ROUGE1", "'rouge1': 1.2.3")
	require.False(t, ok)
	require.ErrorContains(t, s.err, "is not a number")
}

// The verdict of a report, and its last lines.
func TestVerdictsOfReports(t *testing.T) {
	rehearsal := Finding{Severity: Error, Class: Rehearsal, Rule: "short", Key: "k", Found: "1", Expected: "2"}
	other := Finding{Severity: Error, Class: Run, Rule: "other"}
	warning := Finding{Severity: Warning, Class: Run, Rule: "odd", File: "f", Found: "3", Advice: "look"}
	for name, c := range map[string]struct {
		r    Report
		want string
	}{
		"valid": {Report{Valid: true}, "0 results valid, 0 not; 0 errors, 0 warnings\nThe submission is valid.\n"},
		"not judged": {Report{Valid: true, Counts: Counts{Valid: 1, NotJudged: 2, Warnings: 1}}, "1 result valid, " +
			"0 not, 2 not judged; 0 errors, 1 warning\nThe submission is valid, except for results that were not judged.\n"},
		"a rehearsal": {Report{Rehearsal: true, Findings: []Finding{rehearsal, rehearsal, warning}, Counts: Counts{Invalid: 1,
			Warnings: 1}, Results: []Result{{Path: "p", Rehearsal: true}}}, "warning [odd, run] f: found 3; look\n\n" +
			"rehearsal\tp\t0 \n\nround ,  rules: 0 results valid, 1 rehearsal; no other errors, " +
			"1 warning\nThe submission is a rehearsal and has no other errors. What makes it a rehearsal:\n" +
			"  short\tk\t1; a submission needs 2\t2 places\n"},
		"not marked": {Report{Mode: Strict, Findings: []Finding{rehearsal}, Counts: Counts{Invalid: 1, Errors: 1},
			Results: []Result{{Path: "p"}}}, "0 results valid, 1 not; 1 error, 0 warnings\nThe submission is not " +
			"valid: all its errors come from short runs, but it is not marked as a rehearsal.\n"},
		"not marked, compat": {Report{Mode: Compat, Findings: []Finding{rehearsal}, Results: []Result{{Path: "p"}}},
			"The submission is not valid.\n"},
		"another error": {Report{Mode: Strict, Findings: []Finding{rehearsal, other}, Results: []Result{{Path: "p"}}},
			"The submission is not valid.\n"},
	} {
		var b bytes.Buffer
		require.NoError(t, c.r.Text(&b))
		require.True(t, strings.HasSuffix(b.String(), c.want), "%s: %s", name, b.String())
	}
	for word, r := range map[string]Result{"valid": {Valid: true}, "rehearsal": {Rehearsal: true}, "invalid": {}} {
		require.Equal(t, word, r.word())
	}
}

func TestNotesOfASystem(t *testing.T) {
	for _, c := range []struct {
		hw, sw any
		want   string
		ok     bool
	}{
		{"h", "s", "h. s", true}, {"h", "", "h", true}, {"h", nil, "h", true}, {"", "s", "s", true},
		{nil, "s", "s", true},
		{nil, nil, "None", true}, {"", "", "", true}, {5, "s", "", false}, {"h", 5, "", false}, {0, "s", "s", true},
		{5, "", "5", true},
	} {
		text, ok := notes(&document{values: map[string]any{hardwareNotes: c.hw, softwareNotes: c.sw}})
		require.Equal(t, c.ok, ok, "%v %v", c.hw, c.sw)
		require.Equal(t, c.want, text, "%v %v", c.hw, c.sw)
	}
	text, ok := notes(&document{})
	require.True(t, ok)
	require.Empty(t, text)
	for want, v := range map[string][2]any{"16": {2, "8"}, "0": {0, 8}, "": {"x", 8}} {
		values := map[string]any{"number_of_nodes": v[0], "accelerators_per_node": v[1]}
		require.Equal(t, want, accelerators(&document{values: values}))
	}
	require.Empty(t, accelerators(&document{values: map[string]any{"number_of_nodes": 1}}))
}

func TestTextsInASCII(t *testing.T) {
	require.Equal(t, `~\u007f\u00e9\uffff\ud800\udc00`, string(ascii([]byte("~\x7fé\uffff\U00010000"))))
}
