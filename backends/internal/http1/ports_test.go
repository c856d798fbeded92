package http1_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// TestFewPorts runs in a network with eight local ports and without IPv6. Queries wait for a connection instead of
// failing, and the loop counts that. An address that this machine cannot connect from uses no port up.
func TestFewPorts(t *testing.T) {
	const child, setup = "HTTP1_TEST_FEW_PORTS", `ip link set lo up && cd /proc/sys/net &&
echo 1 >ipv6/conf/lo/disable_ipv6 && echo 40000 40007 >ipv4/ip_local_port_range`
	if os.Getenv(child) == "" {
		if out, err := exec.Command("unshare", "-Urnm", "sh", "-c", setup).CombinedOutput(); err != nil {
			t.Skipf("networks of their own are not permitted here: %v: %s", err, out)
		}
		cmd := exec.Command("unshare", "-Urnm", "sh", "-c", setup+` && cd "$0" && exec "$@"`, wd(t), os.Args[0],
			"-test.run", "^TestFewPorts$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", strings.TrimSpace(string(out)))
		return
	}
	ask := func(url string, concurrency, n int, want backends.Reason) backends.LoopStats {
		c := wiretest.Config(url)
		c.Concurrency, c.EndpointTimeout = concurrency, time.Millisecond
		b, err := open(c)
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		require.NoError(t, b.Serve(context.Background(), wiretest.NewQueries(n).End(), r))
		r.ExactlyOnce(t, n)
		for _, res := range r.Results {
			require.Equal(t, want, res.Reason)
		}
		return b.Features().Loop()
	}
	hosts := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(hosts, []byte("::1 localhost\n127.0.0.1 localhost\n"), 0o600))
	require.NoError(t, unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""))
	url, _ := wiretest.Absent(t)
	did := ask(strings.Replace(url, "127.0.0.1", "localhost", 1), 3, 3, backends.FailConnect)
	require.Zero(t, did.Portless)
	require.Equal(t, 3, did.LimitMax)
	did = ask(wiretest.Raw(t, wiretest.Answers(wiretest.Streamed)), 0, 100, backends.OK)
	require.Positive(t, did.Portless)
	require.LessOrEqual(t, did.ConnectionsMax, 8)
}

func wd(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	return dir
}
