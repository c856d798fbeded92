package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

const (
	home   = "closed/ExampleOrg/"
	bench  = home + "results/sim-8x/llama3.1-8b/"
	sut    = home + "systems/sim-8x.json"
	perfOf = "/performance/run_1/mlperf_log_detail.txt"
	accOf  = "/accuracy/mlperf_log_detail.txt"
	vision = home + "results/sim-8x/qwen3-vl-235b-a22b/"
)

// The changes in the cases below. ~ is the benchmark's folder.
func change(op string, fields ...string) mutation {
	for i := range fields {
		fields[i] = strings.Replace(fields[i], "~/", bench, 1)
	}
	fields = append(fields, "", "", "")
	m := mutation{Op: op, Path: fields[0]}
	switch op {
	case "copy", "rename":
		m.Path, m.From, m.To = "", fields[0], fields[1]
	case "write", "append":
		m.Text = fields[1]
	case "replace":
		m.Old, m.New = fields[1], fields[2]
	default:
		m.Key, m.Value = fields[1], json.RawMessage(fields[2])
	}
	return m
}

// auditLogOf is an audit's log whose first tokens are not compared.
const auditLogOf = "~/Offline/TEST06/accuracy/mlperf_log_accuracy.json"

// answers is an accuracy log of n records of different samples, each times times as long as the answer.
func answers(times, n int, data string, tokens int) string {
	var b strings.Builder
	b.WriteString("[\n")
	for i := range n {
		end := ","
		if i == n-1 {
			end = ""
		}
		fmt.Fprintf(&b, `{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%s", "token_count" : %d }%s`+"\n", i, i,
			strings.Repeat(data, times), times*tokens, end)
	}
	b.WriteString("]\n")
	return b.String()
}

func failing(m mutation) mutation { m.IsError = true; return m }

func sized(m mutation, size int64) mutation { m.Size = size; return m }

// asNetwork moves the tree into the network division.
var asNetwork = []mutation{
	change("rename", "closed", "network"),
	change("json_set", "network/ExampleOrg/systems/sim-8x.json", "division", `"network"`),
	change("json_set", "network/ExampleOrg/systems/sim-8x.json", "is_network", `"true"`),
}

func networkDescribed() []mutation {
	all := slices.Clone(asNetwork)
	for _, f := range layout.NetworkFields {
		all = append(all, change("json_set", "network/ExampleOrg/systems/sim-8x.json", f.Name, `"x"`))
	}
	return all
}

// asV51 moves files to their places in the older layout.
func asV51() []mutation {
	var all []mutation
	for _, s := range []string{"Offline", "Server"} {
		measured := home + "measurements/sim-8x/llama3.1-8b/" + s
		all = append(all,
			change("write", measured+"/x", ""), change("delete", measured+"/x"),
			change("rename", "~/"+s+"/measurements.json", measured+"/sim-8x_"+s+".json"),
			change("rename", "~/"+s+"/user.conf", measured+"/user.conf"),
			change("rename", "~/"+s+"/README.md", measured+"/README.md"),
			change("write", home+"compliance/sim-8x/llama3.1-8b/"+s+"/x", ""),
			change("delete", home+"compliance/sim-8x/llama3.1-8b/"+s+"/x"),
			change("rename", "~/"+s+"/TEST06", home+"compliance/sim-8x/llama3.1-8b/"+s+"/TEST06"),
			change("log_set", "~/"+s+perfOf, "effective_qsl_rng_seed", "1780908523862526354"),
			change("log_set", "~/"+s+perfOf, "effective_sample_index_rng_seed", "14771362308971278857"),
			change("log_set", "~/"+s+perfOf, "effective_schedule_rng_seed", "18209322760996052031"))
	}
	return append(all, change("rename", home+"src", home+"code"))
}

