package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/accuracy"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// checkerNames are the submission checker's names of the metrics that --quality sets, with their perfect score; empty
// if it does not read the metric.
var checkerNames = map[string]struct {
	name string
	full float64
}{
	"rouge1": {"ROUGE1", 100}, "rouge2": {"ROUGE2", 100}, "rougeL": {"ROUGEL", 100}, "rougeLsum": {"ROUGELSUM", 100},
	"gsm8k":       {"gsm8k_accuracy", 100},
	"exact_match": {"exact_match", 100}, "f1": {"F1_HIERARCHICAL", 1}, "mAP": {"mAP", 100}, "overall_accuracy": {"", 100},
	"normalized_single_turn_score": {"", 100},
}

// rehearsed runs a benchmark's accuracy rehearsal and returns its record and exit code.
func rehearsed(t *testing.T, row *models.Row, folder string, more ...string) (*record.Record, int) {
	t.Helper()
	args := append([]string{"run", "--model", row.Name, "--mode", "accuracy", "--no-progress", "--output-dir", folder},
		more...)
	if !canSandbox() {
		args = append(args, "--run-code=false")
	}
	cmd := exec.Command("mlperf-go", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", row.Name, err)
	}
	schematest.Records(t, folder)
	r, err := record.Read(folder)
	require.NoError(t, err, out.String())
	require.NotNil(t, r.Accuracy, out.String())
	require.Empty(t, r.Accuracy.NotScored, out.String())
	return r, cmd.ProcessState.ExitCode()
}

// Every benchmark's accuracy rehearsal has the score that the simulator was set to. The checker reads the same score
// from accuracy.txt, and the exit code is 1 exactly if the score is below a target.
func TestEveryBenchmarksAccuracyRehearsal(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	const quality, samples = 0.75, 48
	for _, row := range models.Rows() {
		if row.Scoring.Scorer == "" {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "run")
			r, exit := rehearsed(t, row, folder, "--samples", strconv.Itoa(samples), "--sim-quality",
				strconv.FormatFloat(quality, 'f', -1, 64))
			text, err := os.ReadFile(filepath.Join(folder, record.AccuracyTextName))
			require.NoError(t, err)
			read, err := accuracy.CheckText(bytes.NewReader(text), row.Scoring.TargetsFor(models.Scenario(r.Scenario)), false)
			require.NoError(t, err)
			below, checked := false, 0
			for _, m := range r.Accuracy.Metrics {
				known, ok := checkerNames[m.Name]
				if !ok {
					continue
				}
				// A row of each part of the data set may be lost by rounding; the statistical error of 48 answers is twice as
				// large.
				require.InDelta(t, quality*known.full, m.Value, 0.06*known.full, m.Name)
				below = below || m.Pass != nil && !*m.Pass
				if m.Pass != nil && known.name != "" {
					require.Equal(t, strings.Trim(m.Text, "'"), read.Values[known.name], "accuracy.txt:\n%s", text)
				}
				checked++
			}
			require.Positive(t, checked)
			var codes []record.Code
			for _, c := range r.Reasons {
				codes = append(codes, c.Code)
			}
			if below {
				require.Equal(t, []any{run.ExitInvalid, []record.Code{record.CodeAccuracyBelowTarget}}, []any{exit, codes})
			} else {
				require.Equal(t, []any{run.ExitValid, []record.Code(nil)}, []any{exit, codes})
			}
			require.EqualValues(t, samples, r.Samples.Completed)
			require.Empty(t, r.Breaches)

			// By default every target is reached.
			_, exit = rehearsed(t, row, filepath.Join(t.TempDir(), "right"), "--samples", "12")
			require.Equal(t, run.ExitValid, exit)
		})
	}
}

// CI tests every benchmark of a round with a whole submission.
func TestTheChainOfEveryBenchmarkIsTested(t *testing.T) {
	script, err := os.ReadFile("../../scripts/test.sh")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^for model in (.*); do$`).FindSubmatch(script)
	require.NotNil(t, line)
	var want []string
	for _, row := range models.Rows() {
		if len(rounds.Of(row)) > 0 {
			want = append(want, row.Name)
		}
	}
	require.ElementsMatch(t, want, strings.Fields(string(line[1])))
}

// Without a sandbox, a rehearsal with programs reports this with a remedy before it starts anything.
func TestAMissingSandboxIsReportedFirst(t *testing.T) {
	if !canSandbox() {
		t.Skip("the kernel does not allow the sandbox, or there is no python3")
	}
	const closed = 77
	for _, command := range [][]string{{"submission", "--rehearsal-size", "tiny"}, {"run", "--mode", "accuracy"}} {
		folder := filepath.Join(t.TempDir(), "out")
		args := append(command, "--model", "mixtral-8x7b", "--output-dir", folder, "--no-progress")
		// A user namespace in which no further one can be created.
		line := fmt.Sprintf(`echo 0 >/proc/sys/user/max_user_namespaces || exit %d; exec mlperf-go "$@"`, closed)
		cmd := exec.Command("unshare", append([]string{"-Ur", "sh", "-c", line, "sh"}, args...)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == closed || strings.HasPrefix(string(out), "unshare: ") {
			t.Skipf("no namespace can be made whose limit is lower: %v %s", err, out)
		}
		require.Equal(t, run.ExitEnvironment, cmd.ProcessState.ExitCode(), "%s", out)
		require.Contains(t, string(out), "there is no sandbox here, so the program was not run")
		require.Contains(t, string(out), "--run-code=false")
		require.NoDirExists(t, folder)
	}
}
