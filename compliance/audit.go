package compliance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

// accuracyLogSeed selects the answers that LoadGen logs. Every audit uses it
// (docs/reference/audits.md#how-an-audit-runs).
const accuracyLogSeed = "720381539243781796"

// Setting is one line of an audit.config. It applies to every model and scenario.
type Setting struct {
	Key   string
	Value string
	Why   string
}

// Audit is one test of one benchmark: LoadGen's settings and what its logs must contain.
type Audit struct {
	Test      string
	Benchmark string
	Settings  []Setting

	Records   int  // number of answers that the accuracy log must contain; 0: any number
	Distinct  bool // whether each answer must belong to a different sample
	Samples   int  // number of rows of the audit's own data set; 0: it uses the benchmark's performance data set
	Scaled    bool // whether Scale reduced the audit to a rehearsal
	Threshold float64
	MinTokens float64 // TEST09: smallest mean number of output tokens
	MaxTokens float64 // TEST09: largest mean number of output tokens
}

// makers build the audit of a benchmark; ok is false if the benchmark has none.
var makers = map[string]func(benchmark string) (Audit, bool){
	Test01: audit01, Test04: audit04, Test06: audit06, Test07: audit07, Test08: audit08, Test09: audit09,
}

// Tests returns the names of the tests in order.
func Tests() []string { return []string{Test01, Test04, Test06, Test07, Test08, Test09} }

// Find returns a test's audit for a benchmark. The benchmark's name is that of the checker, as in models.Row.Name.
// TEST01, TEST07 and TEST09 need figures for each benchmark; Find returns an error if the rules do not contain them.
func Find(test, benchmark string) (*Audit, error) {
	settings, ok := makers[test]
	if !ok {
		return nil, unknownTest(test)
	}
	a, ok := settings(benchmark)
	if !ok {
		return nil, fmt.Errorf("%s has no settings for the benchmark %q: the rules define none; `compliance` lists what "+
			"each benchmark needs", test, benchmark)
	}
	a.Test, a.Benchmark = test, benchmark
	return &a, nil
}

func unknownTest(test string) error {
	return fmt.Errorf("unknown compliance test %q: use one of %s", test, strings.Join(Tests(), ", "))
}

var (
	performanceMode = Setting{"mode", "2", "run a performance test, whatever mode the run has"}
	seed            = Setting{"accuracy_log_rng_seed", accuracyLogSeed, "select the logged answers; all submitters use it"}
	noDuration      = Setting{"min_duration", "0", "only the number of queries ends the test"}
	noEqualIssue    = Setting{"sample_concatenate_permutation", "0",
		"issue samples as the data set has them, not in equal-issue order"}
	unique = Setting{"performance_issue_unique", "1", "issue every sample once"}
)

func logged(n int) Setting {
	return Setting{"accuracy_log_sampling_target", strconv.Itoa(n),
		"number of logged answers; if fewer are issued, all are logged"}
}

func queries(n int) Setting {
	return Setting{"min_query_count", strconv.Itoa(n), "number of samples that the audit issues"}
}

func audit01(benchmark string) (Audit, bool) {
	n, ok := sampled01[family(benchmark)]
	return Audit{Settings: []Setting{performanceMode, seed, logged(n)}}, ok
}

// family returns a benchmark's name without its accuracy target.
func family(benchmark string) string {
	for _, target := range []string{"-99.9", "-99", "-95"} {
		if name, ok := strings.CutSuffix(benchmark, target); ok {
			return name
		}
	}
	return benchmark
}

// audit04 omits the official file's query counts for single models, because LoadGen never reads those lines
// (docs/reference/audits.md#how-an-audit-runs).
func audit04(string) (Audit, bool) {
	return Audit{Settings: []Setting{
		performanceMode,
		{"performance_issue_unique", "0", "samples may repeat"},
		{"performance_issue_same", "1", "every query has the same sample, which a cache of answers would speed up"},
		{"performance_issue_same_index", "3", "index of that sample"},
	}}, true
}

