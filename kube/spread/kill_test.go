package spread

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/testcluster"
)

// kill kills the second pod of the namespace and returns its name.
func kill(t *testing.T, tc *testcluster.Cluster, namespace string) string {
	t.Helper()
	pods, err := tc.Client().CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, pods.Items, 3)
	name := pods.Items[1].Name
	tc.Kill(namespace, name, "")
	return name
}

// lose cuts the power of the node of the first pod of a namespace, and returns the pods that ran on it.
func lose(t *testing.T, tc *testcluster.Cluster, namespace string,
	nodes map[string]*testcluster.Node) (names []string) {
	t.Helper()
	pods, err := tc.Client().CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	node := pods.Items[0].Spec.NodeName
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == node {
			names = append(names, pods.Items[i].Name)
		}
	}
	nodes[node].Lose()
	return names
}
