package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// steps reads the attempts of a campaign's finished steps. Each pod repeats preflights.
func steps(folder string) (done map[string]int, err error) {
	text, err := os.ReadFile(filepath.Join(folder, "campaign.json"))
	if err != nil {
		return nil, err
	}
	var c struct {
		Steps []struct {
			ID, State string
			Attempts  int
		}
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	done = map[string]int{}
	for _, s := range c.Steps {
		if s.State == "done" && path.Base(s.ID) != "preflight" {
			done[s.ID] = s.Attempts
		}
	}
	return done, nil
}

// TestSubmission runs a campaign whose first pod is killed for its memory use and whose second pod is evicted. The
// third pod resumes it, and the collected tree passes the check.
func TestSubmission(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns, output, image := kubetest.Namespace(t, tc), t.TempDir(), "registry.example/mlperf-go:1"
	words := map[string]string{"bench": ns, image: kubetest.ImageName, "http://vllm.serving:8000": kubetest.Simulator(t)}
	commands := pageCommands(t, "kube-campaigns.md")
	address := freeAddress(t)
	args := pageArguments(commands[0], words, "--kubeconfig", tc.UserKubeconfig(true), "--cpu", "1", "--memory", "1Gi",
		"-r", output, "--live", address)
	type end struct {
		code int
		errs string
	}
	ended := make(chan end, 1)
	go func() {
		code, _, errs := kube(args...)
		ended <- end{code, errs}
	}()
	before := map[string]int{}
	for i, lose := range []func(pod string){
		func(pod string) { tc.Kill(ns, pod, "OOMKilled") },
		func(pod string) { tc.Evict(ns, pod, "The node was low on memory.") },
	} {
		tc.Eventually(2*time.Minute, fmt.Sprintf("the pod %d has done some steps", i), func(ctx context.Context) error {
			folder, err := claimFolder(ctx, tc, ns)
			if err != nil {
				return err
			}
			done, err := steps(filepath.Join(folder, "first_0", campaignFolder))
			if err == nil && len(done) < len(before)+2 {
				err = fmt.Errorf("done: %v", done)
			}
			if err == nil {
				before = done
			}
			return err
		})
		var page string
		require.Eventually(t, func() bool { // the page has the pod's steps and charts
			page = pageAt(address)
			return strings.Count(page, "<td>done</td>") >= len(before) && strings.Contains(page, `id="ttft"`)
		}, time.Minute, 200*time.Millisecond, "%s", &page)
		require.Contains(t, page, `<th scope="row">step</th>`)
		lose(runningPod(t, tc, ns))
	}
	e := <-ended
	require.Zero(t, e.code, e.errs)
	require.Contains(t, e.errs, "it needed more than its memory; raise --memory")
	require.Contains(t, e.errs, "its node evicted it")
	campaign := filepath.Join(output, "first_0", campaignFolder)
	after, err := steps(campaign)
	require.NoError(t, err)
	for name, attempts := range before {
		require.Equal(t, attempts, after[name], "%s is not run again", name)
	}
	require.Greater(t, len(after), len(before))
	logs, err := os.ReadDir(filepath.Join(output, "logs"))
	require.NoError(t, err)
	require.Len(t, logs, 3, "of all three pods")
	later := t.TempDir() // the page's last command collects the campaign from the claim
	code, _, errs := kube(pageArguments(commands[len(commands)-1], words, "--kubeconfig", tc.UserKubeconfig(true), "-r",
		later)...)
	require.Zero(t, code, errs)
	require.FileExists(t, filepath.Join(later, "first_0", campaignFolder, "campaign.json"))
	text, err := exec.Command(kubetest.Program(t), "submission", "check", filepath.Join(campaign, "submission")).
		CombinedOutput()
	require.NoError(t, err, "%s", text)
	jobs, err := tc.Client().BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, jobs.Items)
}

// freeAddress returns an address at which nothing is served.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// pageAt returns the page at an address, or why it cannot be read.
func pageAt(address string) string {
	r, err := http.Get("http://" + address)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return string(text)
}

// claimFolder returns the folder of the only volume in a namespace.
func claimFolder(ctx context.Context, tc *testcluster.Cluster, namespace string) (string, error) {
	volumes, err := tc.Client().CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range volumes.Items {
		if volumes.Items[i].Spec.ClaimRef.Namespace == namespace {
			return volumes.Items[i].Spec.HostPath.Path, nil
		}
	}
	return "", errors.New("no volume")
}

func runningPod(t *testing.T, tc *testcluster.Cluster, namespace string) string {
	t.Helper()
	pods, err := tc.Client().CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			return pods.Items[i].Name
		}
	}
	t.Fatalf("no pod runs: %+v", pods.Items)
	return ""
}

func TestSubmissionCommandLines(t *testing.T) {
	system := write(t, `{"system_name": "x"}`)
	at := []string{"submission", "--dry-run", "--image", "i", "--id", "x"}
	code, out, errs := kube(append(at, "--model=llama3.1-8b", "-k", "c", "--set", "Server.target-qps=80", "--system",
		system, "--file", system, "--resume", "-t", "vllm")...)
	require.Zero(t, code, errs)
	require.Contains(t, out, "- --model=llama3.1-8b\n")
	require.Contains(t, out, "- --system\n        - /workspace/profiles/mlperf-go/file.yaml\n")
	require.Contains(t, out, "- --endpoint\n        - "+mockURL)
	for want, args := range map[string][]string{
		"no benchmark given":               {"-k", "c", "--endpoint", "http://h:1"},
		"keeps its folder on a claim":      {"--model", "m"},
		"--output-dir cannot change it":    {"-k", "c", "--model", "m", "--output-dir", "x"},
		"would be readable in the Job":     {"-k", "c", "--model", "m", "--api-key=secret"},
		"no flag of the campaign names it": {"-k", "c", "--model", "m", "--file", system},
		`unexpected argument "run"`:        {"-k", "c", "run", "--model", "m"},
		"--restarts -1 is negative":        {"-k", "c", "--restarts=-1", "--model", "m"},
		"--image requires a value":         {"-k", "c", "--model", "m", "--image", "--keep"},
		"--live-control requires --live":   {"-k", "c", "--model", "m", "--live-control"},
		"which ends the page of --live":    {"-k", "c", "--model", "m", "--live", ":0", "--wait-timeout", "0"},
		`-t "a,b" names several servers`:   {"-k", "c", "--model", "m", "-t", "a,b"},
		"two files are named file.yaml":    {"-k", "c", "--model", system, "--file", system, "--file", system},
		"no such file or directory":        {"-k", "c", "--model", "m", "--file", "/no/file"},
		"Required flag \"image\" not set":  nil,
	} {
		line := append(at, args...)
		if args == nil {
			line = []string{"submission", "--model", "m"}
		}
		code, out, errs := kube(line...)
		require.Equal(t, exit.StatusUsage, code, errs)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
}