// ruleCases are trees that are not among the recorded ones. rules lists all errors and warnings of strict mode.
var ruleCases = []struct {
	name    string
	from    string // recorded case to start from; empty: the passing tree
	round   string
	changes []mutation
	rules   string // blank-separated
	compat  bool   // valid for the current official checker
	only    bool   // whether it is only a rehearsal
}{
	{name: "interactive within its limits", changes: []mutation{change("copy", "~/Server", "~/Interactive")},
		rules: "configured-limits", compat: true},
	{name: "interactive TPOT at its limit", changes: []mutation{change("copy", "~/Server", "~/Interactive"),
		change("log_set", "~/Interactive"+perfOf, tpotKey, "30000000")}, rules: "folder-ttft-tpot configured-limits",
		compat: true},
	{name: "accuracy log in the performance folder", changes: []mutation{
		change("log_set", "~/Offline"+perfOf, "effective_test_mode", `"AccuracyOnly"`)}, rules: "performance-test-mode",
		compat: true},
	{name: "performance log in the accuracy folder", changes: []mutation{
		change("log_set", "~/Offline"+accOf, "effective_test_mode", `"PerformanceOnly"`)}, rules: "accuracy-test-mode",
		compat: true},
	{name: "short hash", changes: []mutation{change("replace", "~/Offline/accuracy/accuracy.txt", "hash=", "hash=ab\nx=")},
		rules: "hash-form", compat: true},
	{name: "first token skipped in Server", changes: []mutation{
		change("replace", "~/Server/TEST06/verify_accuracy.txt", "First token check pass: True", tokenSkipped)},
		rules: "audit-skipped", compat: true},
	{name: "samples not issued equally", changes: []mutation{
		change("log_set", "~/Offline"+perfOf, "effective_sample_concatenate_permutation", "false")}, rules: "equal-issue",
		compat: true},
	{name: "division in capitals", changes: []mutation{change("json_set", sut, "division", `"Closed"`)},
		rules: "system-division-spelling", compat: true},
	{name: "nodes in words", changes: []mutation{change("json_set", sut, "number_of_nodes", `"two"`)},
		rules: "system-number"},
	{name: "processors in words", changes: []mutation{change("json_set", sut, "host_processors_per_node", `"two"`)},
		rules: "system-number", compat: true},
	{name: "no accelerator as a number", changes: []mutation{change("json_set", sut, "accelerators_per_node", "0")},
		rules: "system-field-empty"},
	{name: "no accelerator as a text", changes: []mutation{change("json_set", sut, "accelerators_per_node", `"0"`)},
		compat: true},
	{name: "is_network as a bool", changes: []mutation{change("json_set", sut, "is_network", "false")},
		rules: "system-network"},
	{name: "description is a list", changes: []mutation{change("write", sut, "[1]")}, rules: "system-json"},
	{name: "description and more", changes: []mutation{change("append", sut, "{}")}, rules: "system-json"},
	{name: "lower-case folder", changes: []mutation{change("rename", "~/Offline", "~/offline")}, rules: "scenario-case",
		compat: true},
	{name: "folder of no scenario in open", changes: []mutation{change("rename", "closed", "open"),
		change("json_set", "open/ExampleOrg/systems/sim-8x.json", "division", `"open"`),
		change("rename", "open/ExampleOrg/results/sim-8x/llama3.1-8b/Offline",
			"open/ExampleOrg/results/sim-8x/llama3.1-8b/Burst")},
		rules: "scenario-spelling inferred accuracy-scenario"},
	{name: "network division", changes: networkDescribed(), rules: "network-sut-name"},
	{name: "network division without its fields", changes: asNetwork, rules: "network-sut-name system-field-missing"},
	{name: "edge system with a datacenter benchmark",
		changes: []mutation{change("json_set", sut, "system_type", `"edge"`)}, rules: "benchmark-known"},
	{name: "both kinds of system", changes: []mutation{change("json_set", sut, "system_type", `"edge,datacenter"`)},
		compat: true},
	{name: "benchmark of an older round", round: "v6.1",
		changes: []mutation{change("rename", bench, home+"results/sim-8x/mixtral-8x7b")}, rules: "benchmark-known"},
	{name: "the layout of v5.1", round: "v5.1", changes: asV51(), compat: true},
	{name: "v5.1 without its audit", round: "v5.1", changes: append(asV51(),
		change("delete", home+"compliance/sim-8x/llama3.1-8b/Server")), rules: "audit-folder audit-text"},
	{name: "a short rehearsal", changes: []mutation{
		change("log_set", "~/Server"+perfOf, "effective_min_duration_ms", "10000"),
		change("log_set", "~/Server"+perfOf, "effective_performance_sample_count", "512"),
		change("log_set", "~/Server"+accOf, "effective_accuracy_sample_count", "512"),
		change("log_set", "~/Offline"+perfOf, "effective_samples_per_query", "512"),
		change("replace", "~/Server/accuracy/accuracy.txt", "8166958", "311000"),
		change("replace", "~/Offline/accuracy/accuracy.txt", "8166958", "9311000"),
	}, rules: "min-duration performance-sample-count accuracy-count offline-samples score-length-low score-length-high"},
	{name: "a short rehearsal that says so", changes: []mutation{
		change("log_set", "~/Server"+perfOf, "effective_min_duration_ms", "10000"),
		change("json_set", "~/Server/measurements.json", "rehearsal", `true`),
		change("json_set", "~/Offline/measurements.json", "rehearsal", `true`)}, rules: "min-duration rehearsal-mark",
		only: true},
	{name: "a rehearsal beside a short run that says nothing", changes: []mutation{
		change("log_set", "~/Server"+perfOf, "effective_min_duration_ms", "10000"),
		change("json_set", "~/Offline/measurements.json", "rehearsal", `true`)}, rules: "min-duration rehearsal-mark"},
	{name: "a rehearsal with a wrong seed", changes: []mutation{
		change("log_set", "~/Server"+perfOf, "effective_qsl_rng_seed", "1"),
		change("json_set", "~/Server/measurements.json", "rehearsal", `true`)}, rules: "seed-qsl rehearsal-mark"},
	{name: "open without scores", changes: []mutation{change("rename", "closed", "open"),
		change("json_set", "open/ExampleOrg/systems/sim-8x.json", "division", `"open"`),
		change("delete", "open/ExampleOrg/results/sim-8x/llama3.1-8b/Offline/accuracy/accuracy.txt")},
		rules: "scores accuracy-files"},
	{name: "a score at its edge", changes: []mutation{change("replace", "~/Offline/accuracy/accuracy.txt", "'38.8012'",
		"'38.391408000000006'")}, compat: true},
	{name: "a score just below its edge", changes: []mutation{change("replace", "~/Offline/accuracy/accuracy.txt",
		"'38.8012'", "'38.391408'")}, rules: "score-low"},
	{name: "a low score that is not judged", changes: []mutation{change("replace", "~/Offline/accuracy/accuracy.txt",
		"'38.8012'", "'1.1'"), change("replace", "~/Offline/accuracy/accuracy.txt", "hash=", "not judged: x\nhash=")},
		rules: "score-not-judged"},
	{name: "a low score in a rehearsal that is not judged", changes: []mutation{
		change("replace", "~/Offline/accuracy/accuracy.txt", "'38.8012'", "'1.1'"),
		change("replace", "~/Offline/accuracy/accuracy.txt", "hash=", "not judged: x\nhash="),
		change("json_set", "~/Offline/measurements.json", "rehearsal", `true`)}, rules: "score-not-judged rehearsal-mark",
		only: true},
	{name: "a score is missing", changes: []mutation{change("replace", "~/Offline/accuracy/accuracy.txt", "'rougeLsum'",
		"'rougeL-sum'")}, rules: "score-missing"},
	{name: "a score that is no number", changes: []mutation{change("replace", "~/Offline/accuracy/accuracy.txt",
		"'38.8012'", "'38.80.12'")}, rules: "scores"},
	{name: "no user.conf but a folder", changes: []mutation{change("delete", "~/Server/user.conf"),
		change("write", "~/Server/user.conf/x", "x")}, rules: "user-conf"},
	{name: "empty user.conf", changes: []mutation{change("write", "~/Server/user.conf", "")}, rules: "user-conf"},
	{name: "a rehearsal that says so", changes: []mutation{change("json_set", "~/Server/measurements.json", "rehearsal",
		`true`)}, rules: "rehearsal-mark", compat: true, only: true},
	{name: "measurements in a list", changes: []mutation{change("write", "~/Server/measurements.json", "[]")},
		rules: "measurements-json"},
	{name: "log without its end", changes: []mutation{change("append", "~/Server"+perfOf, `:::MLLOG {"key": "num_err`)},
		rules: "performance-log"},
	{name: "log with a broken line", changes: []mutation{change("append", "~/Server"+accOf, ":::MLLOG {\n")},
		rules: "accuracy-log"},
	{name: "log with a value that is no JSON", changes: []mutation{
		change("log_add", "~/Server"+perfOf, "result_x", "-nan")}, rules: "performance-log"},
	{name: "empty log", changes: []mutation{change("write", "~/Server"+perfOf, "")}, rules: "performance-log"},
	{name: "seed as a text", changes: []mutation{change("log_set", "~/Server"+perfOf, "effective_qsl_rng_seed",
		`"2085463073848966840x"`)}, rules: "seed-qsl"},
	{name: "the seed as a text", changes: []mutation{change("log_set", "~/Server"+perfOf, "effective_qsl_rng_seed",
		`"2085463073848966840"`)}, rules: "seed-qsl"},
	{name: "the seed as the nearest decimal", changes: []mutation{change("log_set", "~/Server"+perfOf,
		"effective_qsl_rng_seed", `2085463073848966840.0`)}, rules: "seed-qsl"},
	{name: "null where true is asked for", changes: []mutation{change("log_set", "~/Server"+perfOf, "early_stopping_met",
		"null")}, rules: "early-stopping"},
	{name: "true where a number is asked for", changes: []mutation{change("log_set", "~/Offline"+perfOf,
		"effective_min_query_count", "true")}, compat: true},
	{name: "a count as a text", changes: []mutation{change("log_set", "~/Offline"+perfOf, "effective_samples_per_query",
		`"13368"`)}, rules: "offline-samples"},
	{name: "the figure as a text", changes: []mutation{change("log_set", "~/Offline"+perfOf, "result_tokens_per_second",
		`" 88_2.5 "`)}, compat: true},
	{name: "true for a number of nodes", changes: []mutation{change("json_set", sut, "number_of_nodes", "true")},
		compat: true},
	{name: "notes in a list", changes: []mutation{change("json_set", sut, "hw_notes", `["a"]`),
		change("json_set", sut, "sw_notes", `""`)}, compat: true},
	{name: "notes in a list and a text", changes: []mutation{change("json_set", sut, "hw_notes", `["a"]`),
		change("json_set", sut, "sw_notes", `"b"`)}, rules: "system-notes"},
	{name: "notes that are a number", changes: []mutation{change("json_set", sut, "hw_notes", `null`),
		change("json_set", sut, "sw_notes", `7`)}, rules: "system-notes"},
	{name: "lengths outside of their bounds in open", from: "open-low-accuracy", changes: []mutation{
		change("replace", "open/ExampleOrg/results/sim-8x/llama3.1-8b/Offline/accuracy/accuracy.txt", "8166958", "9311000")},
		rules: "score-open", compat: true},
	{name: "an accuracy run of another scenario",
		changes: []mutation{change("log_set", "~/Server"+accOf, "effective_scenario", `"Offline"`)},
		rules:   "accuracy-scenario", compat: true},
	{name: "the power log beside LoadGen's", changes: []mutation{change("write", "~/Offline/performance/power/client.json",
		"{}"),
		change("write", "~/Offline/performance/run_1/spl.txt", "x")}, rules: "power", compat: true},
	{name: "the power log without power", changes: []mutation{change("write", "~/Offline/performance/run_1/spl.txt", "x")},
		rules: "performance-files", compat: true},
	{name: "an audit log without answers", changes: []mutation{change("write", auditLogOf, "[\n]\n")}, rules: "audit-log",
		compat: true},
	{name: "an audit log of no bytes", changes: []mutation{change("write", auditLogOf, "")}, rules: "audit-log",
		compat: true},
	{name: "an audit log that was cut", changes: []mutation{change("write", auditLogOf,
		strings.TrimSuffix(answers(4, 100, "05000000", 1), "]\n"))}, rules: "audit-log", compat: true},
	{name: "an audit log that was truncated", changes: []mutation{change("write", auditLogOf,
		answers(4, 100, "05000000", 1)[:4096]+"\n\n...\n\n")}, rules: "audit-log audit-log-notes", compat: true},
	{name: "an audit log of 64-bit tokens", changes: []mutation{change("write", auditLogOf,
		answers(4, 100, "0500000000000000", 1))}, rules: "audit-log-notes", compat: true},
	{name: "an audit log whose counts fit nothing",
		changes: []mutation{change("write", auditLogOf, answers(4, 100, "05000000", 3))}, rules: "audit-log", compat: true},
	{name: "an audit log that goes on after its end",
		changes: []mutation{change("write", auditLogOf, answers(4, 100, "09F4010005000000", 2))}, rules: "audit-log-notes",
		compat: true},
	{name: "no audit log", changes: []mutation{change("delete", auditLogOf),
		change("write", "~/Offline/TEST06/accuracy/notes", "x")}, rules: "audit-files", compat: true},
	{name: "benchmarks that generate no text", changes: []mutation{change("copy", strings.TrimSuffix(bench, "/"),
		home+"results/sim-8x/resnet50"),
		change("copy", strings.TrimSuffix(bench, "/"), home+"results/sim-8x/dlrm-v3")}, rules: "benchmark-not-judged",
		compat: true},
	{name: "nothing but a benchmark that generates no text",
		changes: []mutation{change("rename", strings.TrimSuffix(bench, "/"), home+"results/sim-8x/retinanet")},
		rules:   "benchmark-not-judged", compat: true},
	{name: "a misspelt benchmark beside one that generates no text",
		changes: []mutation{change("copy", strings.TrimSuffix(bench, "/"), home+"results/sim-8x/llama3-8b"),
			change("copy", strings.TrimSuffix(bench, "/"), home+"results/sim-8x/resnet")},
		rules: "benchmark-not-judged benchmark-known"},
	{name: "two runs in one log", changes: []mutation{change("log_add", "~/Server"+perfOf, "effective_scenario",
		`"Server"`)}, rules: "log-repeated-key", compat: true},
	{name: "an error in the log", changes: []mutation{failing(change("log_add", "~/Server"+perfOf, "error_x", `"late"`))},
		rules: "performance-error", compat: true},
	{name: "metric in words", changes: []mutation{change("log_set", "~/Offline"+perfOf, "result_tokens_per_second",
		`"fast"`)}, rules: "metric"},
	{name: "log of no scenario", changes: []mutation{change("log_set", "~/Offline"+perfOf, "effective_scenario",
		`"Burst"`)}, rules: "metric inferred"},
	{name: "power folder", changes: []mutation{change("write", "~/Offline/performance/power/log.txt", "x")},
		rules: "power", compat: true},
	{name: "broken link", changes: []mutation{change("write", home+"src/x.md", "x")}, compat: true},
	{name: "folder beside the divisions", changes: []mutation{change("write", "misc/notes.md", "x")}, rules: "root-folder",
		compat: true},
	{name: "a division without results", changes: []mutation{change("write", "open/ExampleOrg/src/notes.md", "x")},
		rules: "no-system", compat: true},
	{name: "documents beside the divisions", changes: []mutation{change("write", "notes.md", "x"),
		change("write", "notes.pdf", "x")}, compat: true},
	{name: "no results folder", changes: []mutation{change("delete", home+"results")},
		rules: "no-result no-system system-without-results", compat: true},
	{name: "huge description", changes: []mutation{sized(change("fill", sut), maxDocument+1)}, rules: "system-json"},
	{name: "huge scores", changes: []mutation{sized(change("fill", "~/Server/accuracy/accuracy.txt"), 80<<20)},
		rules: "scores submitter-files"},
	{name: "huge log", changes: []mutation{sized(change("fill", "~/Server"+perfOf), 3<<30)},
		rules: "performance-log submitter-files"},
	{name: "interactive with the latency bound of server", from: "qwen3-vl-ok", changes: []mutation{
		change("copy", vision+"Server", vision+"Interactive"),
		change("log_set", vision+"Interactive"+accOf, "effective_accuracy_sample_count", "8000"),
		change("log_set", vision+"Interactive"+perfOf, "effective_target_latency_ns", "12000000000")},
		rules: "folder-latency-bound", compat: true},
	{name: "interactive with its own latency bound", from: "qwen3-vl-ok", changes: []mutation{
		change("copy", vision+"Server", vision+"Interactive"),
		change("log_set", vision+"Interactive"+accOf, "effective_accuracy_sample_count", "8000"),
		change("log_set", vision+"Interactive"+perfOf, "effective_target_latency_ns", "1500000000")}, compat: true},
	{name: "audit text of one endless line", changes: []mutation{sized(change("fill",
		"~/Server/TEST06/verify_accuracy.txt"), 8<<20)}, rules: "audit-result"},
}

