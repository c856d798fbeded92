package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/kubetest"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/testcluster"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// requireError checks the class and the text of an error of the environment.
func requireError(t *testing.T, err error, code exit.Code, texts ...string) {
	t.Helper()
	known, ok := errors.AsType[*exit.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, code, known.Code, "%v", err)
	require.Equal(t, exit.StatusEnvironment, known.Exit)
	for _, text := range texts {
		require.Contains(t, known.Error(), text)
	}
}

// requireClean checks that the cluster contains no object of a launch.
func requireClean(t *testing.T, tc *testcluster.Cluster, l *objects.Launch) {
	t.Helper()
	at := metav1.ListOptions{LabelSelector: l.Selector()}
	jobs, err := tc.Client().BatchV1().Jobs("").List(t.Context(), at)
	require.NoError(t, err)
	require.Empty(t, jobs.Items)
	configs, err := tc.Client().CoreV1().ConfigMaps("").List(t.Context(), at)
	require.NoError(t, err)
	require.Empty(t, configs.Items)
}

// loadgen is a command that writes some hundred kilobytes.
func loadgen(url string) []string {
	return []string{"run", "--model", "llama3.1-8b", "--scenario", "Offline", "--samples", "64", "--min-queries", "64",
		"--endpoint", url, "--output-dir", "$(RESULTS)/run", "--no-progress"}
}

// longRun is a workload whose event log exceeds a small claim.
const longRun = `schema: mlperf-go/profile/1
name: long
api: {kind: completions}
data: {kind: random, input: {kind: fixed, mean: 20}, output: {kind: uniform, min: 1, max: 50}}
load: {stages: [{arrival: poisson, rate: 1000, requests: 4000}]}
`

// TestFullDisks fills the claim while a command writes to it, and the local disk during the collection of results.
func TestFullDisks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t)
	ns, c := kubetest.Namespace(t, tc), kubetest.Connect(t, tc.Admin())

	full := kubetest.Launch(ns, "full", "bench", "run", "--workload", "/workspace/profiles/inference-perf/chat.yaml",
		"--endpoint-url", url, "--output", "$(RESULTS)/run")
	full.Profiles = map[string]string{"chat.yaml": longRun}
	full.Storage.Claim, full.Storage.Size = "small", mustParse("20Ki")
	o := options(t, full)
	var said []string
	o.Notify = func(s string) { t.Log(s); said = append(said, s) }
	result, err := Run(t.Context(), c, o)
	require.NoError(t, err)
	require.Equal(t, exit.StatusEnvironment, result.Exit())
	require.Contains(t, strings.Join(said, "\n"), "the command ended with code 3: ")
	require.Contains(t, strings.Join(said, "\n"), "no space left on device", "the launcher repeats why")
	requireClean(t, tc, &full)

	local := kubetest.Launch(ns, "local", loadgen(url)...)
	o = options(t, local)
	require.NoError(t, unix.Mount("tmpfs", o.Output, "tmpfs", 0, "size=16k"))
	t.Cleanup(func() { unix.Unmount(o.Output, unix.MNT_DETACH) })
	_, err = Run(t.Context(), c, o)
	requireError(t, err, cluster.Collection, "no space left on device", "--output names another folder")
	result, err = Collect(t.Context(), c, Experiment{"local", ns}, Options{Output: t.TempDir()})
	require.NoError(t, err, "the results were left")
	require.Zero(t, result.Exit())
	requireClean(t, tc, &local)
}

