package launch

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

const image = "example/mlperf-go:1"

// program returns the path of mlperf-go, which `make test-kube` builds first.
func program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/mlperf-go")
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("there is no %s; run `make test-kube`", path)
	}
	return path
}

// imageOf is the image of the program: its folder in the place of /usr/local/bin.
func imageOf(t *testing.T) testcluster.Image {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Link(program(t), filepath.Join(dir, "mlperf-go")))
	return testcluster.Image{Name: image, Entrypoint: []string{objects.Program}, Folders: map[string]string{"/usr/local/bin": dir}}
}

// simulator starts a simulated server and returns its URL.
func simulator(t *testing.T, flags ...string) string {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	process := exec.Command(program(t), append([]string{"sim", "--ready-file", ready}, flags...)...)
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		process.Process.Kill()
		process.Wait()
	})
	var url string
	require.Eventually(t, func() bool {
		f, err := os.Open(ready)
		if err != nil {
			return false
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Scan()
		url = strings.TrimSpace(s.Text())
		return url != ""
	}, time.Minute, 50*time.Millisecond)
	return url
}

func connect(t *testing.T, config *rest.Config) *cluster.Cluster {
	t.Helper()
	c, err := cluster.New(config)
	require.NoError(t, err)
	return c
}

func launchFor(id string, args ...string) objects.Launch {
	return objects.Launch{ID: id, Namespace: "bench", Harness: "inference-perf", Image: image, ServiceAccount: "mlperf-go", Pods: 1,
		CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi"), Hold: time.Hour,
		Profiles: map[string]string{"chat.yaml": "{}\n"}, Args: args}
}

// TestRun runs a LoadGen test in a pod of an unprivileged user, with an arbitrary user id and a read-only root, and
// collects its record.
func TestRun(t *testing.T) {
	tc := testcluster.Start(t)
	tc.Node("node-1", imageOf(t))
	url := simulator(t)
	c := connect(t, tc.Admin())
	var told []string
	out := t.TempDir()
	l := launchFor("one", "run", "--model", "llama3.1-8b", "--scenario", "Offline", "--samples", "64", "--min-queries", "64",
		"--endpoint", url, "--output-dir", "$(RESULTS)/run", "--no-progress")
	result, err := Run(t.Context(), c, Options{Launch: l, Output: out, Start: 2 * time.Minute, Wait: 4 * time.Minute,
		Notify: func(text string) { told = append(told, text); t.Log(text) }})
	require.NoError(t, err)
	require.Len(t, result.Pods, 1)
	require.Equal(t, 0, result.Pods[0].Exit)
	text, err := os.ReadFile(filepath.Join(out, "one_0", "run", "run.json"))
	require.NoError(t, err)
	var record struct{ Verdict string }
	require.NoError(t, json.Unmarshal(text, &record))
	require.Equal(t, "VALID", record.Verdict)
	log, err := os.ReadDir(filepath.Join(out, "logs"))
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.NotEmpty(t, told)
}
