package testcluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Program names the environment variable with the path of the control plane's program.
const Program = "KUBE_TEST_CONTROLPLANE"

// Logs names the environment variable with which failed tests print the logs of the control plane.
const Logs = "KUBE_TEST_CONTROLPLANE_LOGS"

// adminToken and userToken are the tokens of Admin and User.
const (
	adminToken = "admin-token"
	userToken  = "user-token"
)

// Cluster is a control plane, as one test uses it.
type Cluster struct {
	*plane
	t     testing.TB
	atEnd func(func()) // atEnd calls a function at the end of the test
}

// plane is a control plane: its processes and its addresses.
type plane struct {
	dir     string
	url     string
	certs   *certificates
	program string
	admin   *kubernetes.Clientset
	ends    []func()
	logs    []string // paths

	mu    sync.Mutex
	nodes []*Node
}

// Start starts a control plane that ends with the test. It skips the test where its program was not built, except where
// the environment variable names a program: then a missing one is an error.
func Start(t testing.TB) *Cluster {
	t.Helper()
	needControlPlane(t)
	p, err := newPlane()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t.Failed()) })
	return &Cluster{p, t, t.Cleanup}
}

// shared is the control plane of Share; nil: no test has asked for it.
var shared struct {
	sync.Mutex
	plane *plane
}

// Share returns a control plane that all tests of the process share, and that ends with Main. The first test starts it
// and calls prepare; the nodes that prepare makes stay. Tests that run at the same time keep to namespaces and nodes of
// their own. It skips tests as Start does.
func Share(t testing.TB, prepare func(*Cluster)) *Cluster {
	t.Helper()
	needControlPlane(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.plane == nil {
		p, err := newPlane()
		if err != nil {
			t.Fatal(err)
		}
		shared.plane = p
		prepare(&Cluster{p, t, p.atEnd})
	}
	return &Cluster{shared.plane, t, t.Cleanup}
}

func needControlPlane(t testing.TB) {
	t.Helper()
	if _, err := controlPlane(); err != nil {
		t.Skip(err)
	}
}

// newPlane starts a control plane.
func newPlane() (*plane, error) {
	program, err := controlPlane()
	if err != nil {
		return nil, err
	}
	// Not t.TempDir: sockets and mount points need short paths, and the processes end after its clean-up.
	dir, err := os.MkdirTemp("", "kube-")
	if err != nil {
		return nil, err
	}
	p := &plane{dir: dir, program: program}
	p.atEnd(func() { os.RemoveAll(dir) })
	if p.certs, err = newCertificates(dir); err == nil {
		err = p.startEtcdAndServer()
	}
	if err == nil {
		p.admin, err = kubernetes.NewForConfig(p.Admin())
	}
	if err == nil {
		err = p.startControllers()
	}
	if err != nil {
		p.stop(true)
		return nil, err
	}
	return p, nil
}

// atEnd calls a function at the end of the control plane, before those that were registered earlier.
func (p *plane) atEnd(f func()) { p.ends = append(p.ends, f) }

// stop ends the control plane. If a test failed, it prints the end of the logs.
func (p *plane) stop(failed bool) {
	if failed && os.Getenv(Logs) != "" {
		for _, path := range p.logs {
			fmt.Fprintf(os.Stderr, "%s:\n%s\n", filepath.Base(path), tail(path, 4000))
		}
	}
	for _, f := range slices.Backward(p.ends) {
		f()
	}
}

func controlPlane() (string, error) {
	if path := os.Getenv(Program); path != "" {
		return path, nil
	}
	path, err := filepath.Abs("../../.cache/kube/controlplane")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no control plane was built; run `make test-kube`, or name one in %s: %w", Program, err)
	}
	return path, nil
}