// TestExpiredToken ends the validity of the user's token while a command runs. The current collection succeeds, and the
// error names the objects that could not be deleted.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns := prepareNamespace(t, tc)
	ctx, accounts := t.Context(), tc.Client().CoreV1().ServiceAccounts(ns)
	_, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "alice"}},
		metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = tc.Client().RbacV1().RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "alice"},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "mlperf-go-launcher"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "alice", Namespace: ns}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	token, err := accounts.CreateToken(ctx, "alice", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := tc.User()
	config.BearerToken = token.Status.Token
	l := kubetest.Launch(ns, "expired", "sim", "--listen", "127.0.0.1:0")
	o := options(t, l)
	o.Wait = 20 * time.Second // API servers remember a valid token for some seconds
	o.Started = func(ctx context.Context, _ []*corev1.Pod) error {
		return accounts.Delete(ctx, "alice", metav1.DeleteOptions{})
	}
	_, err = Run(ctx, kubetest.Connect(t, config), o)
	requireError(t, err, cluster.Timeout, "did not end within 20s", "kube collect -p "+ns+" expired")

	// With another login, the remains are found and removed.
	o.Started, o.Wait = nil, 5*time.Second
	_, err = Collect(ctx, kubetest.Connect(t, config), Experiment{"expired", ns}, o)
	requireError(t, err, cluster.Access, "log in again")
	r := newRunner(kubetest.Connect(t, config), o)
	err = r.remove(ctx)
	requireError(t, err, cluster.Access, "log in again")
	require.ErrorContains(t, err, "kubectl -n "+ns+" delete job,configmap -l mlperf-go/run=expired")
}

// TestDeletedNamespace deletes the namespace while a command runs.
func TestDeletedNamespace(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns := kubetest.Namespace(t, tc)
	l := kubetest.Launch(ns, "gone", "sim", "--listen", "127.0.0.1:0")
	o := options(t, l)
	o.Started = func(ctx context.Context, _ []*corev1.Pod) error {
		return tc.Client().CoreV1().Namespaces().Delete(ctx, ns, metav1.DeleteOptions{})
	}
	_, err := Run(t.Context(), kubetest.Connect(t, tc.Admin()), o)
	requireError(t, err, cluster.Launcher, "the pod or its namespace was deleted")
	requireClean(t, tc, &l)
}

// TestLostNode cuts the power of a pod's node while its command runs: the launch ends and reports the lost node. The
// other nodes stay, because a cluster that loses most of its nodes assumes that it is disconnected, and evicts no pod.
func TestLostNode(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	nodes, place := kubetest.Reserve(t, tc, "power", 1)
	l := kubetest.Launch(kubetest.Namespace(t, tc), "power", "sim", "--listen", "127.0.0.1:0")
	l.Placement = place
	o := options(t, l)
	o.Started = func(_ context.Context, pods []*corev1.Pod) error {
		nodes[pods[0].Spec.NodeName].Lose()
		return nil
	}
	_, err := Run(t.Context(), kubetest.Connect(t, tc.Admin()), o)
	requireError(t, err, cluster.Launcher, "inference-perf-power-0-", "its node was lost", "DeletionByTaintManager")
	requireClean(t, tc, &l)
}

// TestLostNodeOfCampaign cuts the power of a campaign's node, and marks the node as out of service, as an administrator
// or a cloud provider does. The next pod runs on another node, with the same claim.
func TestLostNodeOfCampaign(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	nodes, place := kubetest.Reserve(t, tc, "campaign", 2)
	l := kubetest.Launch(kubetest.Namespace(t, tc), "moved", "sim", "--listen", "127.0.0.1:0")
	l.Placement = place
	l.Attempts, l.Storage.Claim, l.Storage.Size = 1, "workload-pvc", mustParse("1Gi")
	o := options(t, l)
	lost := ""
	o.Started = func(ctx context.Context, pods []*corev1.Pod) error {
		lost = pods[0].Spec.NodeName
		nodes[lost].Lose()
		_, err := tc.Client().CoreV1().Nodes().Patch(ctx, lost, types.StrategicMergePatchType,
			[]byte(`{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","value":"x","effect":"NoExecute"}]}}`),
			metav1.PatchOptions{})
		return err
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	running := map[string]bool{}
	var told []string
	var mu sync.Mutex
	o.Notify = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		t.Log(s)
		told = append(told, s)
		if name, ok := strings.CutSuffix(s, ": running"); ok {
			running[name] = true
		}
		if len(running) == 2 {
			stop() // the test has seen enough
		}
	}
	_, err := Run(ctx, kubetest.Connect(t, tc.Admin()), o)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, running, 2, "%v", told)
	require.Contains(t, strings.Join(told, "\n"), "its node was lost")
}