// A warning about records occurs once per folder, however many records cause it.
func TestAuditLogNotesAreReportedOnce(t *testing.T) {
	r := checked(t, Options{}, change("write", auditLogOf, answers(4, 100, "09F4010005000000", 2)))
	require.Len(t, r.Findings, 1)
	require.Equal(t, "eos_inside", r.Findings[0].Key)
	require.Contains(t, r.Findings[0].Found, "(100 records have it)")
}

func ruleIDs(r *Report) []string {
	var ids []string
	for _, f := range r.Findings {
		if !slices.Contains(ids, f.Rule) {
			ids = append(ids, f.Rule)
		}
	}
	return ids
}

func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := recordedCase(t, c.from, c.changes).tree(t)
			strict, err := Check(context.Background(), root, Options{Round: c.round})
			require.NoError(t, err)
			require.ElementsMatch(t, strings.Fields(c.rules), ruleIDs(strict), "%v", strict.Findings)
			compat, err := Check(context.Background(), root, Options{Round: c.round, Mode: Compat})
			require.NoError(t, err)
			require.Equal(t, c.compat, compat.Valid, "%v", compat.Findings)
			require.Equal(t, c.only || strict.Counts.Errors == 0, strict.OnlyRehearsal())
			for _, f := range strict.Findings {
				require.NotContains(t, f.File, root)
				require.NotEmpty(t, f.Found, f)
			}
		})
	}
}

