package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/objectstore"
	"github.com/mlperf-go/mlperf-go/objectstore/storetest"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// storeTest is a test for storetest.
type storeTest struct{ *testing.T }

func (t storeTest) Defer(f func()) { t.Cleanup(f) }

// TestUploadOfPods sends the collected folders of pods, and reports an upload that fails.
func TestUploadOfPods(t *testing.T) {
	s := storetest.Start(storeTest{t}, t.TempDir(), storetest.Keys{ID: "me", Secret: "quite-secret", Region: "r"})
	env := map[string]string{"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "quite-secret", "AWS_REGION": "r",
		"AWS_ENDPOINT_URL": s.URL, "AWS_CA_BUNDLE": s.CAFile}
	open := func() *objectstore.Store {
		d, err := objectstore.Parse("s3://runs/team")
		require.NoError(t, err)
		store, err := objectstore.Open(d, objectstore.Options{Lookup: func(name string) (string, bool) {
			value, ok := env[name]
			return value, ok
		}})
		require.NoError(t, err)
		t.Cleanup(store.Close)
		return store
	}
	result := &launch.Result{}
	for _, name := range []string{"one_0", "one_1"} {
		folder := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "run"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "run", "bench.json"), []byte(name), 0o600))
		result.Pods = append(result.Pods, launch.Pod{Folder: folder})
	}
	result.Pods = append(result.Pods, launch.Pod{Name: "not waited for"})
	var messages bytes.Buffer
	p := &program{stderr: &messages, store: open()}
	p.sendPods(t.Context(), result)
	require.Zero(t, p.exit, &messages)
	for _, name := range []string{"one_0", "one_1"} {
		body, found := s.Object("runs/team/" + name + "/run/bench.json")
		require.True(t, found, s.Names())
		require.Equal(t, name, string(body))
	}
	env["AWS_SECRET_ACCESS_KEY"] = "another-secret"
	p.store = open()
	require.NoError(t, os.WriteFile(filepath.Join(result.Pods[0].Folder, "run", "more"), nil, 0o600))
	p.sendPods(t.Context(), result)
	require.Equal(t, exit.StatusEnvironment, p.exit)
	require.Contains(t, messages.String(), "mlperf-go bench upload "+result.Pods[0].Folder+" s3://runs/team")
	require.NotContains(t, messages.String(), "another-secret")
}

// TestBadUpload finds a wrong destination, and missing keys, before anything starts.
func TestBadUpload(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	for _, to := range []string{"ftp://x", "s3://bucket/path"} {
		code, _, errs := dry("-l", "inference-perf", "-w", "sanity_random", "-U", "http://h:1", "--upload", to)
		require.Equal(t, exit.StatusUsage, code, errs)
		require.Contains(t, errs, "docs/reference/upload.md")
		code, _, errs = kube("collect", "--upload", to, "-p", "ns", "one")
		require.Equal(t, exit.StatusUsage, code, errs)
	}
}

// TestUploadFromTheCluster sends the results of a run from the machine of the launcher.
func TestUploadFromTheCluster(t *testing.T) {
	s := storetest.Start(storeTest{t}, t.TempDir(), storetest.Keys{ID: "me", Secret: "quite-secret", Region: "r"})
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "quite-secret",
		"AWS_REGION": "r", "AWS_ENDPOINT_URL": s.URL, "AWS_CA_BUNDLE": s.CAFile} {
		t.Setenv(name, value)
	}
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t)
	code, _, errs := kube("run", "--kubeconfig", tc.UserKubeconfig(true), "-p", kubetest.Namespace(t, tc),
		"--image", kubetest.ImageName, "--cpu", "1", "--memory", "1Gi", "-r", t.TempDir(), "-w", write(t, own), "-U", url,
		"--id", "sent", "--upload", "s3://runs")
	require.LessOrEqual(t, code, 1, errs) // a busy machine makes a run INVALID
	require.Contains(t, errs, "sent to s3://runs/sent_0")
	for _, name := range []string{"run/bench.json", "run/events.bin", "upload.json"} {
		_, found := s.Object("runs/sent_0/" + name)
		require.True(t, found, name)
	}
}
