package check

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// clientCase is the recorded tree of another client's results with changes.
type clientCase struct {
	name    string
	round   string
	changes []mutation
	rules   string
}

const longAnswers = `{"n_samples_issued": 6396, "duration_ns": 610000000000, "qps": 10.5, "tps": 9000.5,
	"latency": {"avg": 1e9, "early_stopping_percentiles": {"99.0": 1e9}}, "ttft": {"early_stopping_percentiles": {"99.0": 7e7}},
	"tpot": {"early_stopping_percentiles": {"99.0": 5e6}}, "output_sequence_lengths": {"avg": 1278.2}}`

func renamedTo(model string, more ...mutation) []mutation {
	to := home + "results/sim-8x/" + model
	for i := range more {
		more[i].Path = strings.Replace(more[i].Path, bench, to+"/", 1)
	}
	return append([]mutation{change("rename", bench, to)}, more...)
}

var clientCases = []clientCase{
	{name: "as recorded"},
	{name: "an older round", round: "v6.0", rules: "client-round seed-sample-index seed-schedule metric"},
	{name: "a benchmark that needs LoadGen", changes: renamedTo("llama2-70b-99.9"),
		rules: "client-benchmark accuracy-count"},
	{name: "TTFT of the folder", changes: []mutation{
		change("replace", "~/Server/performance/result_summary.json", "70000000.0", "2000000000.0")}, rules: "ttft-tpot"},
	{name: "no streaming", changes: []mutation{change("replace", "~/Server/config.yaml", "streaming: true",
		"streaming: false")}, rules: "token-latencies"},
	{name: "an audit that failed", changes: []mutation{
		change("write", "~/Server/audit/audit_consistency_output_test.json",
			`{"test": "consistency_output_test", "passed": false}`)}, rules: "client-audit"},
	{name: "an audit of another name", changes: []mutation{
		change("write", "~/Server/audit/audit_consistency_output_test.json", `{"test": "x", "passed": true}`)},
		rules: "client-audit"},
	{name: "an audit that passed", changes: []mutation{
		change("write", "~/Server/audit/audit_consistency_output_test.json",
			`{"test": "consistency_output_test", "passed": true}`)}},
	{name: "no score", changes: []mutation{change("write", "~/Server/accuracy/accuracy_results.json",
		`{"accuracy_scores": [{"total_samples": 13368}]}`)}, rules: "scores"},
	{name: "half a data set", changes: []mutation{
		change("replace", "~/Server/accuracy/accuracy_results.json", "13368", "6000")}, rules: "accuracy-count"},
	{name: "a summary that is no JSON", changes: []mutation{change("write", "~/Server/performance/result_summary.json",
		"{")}, rules: "performance-log"},
	{name: "a configuration that is no YAML", changes: []mutation{change("write", "~/Server/config.yaml", "a: [")},
		rules: "performance-log"},
	{name: "answers of the wrong length", changes: renamedTo("gpt-oss-120b",
		change("write", "~/Server/performance/result_summary.json", strings.Replace(longAnswers, "1278.2", "1149", 1)),
		change("write", "~/Offline/performance/result_summary.json", longAnswers),
		change("replace", "~/Server/accuracy/accuracy_results.json", "13368", "4395"),
		change("replace", "~/Offline/accuracy/accuracy_results.json", "13368", "4395")), rules: "client-output-length"},
	{name: "a low score", changes: renamedTo("qwen3-vl-235b-a22b",
		change("write", "~/Server/accuracy/accuracy_results.json",
			`{"accuracy_scores": [{"response_counts": {"issued": 48289}, "score": {"f1": 0.5}}]}`),
		change("write", "~/Offline/accuracy/accuracy_results.json",
			`{"accuracy_scores": [{"total_samples": 48289, "score": {"f1": 0.79}}]}`)), rules: "client-score"},
	{name: "a high latency", changes: renamedTo("qwen3-vl-235b-a22b",
		change("replace", "~/Server/performance/result_summary.json", "300000000.0", "12000000001.0"),
		change("write", "~/Server/accuracy/accuracy_results.json",
			`{"accuracy_scores": [{"total_samples": 48289, "score": {"f1": 0.79}}]}`),
		change("write", "~/Offline/accuracy/accuracy_results.json",
			`{"accuracy_scores": [{"total_samples": 48289, "score": {"f1": 0.79}}]}`)), rules: "latency"},
}

func TestOtherClient(t *testing.T) {
	for _, c := range clientCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := Check(context.Background(), recordedCase(t, "endpoints-ok", c.changes).tree(t), Options{Round: c.round})
			require.NoError(t, err)
			require.ElementsMatch(t, strings.Fields(c.rules), ruleIDs(r), "%v", r.Findings)
		})
	}
}

// A result without a file of any client is reported as one without LoadGen's logs.
func TestFilesOfNoClient(t *testing.T) {
	const mine, loadgen = clientPerformance + " " + clientAccuracy,
		"performance/run_1/mlperf_log_detail.txt accuracy/mlperf_log_detail.txt"
	all := []string{"config.yaml", clientPerformance, clientAccuracy}
	for _, kept := range append(all, "") {
		c := &checker{}
		root := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(root, "performance"), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(root, "accuracy"), 0o755))
		want := loadgen
		if kept != "" {
			want = mine
			require.NoError(t, os.WriteFile(filepath.Join(root, kept), []byte("{}"), 0o644))
		}
		var err error
		c.files, err = openFiles(root)
		require.NoError(t, err)
		r := &result{}
		c.readOtherClient(".", r)
		c.files.close()
		require.Equal(t, want, r.performance.path+" "+r.accuracy.path, kept)
	}
}
