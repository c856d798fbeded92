package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runMake returns the output of make. The option -n prints the commands without running them.
func runMake(t *testing.T, words string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "make -n -C ../.. "+words)
	cmd.Env = append(cmd.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// make must reject unknown variables: with a misspelled ENDPOINT it would measure the simulator instead of the server.
func TestMakeRefusesWhatItWouldIgnore(t *testing.T) {
	for _, c := range []struct{ line, message string }{
		{"run MODLE=x", "`make run` has no variable MODLE; did you mean MODEL? Nothing was started."},
		{"run ENDPONT=http://host:8000", "`make run` has no variable ENDPONT; did you mean ENDPOINT? Nothing was started."},
		{"run endpoint=http://host:8000", "no variable endpoint; did you mean ENDPOINT?"},
		{"ENDPONT=http://host:8000 run", "did you mean ENDPOINT?"},
		{"run SERVER=http://host:8000", "no variable SERVER; it belongs to: test-real. Nothing was started."},
		{"submission DATASETS=cnn_eval.json", "did you mean DATASET?"},
		{"submission SCENARIO=Server", "no variable SCENARIO; it belongs to: run."},
		{"bench BENCH_ROUND=3", "did you mean BENCH_ROUNDS?"},
		{"test-real SERVERS=vllm", "did you mean SERVER?"},
		{"chaos RUN=3", "did you mean RUNS?"},
		{"ENDPOINT=http://host:8000", "`make build` has no variable ENDPOINT; it belongs to:"},
		{`run "A'B=1"`, "no variable A'B."},
		{"run MLPERF_GO=1", "no variable MLPERF_GO."},
		{"run ENDPOINT http://host:8000", "there is no target 'ENDPOINT'. Nothing was started."},
		{"sumbission", "there is no target 'sumbission'; did you mean 'submission'?"},
	} {
		out, err := runMake(t, c.line)
		require.Error(t, err, c.line)
		require.Contains(t, out, c.message, c.line)
		require.NotContains(t, out, "--mode", c.line)
	}
}

func TestMakeAcceptsStandardVariables(t *testing.T) {
	out, err := runMake(t, "run CC=gcc CXX=g++ GOFLAGS=-v CGO_CFLAGS=-O2 V=1 CI=true CXXFLAGS=-g "+
		"https_proxy=http://proxy MLPERF_GO_TARGET_QPS=4 LOADGEN_ROOT=/usr ENDPOINT=http://host:8000")
	require.NoError(t, err, out)
	require.Contains(t, out, "--endpoint 'http://host:8000'")
	out, err = runMake(t, "")
	require.NoError(t, err, out)
}

// A server of the user's is tuned, because no target is right for every server; the simulator has a default.
func TestMakeTunesAServer(t *testing.T) {
	for line, want := range map[string]bool{"ENDPOINT=http://host:8000": true, "": false, "DATASET=cnn_eval.json": false,
		"ENDPOINT=http://host:8000 DATASET=cnn_eval.json": true} {
		out, err := runMake(t, "submission "+line)
		require.NoError(t, err, out)
		require.Equal(t, want, strings.Contains(out, "--tune"), line)
	}
}

// The pages show only make commands that exist, with variables that their targets read.
func TestMakeAcceptsTheCommandsOfThePages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*/*.md")
	require.NoError(t, err)
	command := regexp.MustCompile("(?m)(?:^|`)(?:[A-Z_]+=\\S+ )?make ([a-z][^`#\n]*)")
	lines := map[string]bool{}
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		content, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range command.FindAllStringSubmatch(string(content), -1) {
			lines[strings.TrimSpace(m[1])] = true
		}
	}
	require.Greater(t, len(lines), 10)
	for line := range lines {
		out, err := runMake(t, line)
		require.NoError(t, err, "make %s\n%s", line, out)
	}
}