// Some tree of the tests, new or recorded, breaks each rule.
func TestEveryRuleIsTested(t *testing.T) {
	seen := map[string]bool{"too-many-folders": true, "link-outside": true} // tests of their own build such trees
	for _, c := range ruleCases {
		for id := range strings.FieldsSeq(c.rules) {
			seen[id] = true
		}
	}
	for _, c := range clientCases {
		for id := range strings.FieldsSeq(c.rules) {
			seen[id] = true
		}
	}
	untested := func() (ids []string) {
		for _, r := range Rules() {
			if !seen[r.ID] {
				ids = append(ids, r.ID)
			}
		}
		return ids
	}
	for _, c := range cases(t) {
		if len(untested()) == 0 {
			return
		}
		r, err := Check(context.Background(), c.tree(t), c.options(t, Strict))
		require.NoError(t, err)
		for _, id := range ruleIDs(r) {
			seen[id] = true
		}
	}
	require.Empty(t, untested(), "no tree breaks these rules")
}

// recordedCase returns the recorded case of that name with changes; without a name the passing tree.
func recordedCase(t testing.TB, name string, changes []mutation) recorded {
	t.Helper()
	if name == "" {
		return recorded{Mutation: changes}
	}
	for _, r := range cases(t) {
		if r.Name == name {
			r.Mutation = slices.Concat(r.Mutation, changes)
			return r
		}
	}
	t.Skipf("the recorded cases have no %s", name)
	return recorded{}
}