// test06Queries is the number of queries that TEST06 issues and logs (docs/reference/audits.md#test06).
const test06Queries = 100

func audit06(string) (Audit, bool) {
	return Audit{
		Settings: []Setting{performanceMode, seed, logged(test06Queries), queries(test06Queries), noDuration, noEqualIssue},
		Records:  test06Queries,
	}, true
}

func audit07(benchmark string) (Audit, bool) {
	b, ok := test07[benchmark]
	return Audit{
		Settings: []Setting{performanceMode, seed, logged(b.samples), queries(b.samples), noDuration, unique, noEqualIssue,
			{"test07_accuracy_threshold", pyrepr.Float(b.threshold),
				"lowest score in percent; the verification reads it, LoadGen does not"}},
		Records: b.samples, Distinct: true, Samples: b.samples, Threshold: b.threshold,
	}, ok
}

func audit08(string) (Audit, bool) {
	return Audit{Settings: []Setting{performanceMode, seed, logged(4096)}}, true
}

// minTokensKey is the key of the smallest mean output length.
const minTokensKey = "test09_min_output_tokens"

// test09Logged is larger than every data set, so that LoadGen logs every answer.
const test09Logged = 10000

func audit09(benchmark string) (Audit, bool) {
	b, ok := test09[benchmark]
	s := []Setting{performanceMode, seed, logged(test09Logged), queries(b.queries), noDuration}
	if b.unique {
		s = append(s, unique)
	}
	return Audit{
		Settings: append(s, noEqualIssue,
			Setting{minTokensKey, pyrepr.Float(b.min), "smallest mean length in tokens; the verification reads it, not LoadGen"},
			Setting{"test09_max_output_tokens", pyrepr.Float(b.max), "largest mean length in tokens, read likewise"}),
		Records: b.queries, Distinct: b.unique, MinTokens: b.min, MaxTokens: b.max,
	}, ok
}

// rehearsalTokens is TEST09's smallest mean length in a rehearsal. It requires only non-empty answers, because a
// rehearsal's answers do not have the benchmark's length.
const rehearsalTokens = 1

// Over returns the audit for a data set with that number of rows. If the audit issues each sample once and the data set
// is smaller than the rules require, the audit becomes a rehearsal.
func (a *Audit) Over(rows int) *Audit {
	if !a.Distinct || rows >= a.Records {
		return a
	}
	small := a.Scale(rows)
	if small.Samples > 0 {
		small.Samples = rows
	}
	return small
}

// Scale returns the audit with at most n queries, for a rehearsal. Result.Rehearsal then reports that the verdict does
// not count.
func (a *Audit) Scale(n int) *Audit {
	small := *a
	small.Settings = slices.Clone(a.Settings)
	if a.Records <= n {
		return &small
	}
	small.Records, small.Scaled = n, true
	if a.MinTokens > 0 {
		small.MinTokens = rehearsalTokens
	}
	scaled := map[string]string{"min_query_count": strconv.Itoa(n), minTokensKey: pyrepr.Float(small.MinTokens)}
	for i, s := range small.Settings {
		if value, ok := scaled[s.Key]; ok {
			why := "a rehearsal: the audit requires " + s.Value
			if a.Scaled {
				why = s.Why
			}
			small.Settings[i] = Setting{s.Key, value, why}
		}
	}
	return &small
}

// Config returns the text of audit.config. Comments are on separate lines, because LoadGen rejects a file with a
// comment after a value.
func (a *Audit) Config() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s of %s. LoadGen applies these after every other setting.\n", a.Test, a.Benchmark)
	for _, s := range a.Settings {
		fmt.Fprintf(&b, "\n# %s\n*.*.%s = %s\n", s.Why, s.Key, s.Value)
	}
	return b.String()
}
