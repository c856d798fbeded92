// Package testcluster runs a real Kubernetes control plane on loopback for tests: etcd, kube-apiserver with RBAC and
// ServiceAccount admission, kube-controller-manager and kube-scheduler, all built from Kubernetes' own modules by
// `make test-kube` (folder controlplane).
//
//	func TestMain(m *testing.M) { testcluster.Main(m) }
//
//	cluster := testcluster.Start(t)
//	node := cluster.Node("node-1", testcluster.Image{Name: "example/mlperf-go", Files: ..., Entrypoint: ...})
//	client, err := kubernetes.NewForConfig(cluster.Admin())
//
// The one part that is not Kubernetes' own is the kubelet: Node runs each container as a local process in a mount
// namespace, whose root is the host's /usr and /etc, the image's folders and the pod's volumes. Projected tokens,
// ConfigMaps, Secrets, claims, logs, exec, forwarded ports and termination behave as on a real node, so far as these
// tests need them.
// Containers share the host's network, so that a pod reaches a server on loopback.
//
// Only tests import the package.
package testcluster
