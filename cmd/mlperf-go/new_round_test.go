package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// madeUpRound is the only file that a new round adds.
const madeUpRound = `
seeds: {qsl: 11, sample_index: 22, schedule: 33}
layout: {code: src}
benchmarks:
  - name: llama3.1-8b
    systems: {datacenter: {required: [Offline]}}
    audits: [TEST06]
    at_least: {ROUGE1: 30}
  - name: made-up-1b
    systems: {datacenter: {required: [Offline]}}
    at_least: {ROUGE1: 50}
`

// madeUpBenchmark is the only file that a new benchmark adds, apart from its lines in the rounds that contain it.
const madeUpBenchmark = `package models

func init() {
	register(&Row{
		Name: "made-up-1b", ServedModels: []string{"acme/made-up-1b"},
		Scenarios:      []ScenarioRow{offline("llama3_1-8b-edge", 100)},
		DatasetSamples: 200, PerformanceCount: 200, Vocabulary: 32000, BOS: 1, EOS: []int32{2}, MinOutputTokens: 1,
		Sampling: bothModes(greedy(1, 64)), Special: llama2Special, UseTokenLatencies: true,
		Columns: []Column{
			{Name: "tok_input", Type: "ids", Required: true, Role: "input_ids"},
			{Name: "output", Type: "text", Role: "target"},
		},
		Scoring: Scoring{
			Scorer: ScoreSummaries, Columns: ScoringColumns{Target: "output"},
			Targets: []Target{{Metric: "rouge1", Min: 40}}, Source: "made up",
		},
		Source: "made up",
	})
}
`

// withFiles builds the program with additional files in the repository: their contents by path.
func withFiles(t *testing.T, files map[string]string) (program string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range files {
		file := filepath.Join(dir, filepath.Base(name))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		overlay["Replace"][filepath.Join(root, name)] = file
	}
	list, err := json.Marshal(overlay)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	program = filepath.Join(dir, "mlperf-go")
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program,
		".").CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// A round is added by its file, and a benchmark by its file and its line in a round. Both can then be run, scored,
// audited, built into a tree and checked.
func TestANewRoundAndANewBenchmarkAreAFileEach(t *testing.T) {
	if !loadgen.Built {
		t.Skip("built without LoadGen")
	}
	if testing.Short() {
		t.Skip("builds the program once more")
	}
	program := withFiles(t, map[string]string{"rounds/v9.9.yaml": madeUpRound, "models/madeup.go": madeUpBenchmark})
	for model, tests := range map[string][]string{"llama3.1-8b": {"performance", "accuracy", "TEST06"},
		"made-up-1b": {"performance", "accuracy"}} {
		folder := filepath.Join(t.TempDir(), model)
		out, err := exec.Command(program, "--no-progress", "submission", "--model", model, "--round", "v9.9",
			"--rehearsal-size", "tiny", "--output-dir", folder).CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "The tree is a rehearsal and has no other errors")
		schematest.Records(t, folder)
		for _, test := range tests {
			r, err := record.Read(filepath.Join(folder, "simulated", model, "Offline", test))
			require.NoError(t, err, string(out))
			require.Equal(t, []any{"v9.9", record.Verdict("VALID")}, []any{r.Round, r.Verdict}, string(out))
			seed := r.LoadGen.Result["effective_qsl_rng_seed"]
			require.EqualValues(t, 11, seed, "%T", seed)
		}
		out, err = exec.Command(program, "submission", "check", "--round", "v9.9", "--compat",
			filepath.Join(folder, "submission")).CombinedOutput()
		require.Error(t, err, "the official checker knows no rehearsals")
		require.Contains(t, string(out), "effective_performance_sample_count")
	}
	out, err := exec.Command(program, "run", "--model", "made-up-1b", "--samples", "10", "--print-config").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "round: v9.9", "the only round that takes it")
}
