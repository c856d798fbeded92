package kubetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
)

// ImageName is the name of the image of Image.
const ImageName = "example/mlperf-go:1"

// Program returns the path of mlperf-go, which `make test-kube` builds first. Without it the test is skipped, except
// where a control plane was named: then it fails.
func Program(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for dir != "/" && filepath.Base(dir) != "kube" { // the folder of this module is in the repository's root
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(filepath.Dir(dir), "bin/mlperf-go")
	if _, err := os.Stat(path); err != nil {
		missing := t.Skipf
		if os.Getenv(testcluster.Program) != "" {
			missing = t.Fatalf
		}
		missing("there is no %s; run `make test-kube`", path)
	}
	return path
}

// Cluster is the control plane that the tests of a package share. It has two nodes with Image, and makes a volume for
// every claim.
func Cluster(t testing.TB) *testcluster.Cluster {
	t.Helper()
	program := Program(t)
	return testcluster.Share(t, func(c *testcluster.Cluster) {
		image := imageIn(t, c.Dir("image"), program)
		c.Node("node-1", image)
		c.Node("node-2", image)
		c.Provision()
	})
}

// Namespace returns the name of a namespace for one test, which does not exist. It is deleted after the test.
func Namespace(t testing.TB, c *testcluster.Cluster) string {
	t.Helper()
	name := fmt.Sprintf("%s-%d", strings.ToLower(strings.Map(func(r rune) rune {
		if r == '/' || r == '_' {
			return '-'
		}
		return r
	}, t.Name())), namespaces.Add(1))
	t.Cleanup(func() {
		c.Client().CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{}) // if it was created
	})
	return name
}

// namespaces counts the namespaces of the process.
var namespaces atomic.Int64

// Reserve registers nodes for one test, which may lose them, and returns the placement of pods on them.
func Reserve(t testing.TB, c *testcluster.Cluster, key string, n int) (map[string]*testcluster.Node,
	objects.Placement) {
	t.Helper()
	image, nodes := Image(t), map[string]*testcluster.Node{}
	for i := range n {
		name := fmt.Sprintf("%s-%d", key, i)
		nodes[name] = c.Reserved(key, name, image)
	}
	return nodes, objects.Placement{NodeSelector: map[string]string{key: ""}, Tolerations: []corev1.Toleration{
		{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}}
}

// Image is the image of the program: a folder with it in the place of /usr/local/bin.
func Image(t testing.TB) testcluster.Image {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	return imageIn(t, dir, Program(t))
}

func imageIn(t testing.TB, dir, program string) testcluster.Image {
	t.Helper()
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mlperf-go"), data, 0o755))
	return testcluster.Image{Name: ImageName, Entrypoint: []string{objects.Program},
		Folders: map[string]string{"/usr/local/bin": dir}}
}

// Simulator starts a simulated server on loopback and returns its URL.
func Simulator(t testing.TB, flags ...string) string {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	process := exec.Command(Program(t), append([]string{"sim", "--ready-file", ready}, flags...)...)
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, process.Start())
	t.Cleanup(func() {
		process.Process.Kill()
		process.Wait()
	})
	var url string
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return url != ""
	}, time.Minute, 50*time.Millisecond)
	return url
}

// Connect returns the access that a configuration describes.
func Connect(t testing.TB, config *rest.Config) *cluster.Cluster {
	t.Helper()
	c, err := cluster.New(config)
	require.NoError(t, err)
	return c
}

// Launch returns a launch of one small pod in a namespace.
func Launch(namespace, id string, args ...string) objects.Launch {
	return objects.Launch{ID: id, Namespace: namespace, Harness: "inference-perf", Image: ImageName,
		ServiceAccount: "mlperf-go",
		Pods:           1, CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi"), Hold: time.Hour,
		Profiles: map[string]string{"chat.yaml": "{}\n"}, Args: args}
}
