package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/schema/schematest"
)

// The commands of docs/tutorial/replay-a-chat.md run in their order on the page's profile, against two simulators on
// free ports.
func TestTheWalkOfTheChatPage(t *testing.T) {
	text, folder := pageText(t, "docs/tutorial/replay-a-chat.md"), t.TempDir()
	_, profile, found := strings.Cut(text, "```yaml\n")
	require.True(t, found)
	profile, _, _ = strings.Cut(profile, "```")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "chat.yaml"), []byte(profile), 0o600))
	first, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--ttft", "20ms", "--tpot", "2ms",
		"--prefill-rate", "20000")
	second, _ := startSim(deferring{t}, filepath.Join(t.TempDir(), "ready"), "--ttft", "10ms", "--tpot", "3ms",
		"--prefill-rate", "20000")
	own := strings.NewReplacer("http://127.0.0.1:8001", first, "http://127.0.0.1:8002", second)
	var last string
	n := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "mlperf-go ") || strings.HasPrefix(line, "mlperf-go sim ") {
			continue
		}
		n++
		cmd := exec.Command("bash", "-c", own.Replace(line))
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s%s", line, out)
		last = string(out)
	}
	require.Equal(t, 4, n, "plan, two runs, compare")
	schematest.Records(t, folder)
	require.Regexp(t, `(?m)^ttft p50 ms +[0-9.]+ +[0-9.]+ +-[0-9.]+ % .*(better|unknown)$`, last)
	require.Regexp(t, `(?m)^tpot p50 ms +[0-9.]+ +[0-9.]+ +\+[0-9.]+ % .*(worse|unknown)$`, last)
	require.NotContains(t, last, "not ranked")
}
