package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/bench"
)

// simFile returns a server file that starts the simulator.
func simFile(t *testing.T, port int32) string {
	return write(t, fmt.Sprintf("backend: sim\nmodel: sim\nport: %d\nheartbeat_interval: 1s\nstop_timeout: 5s\n"+
		"launch_command: [%s, sim, --listen, '{host}:{port}']\n", port, objects.Program))
}

// serving creates a namespace that enforces the restricted Pod Security Standard. The user has only the rights of `kube
// rights --servers` there.
func serving(t *testing.T, tc *testcluster.Cluster) (name string) {
	t.Helper()
	name = kubetest.Namespace(t, tc)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	_, err := tc.Client().CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, o := range objects.ServerRights(name, "user") {
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

// requireNoServer waits until the namespace contains no object of a server.
func requireNoServer(t *testing.T, tc *testcluster.Cluster, namespace string) {
	t.Helper()
	at := metav1.ListOptions{LabelSelector: objects.LabelServer}
	tc.Eventually(time.Minute, "nothing is left", func(ctx context.Context) error {
		deployments, err := tc.Client().AppsV1().Deployments(namespace).List(ctx, at)
		if err != nil {
			return err
		}
		sets, err := tc.Client().AppsV1().ReplicaSets(namespace).List(ctx, at)
		if err != nil {
			return err
		}
		services, err := tc.Client().CoreV1().Services(namespace).List(ctx, at)
		if err != nil {
			return err
		}
		pods, err := tc.Client().CoreV1().Pods(namespace).List(ctx, at)
		if err != nil {
			return err
		}
		if n := len(deployments.Items) + len(sets.Items) + len(services.Items) + len(pods.Items); n > 0 {
			return fmt.Errorf("%d deployments, %d replica sets, %d services, %d pods", len(deployments.Items), len(sets.Items),
				len(services.Items), len(pods.Items))
		}
		return nil
	})
}

// TestServer starts a server in the cluster, measures it with a run in another pod, changes it, and removes it.
func TestServer(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns := serving(t, tc)
	port := tc.Port()
	at := []string{"--kubeconfig", tc.UserKubeconfig(false), "-p", ns + ",bench", "--server-config", simFile(t, port)}
	up := func(more ...string) (int, string, string) {
		return kube(append(append([]string{"server", "up", "--image", kubetest.ImageName, "--gpus-per-replica", "2",
			"--wait-timeout", "2m"}, at...), more...)...)
	}
	code, out, errs := up()
	require.Zero(t, code, errs)
	require.Equal(t, fmt.Sprintf("http://sim.%s.svc:%d\n", ns, port), out)
	pods := func() []corev1.Pod {
		list, err := tc.Client().CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		return list.Items
	}
	first := pods()
	require.Len(t, first, 1)
	gpus := first[0].Spec.Containers[0].Resources.Limits[testcluster.GPU]
	require.EqualValues(t, 2, gpus.Value())

	output := t.TempDir()
	code, _, errs = kube("run", "--kubeconfig", tc.UserKubeconfig(true), "-p", ns+","+kubetest.Namespace(t, tc),
		"--image", kubetest.ImageName, "--cpu", "1", "--memory", "1Gi", "-r", output, "-w", write(t, own), "--id", "x", "-t",
		"deployment/sim")
	require.LessOrEqual(t, code, 1, errs) // a busy machine makes a run INVALID
	r, err := bench.Read(filepath.Join(output, "x_0", "run"))
	require.NoError(t, err)
	require.EqualValues(t, 20, r.Measured.Total.Requests.OK)

	code, _, errs = up("--", "--ttft", "3ms")
	require.Zero(t, code, errs)
	second := pods()
	require.NotEqual(t, first[0].UID, second[len(second)-1].UID, "another version, another pod")
	require.Contains(t, second[len(second)-1].Spec.Containers[0].Command, "3ms")

	code, out, errs = kube(append([]string{"server", "down"}, at...)...)
	require.Zero(t, code, errs)
	require.Equal(t, "removed the server sim from the namespace "+ns+"\n", out)
	requireNoServer(t, tc, ns)
	code, _, errs = kube("server", "down", "--kubeconfig", at[1], "-p", ns, "--name", "sim")
	require.Equal(t, exit.StatusUsage, code)
	require.Contains(t, errs, "the namespace "+ns+" has no server named \"sim\"")
}

// TestServerFailures lists servers that do not become ready, with the reported error. No object of them is left.
func TestServerFailures(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns := serving(t, tc)
	at := []string{"server", "up", "--kubeconfig", tc.UserKubeconfig(false), "-p", ns}
	file, image := simFile(t, tc.Port()), []string{"--image", kubetest.ImageName}
	with := func(args ...string) []string { return slices.Concat(image, args) }
	ends := write(t, "backend: sim\nmodel: m\nlaunch_command: [/bin/sh, -c, 'echo loading; "+
		"printf \"%s_%s\\n\" hf abcdefghijklmnopqrst; exit 7']\n")
	failures := map[string]struct {
		args []string
		want []string
	}{
		"image": {[]string{"--server-config", file, "--image", "example/unknown"}, []string{"ErrImagePull",
			"Check --image"}},
		"secret": {with("--server-config", file, "--secret-env", "HF_TOKEN=none:key"), []string{`"none" not found`}},
		"ends": {with("--server-config", ends), []string{"the server ended with code 7, ", // twice, or more if it is busy
			" times; the end of its log:", "  | loading\n  | ***"}},
		"gpus": {with("--server-config", file, "--gpus-per-replica", "9", "--wait-timeout", "5"),
			[]string{"was not ready within 5s", "no node accepts the pod", "Insufficient nvidia.com/gpu"}},
		"never ready": {with("--server-config", file, "--health-path", "/never", "--wait-timeout", "8"),
			[]string{"was not ready within 8s", "the server is starting"}},
	}
	t.Run("all", func(t *testing.T) {
		for name, e := range failures {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				code, out, errs := kube(slices.Concat(at, e.args, []string{"--name", strings.ReplaceAll(name, " ", "-")})...)
				require.Equal(t, exit.StatusEnvironment, code, errs)
				require.Empty(t, out)
				for _, want := range e.want {
					require.Contains(t, errs, want)
				}
				require.NotContains(t, errs, "abcdefghijkl")
			})
		}
	})
	requireNoServer(t, tc, ns)
	at = append(at, "--name", "s")
	_, err := tc.Client().CoreV1().ResourceQuotas(ns).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("0")}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	code, _, errs := kube(append(append(at, image...), "--server-config", file)...)
	require.Equal(t, exit.StatusEnvironment, code, errs)
	require.Contains(t, errs, "the cluster refuses the pods of s: pods ")
	require.Contains(t, errs, "exceeded quota")
	requireNoServer(t, tc, ns)

	foreign := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	_, err = tc.Client().AppsV1().Deployments(ns).Create(t.Context(), foreign, metav1.CreateOptions{})
	require.NoError(t, err)
	code, _, errs = kube(append(append(at, image...), "--server-config", file)...)
	require.Equal(t, exit.StatusUsage, code, errs)
	require.Contains(t, errs, "has a Deployment s that this program did not create")
}

