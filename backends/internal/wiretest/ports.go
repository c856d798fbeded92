package wiretest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
)

// FewPorts runs a client in a network with eight local ports and without IPv6. Queries wait for a connection instead of
// failing, and the client counts that. An address that this machine cannot connect from uses no port up. also receives
// the features of the client that reached no server and of the one whose queries waited.
func (k *Contract) FewPorts(t *testing.T, also func(refused, waited backends.Features)) {
	if !inFewPorts(t) {
		return
	}
	named := func(url string) *backends.Config { return Config(strings.Replace(url, "127.0.0.1", "localhost", 1)) }
	absent, _ := k.absent(t)
	url, other := k.Raw(t, slowly(Streamed)), k.Raw(t, slowly(Streamed)) // while ports are left
	_, refused := k.AskMany(t, named(absent), 3, 3, backends.FailConnect)
	require.Zero(t, refused.Traffic().Exhausted)
	_, waited := k.AskMany(t, Config(url), 0, 100, backends.OK)
	require.Positive(t, waited.Traffic().Exhausted.Ports)
	require.Zero(t, waited.Traffic().Exhausted.Files)
	_, byName := k.AskMany(t, named(other), 0, 100, backends.OK)
	require.Positive(t, byName.Traffic().Exhausted.Ports)
	also(refused, waited)
}

// slowly answers after 50 ms, so that all queries want a connection at once.
func slowly(answer string) func(c net.Conn, conn, request int) bool {
	return func(c net.Conn, _, _ int) bool {
		time.Sleep(50 * time.Millisecond)
		_, err := c.Write([]byte(answer))
		return err == nil
	}
}

// AskMany sends n queries, all of which must end with the same reason.
func (k *Contract) AskMany(t *testing.T, c *backends.Config, concurrency, n int,
	want backends.Reason) (*Recorder, backends.Features) {
	c.Concurrency, c.EndpointTimeout = concurrency, time.Millisecond
	b, r := k.open(t, c), NewRecorder()
	require.NoError(t, b.Serve(context.Background(), NewQueries(n).End(), r))
	r.ExactlyOnce(t, n)
	for _, res := range r.Results {
		require.Equal(t, want, res.Reason)
	}
	return r, b.Features()
}

// inFewPorts runs a test again in a network with eight local ports and without IPv6, where the name localhost has the
// addresses ::1 and 127.0.0.1. It reports whether the caller is that run. The test is skipped where no network of its
// own is permitted.
func inFewPorts(t *testing.T) bool {
	t.Helper()
	const child, setup = "WIRETEST_FEW_PORTS", `ip link set lo up && cd /proc/sys/net &&
echo 1 >ipv6/conf/lo/disable_ipv6 && echo 40000 40007 >ipv4/ip_local_port_range`
	if os.Getenv(child) != "" {
		hosts := filepath.Join(t.TempDir(), "hosts")
		require.NoError(t, os.WriteFile(hosts, []byte("::1 localhost\n127.0.0.1 localhost\n"), 0o600))
		require.NoError(t, unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""))
		return true
	}
	if out, err := exec.Command("unshare", "-Urnm", "sh", "-c", setup).CombinedOutput(); err != nil {
		t.Skipf("networks of their own are not permitted here: %v: %s", err, out)
	}
	folder, err := os.Getwd()
	require.NoError(t, err)
	cmd := exec.Command("unshare", "-Urnm", "sh", "-c", setup+` && cd "$0" && exec "$@"`, folder, os.Args[0],
		"-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", strings.TrimSpace(string(out)))
	return false
}
