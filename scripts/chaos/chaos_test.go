package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A seed draws the same test every time, and the seeds draw every protocol, fault, action and client.
func TestSeedsDrawEverything(t *testing.T) {
	drawn := map[string]bool{}
	for seed := range uint64(20000) {
		sc := draw(seed)
		if seed < 100 {
			require.Equal(t, sc.String(), draw(seed).String())
			require.Equal(t, sc.args("f", nil, "", ""), draw(seed).args("f", nil, "", ""))
		}
		drawn[sc.Protocol.Backend+sc.Protocol.API+sc.Protocol.Model+sc.Protocol.Prompt] = true
		drawn["client "+sc.Client], drawn["action "+sc.Action], drawn[sc.Test] = true, true, true
		drawn[sc.Earlier], drawn["audit"] = true, drawn["audit"] || sc.Audit
		for _, f := range sc.Faults {
			drawn["fault "+f.Name] = true
			require.True(t, f.fault.can == nil || f.fault.can(sc), "%s: %s", f.Name, sc)
		}
	}
	for _, p := range protocols {
		require.True(t, drawn[p.Backend+p.API+p.Model+p.Prompt], p)
	}
	for _, f := range faults {
		require.True(t, drawn["fault "+f.name], f.name)
	}
	for _, name := range append(actionNames(), "") {
		require.True(t, drawn["action "+name], name)
	}
	for _, name := range []string{"client loop", "client unix", "client https", "client https+http2", "client proxy",
		"client https+proxy",
		"Offline", "Server", "SingleStream", "--force", "--resume", "audit"} {
		require.True(t, drawn[name], name)
	}
}

// A series of the length that make test has draws every known way to a false VALID, for any seed.
func TestSeriesDrawWaysToFalseValid(t *testing.T) {
	all := regexp.MustCompile("")
	for seed := range uint64(50) {
		seeds := seedsOf(seed, 60, all)
		require.Len(t, seeds, 60)
		for _, name := range mustDraw {
			require.True(t, slices.ContainsFunc(seeds, func(s uint64) bool { return draw(s).has(name) }), "%d: %s", seed, name)
		}
	}
	require.Len(t, seedsOf(1, 2, all), 2)
	for _, s := range seedsOf(1, 20, regexp.MustCompile("SIGINT twice")) {
		require.Equal(t, "SIGINT twice", draw(s).Action)
	}
}

// ended is an accuracy test of four samples that succeeded: one request each, with a whole answer.
func ended() (*trial, *result) {
	sc := &scenario{Seed: 5, Protocol: protocols[0], Test: "Offline", Accuracy: true, Rows: 4, Queries: 4, MaxErrors: -1,
		Client: "loop"}
	t := &trial{sc: sc, truth: &truth{events: map[string]bool{}}}
	r := &result{record: &record{Verdict: "VALID"}}
	r.record.LoadGen.Complete = true
	r.record.Samples.Issued, r.record.Samples.Completed = 4, 4
	for row := range 4 {
		answer := sc.genuine(row, maxTokens)
		t.truth.entries = append(t.truth.entries, &entry{N: row, Rows: []int{row}, Armed: true, Whole: true, Done: true})
		r.samples = append(r.samples, sample{Index: row, Input: len(promptIDs(row)), Output: len(answer.ids), DoneNS: 1})
		r.answers = append(r.answers, answered{Index: row, Data: sc.logged(answer)})
		r.record.Tokens.Input += len(promptIDs(row))
		r.record.Tokens.Output += len(answer.ids)
	}
	return t, r
}

// failed makes the sample of row 0 fail for a reason, as in a correct record.
func failed(t *trial, r *result, fault, reason string) {
	t.truth.entries[0].Fault = fault
	r.record.Verdict, t.exit, r.attempts = "INVALID", 1, 1
	r.record.Samples.Failed, r.record.Samples.ByReason = 1, map[string]int{reason: 1}
	r.record.Tokens.Input -= r.samples[0].Input
	r.record.Tokens.Output -= r.samples[0].Output
	r.samples[0].Reason, r.answers[0].Data = reason, ""
	r.reason("failed_samples")
}

func (r *result) reason(code string) {
	r.record.Reasons = append(r.record.Reasons, struct {
		Code string `json:"code"`
		Text string `json:"text"`
	}{code, "because"})
}

// The judge accepts a correct result.
func TestTruthHolds(t *testing.T) {
	for name, change := range map[string]func(*trial, *result){
		"all is well":   func(*trial, *result) {},
		"one failed":    func(t *trial, r *result) { failed(t, r, "bad_json", "bad_json") },
		"another's":     func(t *trial, r *result) { failed(t, r, "answer_of_another", "wrong_answer") },
		"stray bytes":   func(t *trial, r *result) { stray(t, r); r.record.Verdict, t.exit = "INVALID", 1 },
		"slow machine":  func(t *trial, r *result) { r.record.Verdict, t.exit = "INVALID", 1; r.reason("client_lag") },
		"not one begun": func(t *trial, r *result) { *r, t.truth.entries, t.exit, t.sc.Early = result{}, nil, 3, true },
	} {
		tr, r := ended()
		change(tr, r)
		require.Empty(t, judgeTrial(tr, r).violations, name)
	}
}

