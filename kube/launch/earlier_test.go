package launch

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// hold keeps the only pod of the namespace in the state Terminating, until the returned function is called.
func hold(t *testing.T, tc *testcluster.Cluster, namespace string) (release func()) {
	t.Helper()
	pods := tc.Client().CoreV1().Pods(namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	patch := func(text string) {
		_, err := pods.Patch(t.Context(), list.Items[0].Name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	patch(`{"metadata":{"finalizers":["test/hold"]}}`)
	return sync.OnceFunc(func() { patch(`{"metadata":{"finalizers":null}}`) })
}

// TestRelaunch starts a launch with the id of an earlier one: while that one runs, while its pod is ending, and after
// it is gone.
func TestRelaunch(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns, c := kubetest.Namespace(t, tc), kubetest.Connect(t, tc.Admin())
	first := options(t, kubetest.Launch(ns, "again", "sim", "--listen", "127.0.0.1:0"))
	first.Wait, first.Keep = 0, true
	_, err := Run(t.Context(), c, first)
	require.NoError(t, err)

	second := options(t, kubetest.Launch(ns, "again", "version"))
	second.Profiles = map[string]string{"other.yaml": "{}\n"}
	_, err = Run(t.Context(), c, second)
	known := exit.Classify(err)
	require.Equal(t, exit.StatusUsage, known.Exit, "%v", err)
	require.ErrorContains(t, err, "the namespace "+ns+" already has a launch with the id again")
	require.Contains(t, known.Hint, "kube collect -p "+ns+" again")

	release := hold(t, tc, ns)
	require.NoError(t, newRunner(c, first).remove(t.Context()))
	second.Start = 3 * time.Second
	_, err = Run(t.Context(), c, second)
	requireError(t, err, cluster.Timeout,
		"an earlier launch with the id again did not end within 3s: pod inference-perf-again-0-")

	var told []string
	second.Start, second.Notify = 2*time.Minute, func(s string) {
		t.Log(s)
		told = append(told, s)
		if strings.HasPrefix(s, "waiting for the end of an earlier launch") {
			release()
		}
	}
	result, err := Run(t.Context(), c, second)
	require.NoError(t, err)
	require.Len(t, result.Pods, 1)
	require.Zero(t, result.Exit())
	require.True(t, strings.HasPrefix(told[0], "waiting for the end of an earlier launch with the id again: "), told[0])
	require.NotContains(t, strings.Join(told, "\n"), "the pod or its namespace was deleted")
	requireClean(t, tc, &second.Launch)
}

// TestOwnPods judges only the pods of the launch's own job, and continues only an unfinished campaign of its own.
func TestOwnPods(t *testing.T) {
	yes := true
	pod := func(name string, job types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
			{Kind: "Job", Name: "j", UID: job, Controller: &yes}}}}
	}
	r := &runner{job: "new"}
	own := r.own([]*corev1.Pod{pod("a", "old"), pod("b", "new"), {ObjectMeta: metav1.ObjectMeta{Name: "c"}}})
	require.Len(t, own, 1)
	require.Equal(t, "b", own[0].Name)

	ended := []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	for name, e := range map[string]struct {
		job      string
		attempts int
		ended    []batchv1.JobCondition
		fails    bool
	}{
		"campaign":         {"inference-perf-x", 1, nil, false},
		"ended campaign":   {"inference-perf-x", 1, ended, true},
		"run":              {"inference-perf-x", 0, nil, true},
		"another harness":  {"guidellm-x", 1, nil, true},
		"nothing is there": {"", 0, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := kubetest.Launch("bench", "x")
			l.Attempts = e.attempts
			client := fake.NewClientset()
			if e.job != "" {
				client = fake.NewClientset(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: e.job, Namespace: "bench",
					Labels: l.Labels()}, Status: batchv1.JobStatus{Conditions: e.ended}})
			}
			r := newRunner(&cluster.Cluster{Client: client}, Options{Launch: l})
			left, err := r.earlier(t.Context())
			require.Empty(t, left)
			require.Equal(t, e.fails, err != nil, "%v", err)
		})
	}
}
