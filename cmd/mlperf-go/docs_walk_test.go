package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"

	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// commandsOf returns the blocks of a page that are marked as shell.
func commandsOf(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var blocks []string
	for i, part := range strings.Split(string(text), "```") {
		if commands, ok := strings.CutPrefix(part, "sh\n"); ok && i%2 == 1 {
			blocks = append(blocks, commands)
		}
	}
	return blocks
}

// The commands of docs/tutorial/first-server.md before the benchmark's own data run in their order, on a simulator that
// was started as the page describes. They also run on a simulator without the answers of the data set, like any other
// server.
func TestWalkToARehearsalOnAnOwnServer(t *testing.T) {
	if testing.Short() || !loadgen.Built {
		t.Skip("measures a whole rehearsal, which needs LoadGen")
	}
	data := synthetic(t, "llama3.1-8b", 512)

	known, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--dataset", data)
	foreign, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--dialect", "vllm")
	for url, judged := range map[string]bool{known: true, foreign: false} {
		out := walkFirstServer(t, url)
		require.Equal(t, judged, !strings.Contains(out, "Offline/score: not_judged: "), out)
		require.Contains(t, out, "The tree is a rehearsal and has no other errors. What makes it one:")
	}
}

// walkFirstServer runs the commands of the page and returns the output of `submission`. The trial is shortened, and the
// port is the server's.
func walkFirstServer(t *testing.T, url string) (printed string) {
	t.Helper()
	text, _, found := strings.Cut(pageText(t, "docs/tutorial/first-server.md"), "## 4. ")
	require.True(t, found)
	_, text, found = strings.Cut(text, "## 2. ")
	require.True(t, found)
	shorter := strings.NewReplacer("http://127.0.0.1:8000", url, "--target-qps 10 ", "--target-qps 200 ",
		"--min-duration 60s", "--min-duration 1s")
	folder, n := t.TempDir(), 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "mlperf-go ") {
			continue
		}
		n++
		cmd := exec.Command("bash", "-c", shorter.Replace(line))
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s%s", line, out)
		if strings.Contains(line, "submission") {
			printed = string(out)
		}
	}
	require.Equal(t, 5, n, "preflight, dataset synth, run, report, submission")
	require.FileExists(t, filepath.Join(folder, "results/trial/report.html"))
	schematest.Records(t, folder)
	return printed
}

// The commands of docs/tutorial/first-submission.md run unchanged in their order, and end with the packed file.
func TestTheWalkOfTheSubmissionPage(t *testing.T) {
	if testing.Short() || !loadgen.Built {
		t.Skip("measures a whole rehearsal, which needs LoadGen")
	}
	for _, tool := range []string{"bash", "openssl", "tar", "sha1sum", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	t.Parallel()
	blocks := commandsOf(t, "../../docs/tutorial/first-submission.md")
	require.GreaterOrEqual(t, len(blocks), 8, "the page has a block for each step")
	folder := t.TempDir()
	ctx, end := context.WithTimeout(context.Background(), 8*time.Minute)
	defer end()
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -euxo pipefail\n"+strings.Join(blocks, "\n"))
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "NO_PROXY=*")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "Every step is done.")
	require.Contains(t, string(out), "mlperf_submission_Acme.tar.gz: OK")
	require.FileExists(t, filepath.Join(folder, "packed/closed/Acme/results/system/llama3.1-8b/Interactive/"+
		"performance/run_1/mlperf_log_detail.txt"))
	require.FileExists(t, filepath.Join(folder, "summary.csv"))
	schematest.Records(t, folder)
}