// TestServerObjects prints the objects of the shipped server files, and rejects wrong command lines.
func TestServerObjects(t *testing.T) {
	for backend, gpus := range map[string]string{"vllm": `nvidia.com/gpu: "1"`, "sglang": `nvidia.com/gpu: "8"`} {
		code, out, errs := kube("server", "up", "-n", "-p", "serving", "--image", "i", "--secret-env", "HF_TOKEN=hf:token",
			"--server-config", "../../../configs/backends/"+backend+".yaml")
		require.Zero(t, code, errs)
		for _, want := range []string{"kind: Deployment", "kind: Service\n", "namespace: serving\n", gpus, "name: " + backend,
			"secretKeyRef", "runAsUser: 65532"} {
			require.Contains(t, out, want)
		}
	}
	for backend, want := range map[string]string{"vllm": "- name: VLLM_API_KEY\n",
		"sglang": "- --api-key\n        - $(SGLANG_API_KEY)\n"} {
		code, out, errs := kube("server", "up", "-n", "-p", "serving", "--image", "i", "--api-key-secret", "keys:serving",
			"--server-config", "../../../configs/backends/"+backend+".yaml")
		require.Zero(t, code, errs)
		require.Contains(t, out, want)
		require.Contains(t, out, "secretKeyRef:\n              key: serving\n              name: keys\n")
	}
	file := simFile(t, 8000)
	for want, args := range map[string][]string{
		"--api-key-secret is for":              {"--image", "i", "--server-config", file, "--api-key-secret", "a:b"},
		"expected SECRET:KEY":                  {"--image", "i", "--server-config", file, "--api-key-secret", "key"},
		"no --server-config given":             {"--image", "i"},
		"no image given":                       {"--server-config", file},
		"no such file":                         {"--image", "i", "--server-config", "absent.yaml"},
		`unexpected argument "x"`:              {"--image", "i", "--server-config", file, "x"},
		`--memory "much"`:                      {"--image", "i", "--server-config", file, "--memory", "much"},
		"expected NAME=SECRET:KEY":             {"--image", "i", "--server-config", file, "--secret-env", "A=b"},
		"cannot start -1 replicas":             {"--image", "i", "--server-config", file, "--replicas", "-1"},
		"--name requires a value, but --image": {"--name", "--image", "i"},
	} {
		code, out, errs := kube(append([]string{"server", "up", "--dry-run"}, args...)...)
		require.Equal(t, exit.StatusUsage, code, "%s: %s", want, errs)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
	code, _, errs := kube("server", "down", "-p", "serving")
	require.Equal(t, exit.StatusUsage, code)
	require.Contains(t, errs, "no server named")
	code, out, errs := kube("rights", "--servers", "-p", "serving,bench", "--user", "me")
	require.Zero(t, code, errs)
	require.Contains(t, out, "name: mlperf-go-servers\n  namespace: serving\n")
	require.NotContains(t, out, "secrets")
}
