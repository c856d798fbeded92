package check

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/golden"
	"github.com/mlperf-go/mlperf-go/internal/pyrepr"
)

func TestGoldenMutations(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			root := c.tree(t)
			t.Run("compat", func(t *testing.T) {
				r, err := Check(context.Background(), root, c.options(t, Compat))
				require.NoError(t, err)
				c.requireCompat(t, r)
			})
			t.Run("strict", func(t *testing.T) {
				if c.Strict == nil {
					t.Skip("recorded with switches of the official checker: no strict verdict")
				}
				r, err := Check(context.Background(), root, c.options(t, Strict))
				require.NoError(t, err)
				require.Equal(t, *c.Strict == "valid", r.Valid, "%s: %v", c.Note, r.Findings)
			})
		})
	}
}

const detailSuffix = "/performance/run_1/mlperf_log_detail.txt"

// requireCompat compares the verdict, the results with their figures, the counts, the summary and the reasons.
func (c recorded) requireCompat(t *testing.T, r *Report) {
	t.Helper()
	require.Equal(t, c.Expect.ExitCode == 0, r.Valid, "%s: %v", c.Note, r.Findings)
	require.Equal(t, c.Expect.ExitCode == 0, r.OnlyRehearsal(), "which is what the command's exit code comes from")
	if c.Expect.Crash != "" {
		return // the official checker reports no more
	}
	var results []string
	for _, one := range r.Results {
		if one.Valid {
			results = append(results, "Results "+one.Path+detailSuffix+" "+pyrepr.Float(one.Metric))
		}
	}
	require.ElementsMatch(t, c.Expect.Results, results)
	require.Equal(t, c.Expect.Summary[0], fmt.Sprintf("Results=%d, NoResults=%d, Power Results=0", r.Counts.Valid,
		r.Counts.Invalid))
	if c.Expect.ExitCode == 0 {
		var b bytes.Buffer
		require.NoError(t, r.CSV(&b))
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		require.Equal(t, strings.Join(columns, ","), lines[0])
		if len(c.Expect.Rows) == 0 {
			require.Len(t, lines, 1)
		} else {
			require.Equal(t, c.Expect.Rows, lines[1:])
		}
	}
	c.requireReasons(t, r)
}

// reasons map the official checker's messages to this program's rules; "" is a message about its progress.
var reasons = []struct {
	message *regexp.Regexp
	rule    string
}{
	{regexp.MustCompile(`Checks failed for|^NoResults|^SUMMARY|Execution occurred|contains errors:$|^synthetic loadgen error$`), ""},
	{regexp.MustCompile(` qsl_rng_seed is wrong`), "seed-qsl"},
	{regexp.MustCompile(` sample_index_rng_seed is wrong`), "seed-sample-index"},
	{regexp.MustCompile(` schedule_rng_seed is wrong`), "seed-schedule"},
	{regexp.MustCompile(`results/[^/]*, field .* is missing$`), "system-field-missing"},
	{regexp.MustCompile(`requires a meaningful response`), "system-field-empty"},
	{regexp.MustCompile(`has invalid status`), "system-status"},
	{regexp.MustCompile(`has submitter`), "system-submitter"},
	{regexp.MustCompile(`has division`), "system-division"},
	{regexp.MustCompile(`incorrect network mode`), "system-network"},
	{regexp.MustCompile(`measurements json file not found`), "measurements-json"},
	{regexp.MustCompile(`measurements.json, field .* is missing$`), "measurements-field-missing"},
	{regexp.MustCompile(`is missing meaningful value`), "measurements-field-empty"},
	{regexp.MustCompile(`is missing user.conf`), "user-conf"},
	{regexp.MustCompile(`README.md`), "readme"},
	{regexp.MustCompile(`src directory does not exist`), "source"},
	{regexp.MustCompile(`does not have all required scenarios`), "scenario-missing"},
	{regexp.MustCompile(`has all unknown scenarios`), "scenario-unknown"},
	{regexp.MustCompile(`not be inferred`), "inferred"},
	{regexp.MustCompile(`performance_sample_count, found`), "performance-sample-count"},
	{regexp.MustCompile(`Test duration less than`), "min-duration"},
	{regexp.MustCompile(`minimum samples per query`), "offline-samples"},
	{regexp.MustCompile(`minimum Query Count`), "min-queries"},
	{regexp.MustCompile(`Early stopping condition`), "early-stopping"},
	{regexp.MustCompile(`Latency constraint with early stopping`), "latency-bound"},
	{regexp.MustCompile(`TTFT and TPOT|TTFT or TPOT`), "ttft-tpot"},
	{regexp.MustCompile(`use_token_latencies`), "token-latencies"},
	{regexp.MustCompile(`run_1/.* has loadgen errors`), "performance-error-exceptions"},
	{regexp.MustCompile(`accuracy/.* has loadgen errors`), "accuracy-error"},
	{regexp.MustCompile(`not hash value`), "hash"},
	{regexp.MustCompile(`is not truncated`), "accuracy-json-size"},
	{regexp.MustCompile(`does not cover all dataset`), "accuracy-count"},
	{regexp.MustCompile(`Missing TEST\d+`), "audit-folder"},
	{regexp.MustCompile(`^Missing .* file in compliance|verify_output_len.txt missing`), "audit-text"},
	{regexp.MustCompile(`TEST06 accuracy check failed|TEST07 accuracy check in`), "audit-result"},
}

// requireReasons requires a finding of the corresponding rule for every error of the official checker.
func (c recorded) requireReasons(t *testing.T, r *Report) {
	t.Helper()
	have := map[string]bool{}
	for _, f := range r.Findings {
		have[f.Rule] = true
	}
	for _, m := range c.Expect.Messages {
		if m.Level != "error" {
			continue
		}
		known := false
		for _, reason := range reasons {
			if reason.message.MatchString(m.Text) {
				known = true
				require.True(t, reason.rule == "" || have[reason.rule], "%q should be %s; there are %v", m.Text, reason.rule,
					r.Findings)
				break
			}
		}
		require.True(t, known, "no rule is known for %q", m.Text)
	}
}

func TestGoldenReport(t *testing.T) {
	r, err := Check(context.Background(), baseTree(t), Options{Round: "v6.1", Mode: Compat, Location: "."})
	require.NoError(t, err)
	dir := filepath.Join(golden.Dir(t, "submission"), "report")
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(b)
	}
	var csv, final, numbers bytes.Buffer
	require.NoError(t, r.CSV(&csv))
	require.Equal(t, read("summary.csv"), csv.String())
	ids := map[string]int{}
	require.NoError(t, r.FinalReport(&final, FinalOptions{
		Version: "6.1", Owner: "mlcommons", Repository: "submissions_inference_v6.0", Branch: "main", IDs: ids,
	}))
	require.Equal(t, read("summary_results.json"), final.String())
	require.NoError(t, WriteIDs(&numbers, ids))
	require.Equal(t, read("ids.json"), numbers.String())
}