func (p *plane) startEtcdAndServer() error {
	etcd, peer, port, err := threePorts()
	if err != nil {
		return err
	}
	etcdURL, peerURL := "http://127.0.0.1:"+etcd, "http://127.0.0.1:"+peer
	if err := p.start("etcd", "--data-dir="+filepath.Join(p.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL, "--listen-peer-urls="+peerURL,
		"--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL, "--log-level=warn"); err != nil {
		return err
	}
	tokens := filepath.Join(p.dir, "tokens.csv")
	lines := adminToken + ",admin,1,system:masters\n" + userToken + ",user,2\n"
	if err := os.WriteFile(tokens, []byte(lines), 0o600); err != nil {
		return err
	}
	p.url = "https://127.0.0.1:" + port
	if err := p.start("kube-apiserver", "--etcd-servers="+etcdURL, "--secure-port="+port, "--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", "--tls-cert-file="+p.certs.serverCert, "--tls-private-key-file="+p.certs.serverKey,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+p.certs.accountKey,
		"--service-account-signing-key-file="+p.certs.accountKey, "--token-auth-file="+tokens,
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--kubelet-preferred-address-types=InternalIP", "--event-ttl=10m", "--profiling=false",
		"--default-not-ready-toleration-seconds=2", "--default-unreachable-toleration-seconds=2"); err != nil {
		return err
	}
	return p.waitReady()
}

func (p *plane) startControllers() error {
	path := filepath.Join(p.dir, "admin.kubeconfig")
	text, err := p.Kubeconfig(adminToken)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err == nil {
		err = p.start("kube-controller-manager", "--kubeconfig="+path, "--leader-elect=false",
			"--service-account-private-key-file="+p.certs.accountKey, "--root-ca-file="+p.certs.ca,
			"--secure-port=0", "--node-monitor-period=1s", "--node-monitor-grace-period=6s",
			"--pvclaimbinder-sync-period=1s", "--profiling=false")
	}
	if err == nil {
		err = p.start("kube-scheduler", "--kubeconfig="+path, "--leader-elect=false", "--secure-port=0", "--profiling=false")
	}
	return err
}

// start starts a part of the control plane.
func (p *plane) start(part string, arguments ...string) error {
	path := filepath.Join(p.dir, part+".log")
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(p.program, append([]string{part}, arguments...)...)
	process.Dir, process.Stdout, process.Stderr = p.dir, log, log
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ended := make(chan struct{})
	if err := startTied(process, func() { close(ended) }); err != nil {
		return err
	}
	p.logs = append(p.logs, path)
	p.atEnd(func() {
		process.Process.Kill()
		<-ended
	})
	return nil
}

func tail(path string, most int) string {
	text, _ := os.ReadFile(path)
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return string(text)
}

func (p *plane) waitReady() error {
	client, err := rest.HTTPClientFor(p.Admin())
	if err != nil {
		return err
	}
	return eventually(context.Background(), 2*time.Minute, "the API server is ready", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz answers %s", answer.Status)
		}
		return nil
	})
}

// Admin returns the access of a cluster administrator.
func (p *plane) Admin() *rest.Config { return p.access(adminToken) }

// User returns the access of a user without any rights, to whom tests bind roles; the name is "user".
func (p *plane) User() *rest.Config { return p.access(userToken) }

func (p *plane) access(token string) *rest.Config {
	return &rest.Config{Host: p.url, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: p.certs.ca},
		QPS: 200, Burst: 400}
}

// UserKubeconfig writes a kubeconfig file of the administrator (or of the user without rights) and returns its path.
func (c *Cluster) UserKubeconfig(admin bool) string {
	token := userToken
	if admin {
		token = adminToken
	}
	path := filepath.Join(c.t.TempDir(), "kubeconfig")
	text, err := c.Kubeconfig(token)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return path
}

// Kubeconfig returns a kubeconfig with a token.
func (p *plane) Kubeconfig(token string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: p.url, CertificateAuthority: p.certs.ca}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	return clientcmd.Write(*config)
}

// Dir makes a folder that ends with the control plane.
func (c *Cluster) Dir(name string) string {
	path := filepath.Join(c.dir, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// Client returns a client of the administrator.
func (p *plane) Client() *kubernetes.Clientset { return p.admin }

// Eventually repeats f until it returns nil, and fails the test with its last error after the time.
func (c *Cluster) Eventually(within time.Duration, what string, f func(ctx context.Context) error) {
	c.t.Helper()
	if err := eventually(c.t.Context(), within, what, f); err != nil {
		c.t.Fatal(err)
	}
}

func eventually(ctx context.Context, within time.Duration, what string, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last error
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %s: %w", within, what, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Port returns a port for a server in a pod: pods share the host's network.
func (c *Cluster) Port() int32 {
	text, err := freePort()
	if err != nil {
		c.t.Fatal(err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		c.t.Fatal(err)
	}
	return int32(port)
}

func threePorts() (a, b, c string, err error) {
	a, err = freePort()
	if err == nil {
		b, err = freePort()
	}
	if err == nil {
		c, err = freePort()
	}
	return a, b, c, err
}

// freePort returns a port of loopback that was free a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return port, nil
}
