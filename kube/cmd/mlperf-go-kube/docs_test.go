package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
)

// pageCommands returns the lines of a page's fenced blocks that begin with `mlperf-go kube`, up to a pipe.
func pageCommands(t *testing.T, page string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../docs/how-to", page))
	require.NoError(t, err)
	for _, block := range regexp.MustCompile("(?ms)^```\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			if command, ok := strings.CutPrefix(line, "mlperf-go kube "); ok {
				command, _, _ = strings.Cut(command, " | ")
				lines = append(lines, strings.TrimSpace(command))
			}
		}
	}
	require.NotEmpty(t, lines, page)
	return lines
}

// pageArguments returns the arguments of a command of a page. It replaces the words of the table, and adds flags behind
// the name of the command.
func pageArguments(line string, words map[string]string, flags ...string) []string {
	all := strings.Fields(line)
	for i, word := range all {
		if to, ok := words[word]; ok {
			all[i] = to
		}
	}
	return slices.Concat(all[:1], flags, all[1:])
}

// TestPage runs every command of the page about load from many nodes. The command with two models is a dry run, because
// it would need two servers. The command with a toleration is one too, because no node has the taint.
func TestPage(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	access, output := []string{"--kubeconfig", tc.UserKubeconfig(true)}, t.TempDir()
	small := slices.Concat(access, []string{"--cpu", "1", "--memory", "1Gi", "-r", output})
	stack, ns := kubetest.Namespace(t, tc), kubetest.Namespace(t, tc)
	words := map[string]string{"bench": ns, "serving,bench": stack + "," + ns, "NAME": "workload-pvc", "ID": "one",
		"registry.example/mlperf-go:1": kubetest.ImageName,
		"http://vllm.serving:8000":     kubetest.Simulator(t), "chat.yaml": write(t, own)}
	startServer(t, tc, stack, "vllm-0")
	left := func(flags ...string) { // the remains of an earlier launcher
		line := "run -w chat.yaml -U http://vllm.serving:8000 -p bench --image registry.example/mlperf-go:1"
		code, _, errs := kube(pageArguments(line, words, append(flags, small...)...)...)
		require.LessOrEqual(t, code, 1, errs)
	}
	prepare := map[string]func(){
		"collect -p bench ID": func() { left("--id", "one", "--wait-timeout", "0") },
		"collect -p bench --pvc NAME --image registry.example/mlperf-go:1 ID": func() {
			left("--id", "one", "--pvc", "workload-pvc", "--pvc-size", "1Gi") // waits for the end of the first launch's pod
		},
	}
	for _, line := range pageCommands(t, "kube.md") {
		flags := small
		switch {
		case strings.HasPrefix(line, "rights"):
			flags = nil
		case strings.HasPrefix(line, "collect"):
			flags = append(slices.Clone(access), "-r", t.TempDir())
		case strings.Contains(line, "--shards"):
			flags = append(slices.Clone(small), "--live", "127.0.0.1:0")
		case strings.Contains(line, "model-a,model-b"), strings.Contains(line, "--toleration"):
			flags = append(slices.Clone(small), "--dry-run")
		}
		if before := prepare[line]; before != nil {
			before()
			delete(prepare, line)
		}
		code, out, errs := kube(pageArguments(line, words, flags...)...)
		require.LessOrEqual(t, code, 1, "%s: %s", line, errs) // a busy machine makes a run INVALID
		require.NotEmpty(t, out, line)
		require.Equal(t, slices.Contains(flags, "--live"), strings.Contains(errs, "live page: http://127.0.0.1:"), errs)
	}
	require.Empty(t, prepare, "the page has these commands")
	merged, err := filepath.Glob(filepath.Join(output, "merged", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, merged, "the shards are one load")
}

// TestCampaignPage renders every campaign of the page about campaigns. TestSubmission runs the first one.
func TestCampaignPage(t *testing.T) {
	dir := t.TempDir()
	system := filepath.Join(dir, "system.json")
	require.NoError(t, os.WriteFile(system, []byte("{}"), 0o600))
	for _, line := range pageCommands(t, "kube-campaigns.md") {
		if strings.HasPrefix(line, "submission") {
			code, out, errs := kube(pageArguments(line, map[string]string{"system.json": system}, "--dry-run")...)
			require.Zero(t, code, "%s: %s", line, errs)
			require.Contains(t, out, "kind: Job")
		}
	}
}

// TestServerPage renders every server of the page about servers. TestServer starts one.
func TestServerPage(t *testing.T) {
	words := map[string]string{"server.yaml": "../../../configs/backends/vllm.yaml", "chat.yaml": write(t, own)}
	for _, line := range pageCommands(t, "kube-servers.md") {
		switch {
		case strings.HasPrefix(line, "server up"):
			code, out, errs := kube(append(pageArguments(line, words), "--dry-run")...)
			require.Zero(t, code, "%s: %s", line, errs)
			require.Contains(t, out, "kind: Deployment")
		case strings.HasPrefix(line, "run"):
			code, out, errs := kube(pageArguments(line, words, "--dry-run")...)
			require.Zero(t, code, "%s: %s", line, errs)
			require.Contains(t, out, "kind: Job")
		case strings.HasPrefix(line, "rights"):
			code, out, errs := kube(pageArguments(line, words)...)
			require.Zero(t, code, "%s: %s", line, errs)
			require.Contains(t, out, "kind: Role\n")
		}
	}
}
