package launch

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// options run a launch with an output folder of the test's own.
func options(t *testing.T, l objects.Launch) Options {
	return Options{Launch: l, Output: t.TempDir(), Start: 2 * time.Minute, Wait: 4 * time.Minute,
		Notify: func(s string) { t.Log(s) }}
}

// TestRun runs a LoadGen test in a pod for a user with only the rights of Rights. The namespace enforces the restricted
// Pod Security Standard; the pod has an arbitrary user id and a read-only root.
func TestRun(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t)
	ns := prepareNamespace(t, tc)
	c := kubetest.Connect(t, tc.User())
	args := []string{"run", "--model", "llama3.1-8b", "--scenario", "Offline", "--samples", "64", "--min-queries", "64",
		"--endpoint", url, "--output-dir", "$(RESULTS)/run", "--no-progress"}
	for name, claim := range map[string]string{"temporary": "", "claim": "workload-pvc"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := kubetest.Launch(ns, name, args...)
			l.Storage.Claim, l.Storage.Size = claim, mustParse("4Gi")
			o := options(t, l)
			result, err := Run(t.Context(), c, o)
			require.NoError(t, err)
			require.Len(t, result.Pods, 1)
			require.Equal(t, 0, result.Pods[0].Exit)
			text, err := os.ReadFile(filepath.Join(o.Output, name+"_0", "run", "run.json"))
			require.NoError(t, err)
			var record struct{ Verdict string }
			require.NoError(t, json.Unmarshal(text, &record))
			require.Equal(t, "VALID", record.Verdict)
			logs, err := os.ReadDir(filepath.Join(o.Output, "logs"))
			require.NoError(t, err)
			require.Len(t, logs, 1)
			jobs, err := tc.Client().BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{LabelSelector: l.Selector()})
			require.NoError(t, err)
			require.Empty(t, jobs.Items, "the launch is deleted")
		})
	}

	// Without any right, the message names the missing one and the command that prints all.
	_, err := Run(t.Context(), c, options(t, kubetest.Launch("other", "x")))
	require.ErrorContains(t, err, "forbidden")
	require.ErrorContains(t, err, "mlperf-go kube rights")
}

// prepareNamespace creates the namespace and grants the user the rights of a launcher there.
func prepareNamespace(t *testing.T, tc *testcluster.Cluster) (name string) {
	t.Helper()
	name = kubetest.Namespace(t, tc)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	_, err := tc.Client().CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, o := range objects.Rights(name, name, "user") {
		switch o := o.(type) {
		case *rbacv1.Role:
			_, err = tc.Client().RbacV1().Roles(name).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = tc.Client().RbacV1().RoleBindings(name).Create(t.Context(), o, metav1.CreateOptions{})
		}
		require.NoError(t, err)
	}
	return name
}

// TestEnds lists abnormal ends of pods, with the class and the text of the error.
func TestEnds(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns, c := kubetest.Namespace(t, tc), kubetest.Connect(t, tc.Admin())
	sleep := []string{"sim", "--listen", "127.0.0.1:0"} // a command that does not end
	running := func(f func(pod string)) func(context.Context, []*corev1.Pod) error {
		return func(_ context.Context, pods []*corev1.Pod) error {
			f(pods[0].Name)
			return nil
		}
	}
	for _, e := range []struct {
		name    string
		change  func(o *Options)
		code    exit.Code
		message string
	}{
		{"invalid", func(o *Options) { o.Args = []string{"run", "--model", "no-such-model"} }, "", ""},
		{"image", func(o *Options) { o.Image = "example/unknown" }, cluster.Launcher, "ErrImagePull"},
		{"secret", func(o *Options) { o.SecretEnv = map[string]objects.SecretKey{"TOKEN": {Secret: "none", Key: "k"}} },
			cluster.Launcher, "none"},
		{"killed", func(o *Options) {
			o.Args, o.Started = sleep, running(func(pod string) { tc.Kill(ns, pod, "OOMKilled") })
		}, cluster.Launcher, "it needed more than its memory"},
		{"evicted", func(o *Options) {
			o.Args, o.Started = sleep, running(func(pod string) { tc.Evict(ns, pod, "The node was low on memory.") })
		}, cluster.Launcher, "evicted"},
		{"slow", func(o *Options) { o.Args, o.Wait = sleep, 6*time.Second }, cluster.Timeout, "did not end within 6s"},
		{"unschedulable", func(o *Options) { o.NodeSelector, o.Start = map[string]string{"gpu": "none"}, 3*time.Second },
			cluster.Timeout, "did not start within 3s"},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			o := options(t, kubetest.Launch(ns, e.name, "version"))
			e.change(&o)
			result, err := Run(t.Context(), c, o)
			if e.code == "" { // a failed command is a result
				require.NoError(t, err)
				require.Equal(t, exit.StatusUsage, result.Exit())
				return
			}
			var known *exit.Error
			require.True(t, errors.As(err, &known), "%v", err)
			require.Equal(t, e.code, known.Code, "%v", err)
			require.Equal(t, exit.StatusEnvironment, known.Exit)
			require.ErrorContains(t, err, e.message)
		})
	}
}

// TestCollectLater collects the results of a launch that did not wait.
func TestCollectLater(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns, c := kubetest.Namespace(t, tc), kubetest.Connect(t, tc.Admin())
	o := options(t, kubetest.Launch(ns, "later", "version"))
	o.Wait, o.Keep = 0, true
	_, err := Run(t.Context(), c, o)
	require.NoError(t, err)
	out := t.TempDir()
	result, err := Collect(t.Context(), c, Experiment{ID: "later", Namespace: ns}, Options{Output: out})
	require.NoError(t, err)
	require.Len(t, result.Pods, 1)
	require.FileExists(t, filepath.Join(out, "later_0", "worker.json"))
	_, err = Collect(t.Context(), c, Experiment{ID: "never", Namespace: ns}, Options{Output: out})
	require.ErrorContains(t, err, `no experiment "never"`)
}
