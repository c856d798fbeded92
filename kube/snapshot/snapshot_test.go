package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/target"
)

// server is a pod with secrets in a variable, in its arguments and in kubectl's annotation. The log of every pod of the
// fake cluster is "fake logs".
func server() *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "vllm-0", Namespace: "serving", Labels: map[string]string{"app": "vllm"},
			Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "repeated",
				"note": "\x1b[31mred"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "repeated"}}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "main",
			Args: []string{"serve", "--api-key", "sk-1234567890"},
			Env:  []corev1.EnvVar{{Name: "HF_TOKEN", Value: "fake"}, {Name: "HF_HOME", Value: "/models"}}}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 1}}}}
}

func fakeCluster(objects ...runtime.Object) *cluster.Cluster {
	kinds := map[schema.GroupVersionResource]string{}
	for _, k := range target.Kinds() {
		for _, v := range k.Versions {
			kinds[v] = k.Name + "List"
		}
	}
	kinds[schema.GroupVersionResource{Version: "v1", Resource: "pods"}] = "PodList"
	return &cluster.Cluster{Client: fake.NewClientset(objects...),
		Dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme.Scheme, kinds, objects...)}
}

func TestTake(t *testing.T) {
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	c := fakeCluster(server(), node)
	folder := t.TempDir()
	var notes []string
	Take(t.Context(), c, Options{Namespace: "serving", Folder: folder, Since: time.Now(),
		Target: &target.Target{Kind: "pod", Name: "vllm-0", Namespace: "serving"},
		Notify: func(s string) { notes = append(notes, s) }})
	require.Empty(t, notes)

	state := read(t, folder, StateFolder, "pod.yaml")
	for _, hidden := range []string{"sk-1234567890", "value: fake", "repeated", "managedFields", "\x1b"} {
		require.NotContains(t, state, hidden)
	}
	for _, kept := range []string{"name: vllm-0", "value: /models", "- serve", "- --api-key", "name: HF_TOKEN"} {
		require.Contains(t, state, kept)
	}
	require.Contains(t, read(t, folder, StateFolder, "node.yaml"), "name: node-1")
	for _, name := range []string{"vllm-0_main.log", "vllm-0_main.previous.log"} {
		log := read(t, folder, LogsFolder, name)
		require.NotContains(t, log, "fake")
		require.True(t, strings.HasSuffix(strings.TrimSpace(log), "logs"), log)
	}
	info, err := os.Stat(filepath.Join(folder, LogsFolder, "vllm-0_main.log"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}

// TestForbiddenNodes: a user without a right in the whole cluster does not see nodes, and gets the rest.
func TestForbiddenNodes(t *testing.T) {
	c, folder := fakeCluster(server()), t.TempDir()
	var notes []string
	Take(t.Context(), c, Options{Namespace: "serving", Folder: folder,
		Target: &target.Target{Kind: "pod", Name: "vllm-0", Namespace: "serving"},
		Notify: func(s string) { notes = append(notes, s) }})
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "the state of the node node-1: not kept: ")
	require.FileExists(t, filepath.Join(folder, LogsFolder, "vllm-0_main.log"))
}

// TestWhatCannotBeKept: a snapshot that cannot be written is reported and ends nothing.
func TestWhatCannotBeKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(folder, nil, 0o600))
	var notes []string
	Take(t.Context(), &cluster.Cluster{}, Options{Folder: folder, Notify: func(s string) { notes = append(notes, s) }})
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "the state of the cluster cannot be kept")
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(text)
}
