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
)

// commandsOf gives the blocks of a page that are marked as shell.
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

// A newcomer who types what docs/tutorial/first-submission.md says reaches the packed file: every command of the page
// runs as it stands, in its order.
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
}
