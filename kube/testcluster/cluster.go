package testcluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Program names the environment variable with the path of the control plane's program.
const Program = "MLPERF_GO_CONTROLPLANE"

// Logs names the environment variable with which failed tests print the logs of the control plane.
const Logs = "MLPERF_GO_CONTROLPLANE_LOGS"

// adminToken and userToken are the tokens of Admin and User.
const (
	adminToken = "admin-token"
	userToken  = "user-token"
)

// Cluster is a control plane.
type Cluster struct {
	t       testing.TB
	dir     string
	url     string
	certs   *certificates
	program string
	admin   *kubernetes.Clientset
}

// Start starts a control plane that ends with the test. It skips the test where its program was not built, except where
// the environment variable names a program: then a missing one is an error.
func Start(t testing.TB) *Cluster {
	t.Helper()
	program, err := controlPlane()
	if err != nil {
		t.Skip(err)
	}
	// Not t.TempDir: sockets and mount points want short paths, and the processes end after its clean-up.
	dir, err := os.MkdirTemp("", "kube-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &Cluster{t: t, dir: dir, program: program}
	if c.certs, err = newCertificates(dir); err != nil {
		t.Fatal(err)
	}
	c.startEtcdAndServer()
	if c.admin, err = kubernetes.NewForConfig(c.Admin()); err != nil {
		t.Fatal(err)
	}
	c.startControllers()
	return c
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

func (c *Cluster) startEtcdAndServer() {
	t := c.t
	etcd, peer, port := freePort(t), freePort(t), freePort(t)
	etcdURL, peerURL := "http://127.0.0.1:"+etcd, "http://127.0.0.1:"+peer
	c.start("etcd", "--data-dir="+filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL, "--listen-peer-urls="+peerURL,
		"--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL, "--log-level=warn")
	tokens := filepath.Join(c.dir, "tokens.csv")
	lines := adminToken + ",admin,1,system:masters\n" + userToken + ",user,2\n"
	if err := os.WriteFile(tokens, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	c.url = "https://127.0.0.1:" + port
	c.start("kube-apiserver", "--etcd-servers="+etcdURL, "--secure-port="+port, "--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", "--tls-cert-file="+c.certs.serverCert, "--tls-private-key-file="+c.certs.serverKey,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.certs.accountKey,
		"--service-account-signing-key-file="+c.certs.accountKey, "--token-auth-file="+tokens,
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
		"--kubelet-preferred-address-types=InternalIP", "--event-ttl=10m", "--profiling=false",
		"--default-not-ready-toleration-seconds=2", "--default-unreachable-toleration-seconds=2")
	c.waitReady()
}

func (c *Cluster) startControllers() {
	path := filepath.Join(c.dir, "admin.kubeconfig")
	if err := os.WriteFile(path, c.Kubeconfig(adminToken), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.start("kube-controller-manager", "--kubeconfig="+path, "--leader-elect=false",
		"--service-account-private-key-file="+c.certs.accountKey, "--root-ca-file="+c.certs.ca,
		"--secure-port=0", "--node-monitor-period=1s", "--node-monitor-grace-period=6s",
		"--pvclaimbinder-sync-period=1s", "--profiling=false")
	c.start("kube-scheduler", "--kubeconfig="+path, "--leader-elect=false", "--secure-port=0", "--profiling=false")
}

// start starts a part of the control plane. Its output is shown where the test fails.
func (c *Cluster) start(part string, arguments ...string) {
	path := filepath.Join(c.dir, part+".log")
	log, err := os.Create(path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	process := exec.Command(c.program, append([]string{part}, arguments...)...)
	process.Dir, process.Stdout, process.Stderr = c.dir, log, log
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ended := make(chan struct{})
	if err := startTied(process, func() { close(ended) }); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		process.Process.Kill()
		<-ended
		if c.t.Failed() && os.Getenv(Logs) != "" {
			c.t.Logf("%s:\n%s", part, tail(path, 4000))
		}
	})
}

func tail(path string, most int) string {
	text, _ := os.ReadFile(path)
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return string(text)
}

func (c *Cluster) waitReady() {
	c.t.Helper()
	client, err := rest.HTTPClientFor(c.Admin())
	if err != nil {
		c.t.Fatal(err)
	}
	c.Eventually(2*time.Minute, "the API server is ready", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/readyz", nil)
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
func (c *Cluster) Admin() *rest.Config { return c.access(adminToken) }

// User returns the access of a user without any rights, to whom tests bind roles; the name is "user".
func (c *Cluster) User() *rest.Config { return c.access(userToken) }

func (c *Cluster) access(token string) *rest.Config {
	return &rest.Config{Host: c.url, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: c.certs.ca},
		QPS: 200, Burst: 400}
}

// UserKubeconfig writes a kubeconfig file of the administrator (or of the user without rights) and returns its path.
func (c *Cluster) UserKubeconfig(admin bool) string {
	name, token := "user.kubeconfig", userToken
	if admin {
		name, token = "tests.kubeconfig", adminToken
	}
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, c.Kubeconfig(token), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// Kubeconfig returns a kubeconfig with a token.
func (c *Cluster) Kubeconfig(token string) []byte {
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: c.url, CertificateAuthority: c.certs.ca}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	text, err := clientcmd.Write(*config)
	if err != nil {
		c.t.Fatal(err)
	}
	return text
}

// Client returns a client of the administrator.
func (c *Cluster) Client() *kubernetes.Clientset { return c.admin }

// Eventually repeats f until it returns nil, and fails the test with its last error after the time.
func (c *Cluster) Eventually(within time.Duration, what string, f func(ctx context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	var last error
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			c.t.Fatalf("not within %s: %s: %v", within, what, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Port returns a port for a server in a pod: pods share the host's network.
func (c *Cluster) Port() int32 {
	port, err := strconv.ParseUint(freePort(c.t), 10, 16)
	if err != nil {
		c.t.Fatal(err)
	}
	return int32(port)
}

// freePort returns a port of loopback that nothing listened on a moment ago.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return port
}