func stray(t *trial, r *result) {
	t.truth.entries[2].Fault = "stray_bytes"
	r.reason("unasked_answers")
}

// The judge detects each false statement.
func TestLiesAreFound(t *testing.T) {
	for _, lie := range []struct {
		name, found string
		tell        func(*trial, *result)
	}{
		{"VALID in spite of a fault", "false VALID: 1 requests had a fault that fails",
			func(t *trial, _ *result) { t.truth.entries[1].Fault = "no_end" }},
		{"VALID in spite of a stray answer", "false VALID: 1 requests had answer_twice",
			func(t *trial, _ *result) { t.truth.entries[1].Fault = "answer_twice" }},
		{"VALID with another model's answer", "an answer of another model",
			func(t *trial, _ *result) { t.truth.entries[1].Model = anotherModel }},
		{"another sample's answer", "another answer for sample 1",
			func(_ *trial, r *result) { r.answers[1].Data = r.answers[2].Data }},
		{"an answer left out", "VALID with 3 answers of 4", func(_ *trial, r *result) { r.answers = r.answers[:3] }},
		{"an answer twice", "has sample 0 twice", func(_ *trial, r *result) { r.answers = append(r.answers, r.answers[0]) }},
		{"an answer of a failed sample", "failed, and the accuracy log has an answer", func(t *trial, r *result) {
			kept := r.answers[0]
			failed(t, r, "bad_json", "bad_json")
			r.answers[0] = kept
		}},
		{"a sample without an end", "is outstanding in a VALID run", func(_ *trial, r *result) { r.samples[3].DoneNS = 0 }},
		{"tokens that nobody sent", "is recorded with",
			func(_ *trial, r *result) { r.samples[3].Output++; r.record.Tokens.Output++ }},
		{"another sum of tokens", "the record", func(_ *trial, r *result) { r.record.Tokens.Output++ }},
		{"success that no answer gave", "and has 0 genuine answers",
			func(t *trial, _ *result) { t.truth.entries = t.truth.entries[1:] }},
		{"a failure without a fault", "no fault of its requests explains",
			func(t *trial, r *result) { failed(t, r, "", "bad_json") }},
		{"another reason than the fault's", "no fault of its requests explains",
			func(t *trial, r *result) { failed(t, r, "bad_json", "empty") }},
		{"INVALID for no cause", "false INVALID", func(t *trial, r *result) {
			r.record.Verdict, t.exit = "INVALID", 1
			r.reason("token_mismatch")
		}},
		{"a fault that failed nothing", "failed 0 times", func(t *trial, r *result) {
			t.truth.entries[0].Fault, r.record.Verdict, t.exit = "bad_json", "INVALID", 1
		}},
		{"a sample lost", "4 samples issued, 3 completed", func(_ *trial, r *result) { r.record.Samples.Completed = 3 }},
		{"samples left out", "VALID with 3 samples of 4",
			func(_ *trial, r *result) { r.record.Samples.Issued, r.record.Samples.Completed = 3, 3 }},
		{"a failure not written down", "failures.jsonl has 0 lines",
			func(t *trial, r *result) { failed(t, r, "bad_json", "bad_json"); r.attempts = 0 }},
		{"exit 0 of an INVALID run", "exit code 0",
			func(t *trial, r *result) { failed(t, r, "bad_json", "bad_json"); t.exit = 0 }},
		{"exit 70", "exit code 70", func(t *trial, _ *result) { t.exit = 70 }},
		{"a hang", "it hung", func(t *trial, _ *result) { t.hung = true }},
		{"a crash", "it crashed", func(t *trial, _ *result) { t.stderr.WriteString("panic: runtime error\n") }},
		{"a process left", "outlived it", func(t *trial, _ *result) { t.leftover = true }},
		{"a file left", "temporary file", func(_ *trial, r *result) { r.files = []string{"run.json.tmp-1"} }},
		{"a lost log", "false VALID: detail log truncated",
			func(t *trial, _ *result) { t.sc.Action, t.lost = "detail log truncated", true }},
		{"a preflight that failed for nothing", "the preflight failed",
			func(t *trial, r *result) { *r, t.truth.entries, t.exit = result{}, nil, 3 }},
		{"a request that no client may send", "not in the data set",
			func(t *trial, _ *result) { t.truth.wrong("a request whose prompt is not in the data set") }},
	} {
		tr, r := ended()
		lie.tell(tr, r)
		got := judgeTrial(tr, r).violations
		require.True(t, slices.ContainsFunc(got, func(v string) bool { return strings.Contains(v, lie.found) }), "%s: %q",
			lie.name, got)
	}
}

// A prompt is recognized as its row's only if it is whole.
func TestPromptsAreRecognized(t *testing.T) {
	w := &completions
	for text, want := range map[string]int{
		`{"prompt":[128000,100003,7,7,7,7],"stream":true}`: 3, `{"prompt":[128000,100003,7,7,7]}`: -1,
		`{"prompt":"Row 12 of the set, please."}`: 12,
		`{"prompt":"Row 12 of the set, plea"}`:    -1, `{"prompt":[[128000,100000,7]]}`: 0,
	} {
		q, err := readQuery([]byte(text), w, "")
		require.NoError(t, err)
		require.Equal(t, []int{want}, q.rows, text)
	}
	_, err := readQuery([]byte(`{}`), w, "")
	require.Error(t, err)
}
