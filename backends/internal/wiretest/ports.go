package wiretest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// FewPorts runs a test again in a network with eight local ports and without IPv6, where the name localhost has the
// addresses ::1 and 127.0.0.1. It reports whether the caller is that run. The test is skipped where no network of its
// own is permitted.
func FewPorts(t *testing.T) bool {
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