// TestDroppedWatch cuts all connections to the API server while a command runs, including its watch and the stream of
// its results. The launch continues.
func TestDroppedWatch(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	url := kubetest.Simulator(t)
	connections, config := through(t, tc.Admin())
	l := kubetest.Launch(kubetest.Namespace(t, tc), "cut", loadgen(url)...)
	o := options(t, l)
	o.Started = func(context.Context, []*corev1.Pod) error {
		tc.Eventually(time.Minute, "the results have a connection", func(context.Context) error {
			if n := connections.count(); n < 2 {
				return fmt.Errorf("%d connections", n)
			}
			return nil
		})
		connections.cut()
		return nil
	}
	var said []string
	o.Notify = func(s string) { t.Log(s); said = append(said, s) }
	result, err := Run(t.Context(), kubetest.Connect(t, config), o)
	require.NoError(t, err)
	require.Contains(t, strings.Join(said, "\n"), ": collecting again, attempt 2 of 5")
	require.Zero(t, result.Exit())
	require.FileExists(t, filepath.Join(o.Output, "cut_0", "run", "run.json"))
	requireClean(t, tc, &l)
}

// TestEvictedWhileCollecting evicts a pod after its command has ended, in the middle of the stream of its results. The
// launch ends and reports the eviction, and does not accept the partial results.
func TestEvictedWhileCollecting(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns := kubetest.Namespace(t, tc)
	evict := sync.OnceFunc(func() {
		pods, err := tc.Client().CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, pods.Items, 1)
		tc.Evict(ns, pods.Items[0].Name, "The node was low on resource: ephemeral-storage.")
	})
	connections, config := through(t, tc.Admin())
	over := make(chan struct{})
	defer close(over)
	connections.received = func(total int) {
		if total > collectedSome {
			evict()
			<-over // the rest never arrives
		}
	}
	l := kubetest.Launch(ns, "full-node", "bench", "run", "--workload", "/workspace/profiles/inference-perf/chat.yaml",
		"--endpoint-url", kubetest.Simulator(t), "--output", "$(RESULTS)/run")
	l.Profiles = map[string]string{"chat.yaml": strings.Replace(longRun, "rate: 1000", "rate: 1300", 1)} // three seconds
	c, o := kubetest.Connect(t, config), options(t, l)
	o.Started = func(ctx context.Context, pods []*corev1.Pod) error { // results that do not compress well
		return c.Exec(ctx, ns, pods[0].Name, objects.Container, []string{"/bin/sh", "-c",
			"mkdir -p " + l.Folder(0) + "; head -c 4000000 /dev/urandom >" + l.Folder(0) + "/noise"}, nil, nil)
	}
	result, err := Run(t.Context(), c, o)
	requireError(t, err, cluster.Launcher, "its node evicted it", "ephemeral-storage")
	require.Empty(t, result.Pods)
	requireClean(t, tc, &l)
}

// collectedSome is a number of bytes that only the stream of results exceeds.
const collectedSome = 1 << 20

// TestInterrupt ends a launch by a signal while its command runs. Its objects are removed unless the user keeps them.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	tc := kubetest.Cluster(t)
	ns := kubetest.Namespace(t, tc)
	for name, keep := range map[string]bool{"removed": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			l := kubetest.Launch(ns, name, "sim", "--listen", "127.0.0.1:0")
			o := options(t, l)
			said := ""
			o.Keep, o.Notify = keep, func(s string) { said += s + "\n" }
			o.Started = func(context.Context, []*corev1.Pod) error {
				cancel(exit.Interrupt{Signal: syscall.SIGINT})
				return nil
			}
			_, err := Run(ctx, kubetest.Connect(t, tc.Admin()), o)
			require.ErrorAs(t, err, new(exit.Interrupt))
			if !keep {
				requireClean(t, tc, &l)
				return
			}
			require.Contains(t, said, "the pods are left: collect their results with `mlperf-go kube collect -p "+ns)
			_, err = tc.Client().BatchV1().Jobs(ns).Get(t.Context(), l.JobName(), metav1.GetOptions{})
			require.NoError(t, err)
		})
	}
}