func TestTableOfRules(t *testing.T) {
	known := map[string]bool{}
	for _, r := range Rules() {
		require.Regexp(t, `^[a-z][a-z0-9-]*$`, r.ID)
		require.False(t, known[r.ID], "%s stands twice in the table", r.ID)
		known[r.ID] = true
		require.NotEmpty(t, r.Class, r.ID)
		require.NotEmpty(t, r.Severity, r.ID)
		require.NotEmpty(t, r.Advice, r.ID)
		require.NotNil(t, r.check, r.ID)
	}
}

func TestTablesOfRounds(t *testing.T) {
	for _, round := range rounds.All() {
		of := tablesOf(round)
		require.NotEmpty(t, of)
		for name, b := range of {
			require.Positive(t, b.PerformanceCount, name)
			require.NotEmpty(t, b.Systems, name)
			for kind, set := range b.Systems {
				for _, s := range folderNames(set.All()) {
					require.NotEmpty(t, canonical(s), "%s on %s: %s", name, kind, s)
					require.Positive(t, b.accuracyCount(s), name)
					require.NotEmpty(t, b.atLeast(s), name)
				}
				if slices.Contains(set.Required, models.Offline) {
					require.Positive(t, b.OfflineSamples, name)
				}
			}
			for _, target := range slices.Concat(b.AtLeast, b.AtMost) {
				require.NotNil(t, patterns[target.Metric], "%s: %s", name, target.Metric)
			}
			for _, audit := range b.Audits {
				require.Contains(t, audits, audit, name)
			}
		}
	}
	current, err := rounds.Find("v6.1")
	require.NoError(t, err)
	of := tablesOf(current)
	vl := of["qwen3-vl-235b-a22b"]
	require.Equal(t, 8000, vl.accuracyCount("Interactive"))
	require.Equal(t, 48289, vl.accuracyCount("Server"))
	require.Equal(t, 0.7799219999999999, vl.atLeast("Interactive")[0].Bound)
	require.Equal(t, 0.782397, vl.atLeast("Server")[0].Bound)
	require.Equal(t, 38.391408000000006, of["llama3.1-8b"].AtLeast[0].Bound)
	require.Equal(t, 4395, of["gpt-oss-120b"].accuracyCount("Offline"))
}
