package needs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
)

// The shortest known context of all endpoints counts, whichever endpoint has it.
func TestContextOfSeveralServers(t *testing.T) {
	const need = "; prompts have up to 4, answers 128"
	for want, lengths := range map[string][]int{
		"2048 tokens" + need: {4096, 2048}, "2049 tokens" + need: {2049, 4096}, "4096 tokens" + need: {0, 4096},
		"3000 tokens" + need: {3000, 0},
		"1 tokens" + need:    {4096, 0, 1, 5}, "the server does not report it" + need: {0, 0},
	} {
		s := survey(t, nil)
		s.Servers = &run.Preflight{}
		for _, n := range lengths {
			s.Servers.Endpoints = append(s.Servers.Endpoints, &backends.Probe{MaxModelLen: n})
		}
		require.Equal(t, want, row(t, s, "context").Found)
	}
	s := survey(t, plan.Settings{"dataset": ""})
	s.Servers = answered(backends.Probe{MaxModelLen: 100})
	require.Equal(t, "100 tokens; answers have up to 128", row(t, s, "context").Found, "no prompt is known")
}

// Token ids count only if every endpoint has them.
func TestTokenIDsOfSeveralServers(t *testing.T) {
	for _, c := range []struct {
		in, out, generated [2]bool
		want               string
	}{
		{[2]bool{true, true}, [2]bool{true, true}, [2]bool{true, true}, "in prompts and answers"},
		{[2]bool{true, false}, [2]bool{true, true}, [2]bool{true, true}, "in answers; prompts are text"},
		{[2]bool{false, true}, [2]bool{true, true}, [2]bool{true, true}, "in answers; prompts are text"},
		{[2]bool{true, true}, [2]bool{true, false}, [2]bool{true, true}, "none in answers: their tokens are counted by the " +
			"server"},
		{[2]bool{true, true}, [2]bool{true, true}, [2]bool{true, false}, "no answer was requested (--no-preflight-query)"},
	} {
		s := survey(t, nil)
		s.Servers = &run.Preflight{}
		for i := range 2 {
			s.Servers.Endpoints = append(s.Servers.Endpoints, &backends.Probe{TokenIDPrompt: c.in[i],
				ReturnsTokenIDs: c.out[i], Generated: c.generated[i]})
		}
		require.Equal(t, c.want, row(t, s, "token ids").Found)
	}
}

func TestServerName(t *testing.T) {
	for want, e := range map[string]backends.Probe{
		"unknown server": {}, "unknown server 1": {Version: "1"}, "vllm": {Server: "vllm"}, "vllm 2": {Server: "vllm",
			Version: "2"}, "vllm " + strings.Repeat("9", 75) + "...": {Server: "vllm", Version: strings.Repeat("9", 200)},
	} {
		require.Equal(t, want, serverName(&e))
	}
}

// Of several tests, the accuracy test decides about what a score needs.
func TestTheAccuracyTestDecidesAboutTheScore(t *testing.T) {
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"input":"Count.","tok_input":[1,5,6],"dataset":"MBXP","gt_output":"x",`+
		`"id":"python_1","ref_output":"x"}`+"\n"), 0o644))
	settings := plan.Settings{"model": "mixtral-8x7b", "scenario": "Offline", "dataset": data, "run-code": "false"}
	s := survey(t, settings)
	require.Equal(t, "off: the answers that are programs (MBXP) get no score", row(t, s, "code").Found)
	settings["mode"], settings["tokenizer"], settings["endpoint"] = "accuracy", "meta-llama/other", "http://a:1"
	accuracy := survey(t, settings)
	s.Tests, s.Servers = append(s.Tests, accuracy.Tests...), answered(backends.Probe{})
	require.Contains(t, row(t, s, "code").Found, "so the accuracy test will be INVALID (not_scored)")
	require.Contains(t, row(t, s, "tokenizer").Found, "meta-llama/other")
	s.Scored = false
	require.NotContains(t, row(t, s, "code").Found, "INVALID")
	s.Tests = s.Tests[:1]
	require.NotContains(t, row(t, s, "tokenizer").Found, "meta-llama/other")
}

// Programs of a data set that was made for the run are a matter of --run-code alone, whether it was made yet or not.
func TestProgramsOfASyntheticSet(t *testing.T) {
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`{"input":"Count.","tok_input":[1,5,6],"dataset":"MBXP","gt_output":"x",`+
		`"id":"python_1","ref_output":"x"}`+"\n"), 0o644))
	const off = "the synthetic data set has no questions for programs, because of --run-code=false"
	for _, c := range []struct {
		dataset   string
		synthetic bool
		state     State
		found     string
	}{
		{"", false, NotNeeded, off},
		{"", true, NotNeeded, off},
		{data, false, Warning, "off: the answers that are programs (MBXP) get no score"},
	} {
		s := survey(t, plan.Settings{"model": "mixtral-8x7b", "scenario": "Offline", "dataset": c.dataset,
			"run-code": "false"})
		if c.synthetic {
			require.NoError(t, s.Tests[0].Config.Set("dataset", data, plan.SyntheticDataset))
		}
		got := row(t, s, "code")
		require.Equal(t, []any{c.state, c.found}, []any{got.State, got.Found})
	}
}

// Each setting that judges answers is enough.
func TestJudges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for name, value := range map[string]string{"run-code": "true", "code-service": "http://a:1", "code-tests": file,
		"math-grader": file, "": "", "min-queries": "3"} {
		settings := plan.Settings{"model": "mixtral-8x7b", "scenario": "Offline", "run-code": "false"}
		if name != "" {
			settings[name] = value
		}
		p, err := plan.New(settings)
		require.NoError(t, err, name)
		require.Equal(t, name != "" && name != "min-queries", judges(p), name)
	}
}

// The number of samples that the user chose, even one, replaces the set's.
func TestSamplesOfAnAccuracyTest(t *testing.T) {
	for samples, want := range map[string]int{"1": 1, "2": 2, "": 3} {
		require.Equal(t, want, LoadOf(survey(t, plan.Settings{"mode": "accuracy", "samples": samples}).Tests[0]).Samples)
	}
}

// The size of a file system is compared with the need to the byte.
func TestSizesInWords(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 MiB", 1<<30 - 1: "1023 MiB", 1 << 30: "1.0 GiB", 1<<40 - 1: "1024.0 GiB",
		1 << 40: "1.0 TiB", 3 << 39: "1.5 TiB"} {
		require.Equal(t, want, bytesText(n))
	}
}
