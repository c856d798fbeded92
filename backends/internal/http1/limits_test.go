package http1_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/backends/internal/wiretest"
)

// fullQueue is the URL of a listener that accepts no further connection.
func fullQueue(t *testing.T) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 0))
	name, err := unix.Getsockname(fd)
	require.NoError(t, err)
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}).String()
	for range 4 {
		c, err := net.DialTimeout("tcp", addr, 50*time.Millisecond)
		if err != nil {
			break
		}
		t.Cleanup(func() { c.Close() })
	}
	return "http://" + addr
}

// TestFewFiles runs in a process that may open few files: queries wait for a connection instead of failing.
func TestFewFiles(t *testing.T) {
	const child = "HTTP1_TEST_FEW_FILES"
	if url := os.Getenv(child); url != "" {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 230, Max: 230}))
		for range 205 { // files of somebody else: the limit alone does not tell what is left
			_, err := os.Open("/dev/null")
			require.NoError(t, err)
		}
		b, err := open(wiretest.Config(url))
		require.NoError(t, err)
		r := wiretest.NewRecorder()
		require.NoError(t, b.Serve(t.Context(), wiretest.NewQueries(300).End(), r))
		r.ExactlyOnce(t, 300)
		require.Positive(t, b.Features().Traffic().Exhausted.Files)
		for _, res := range r.Results {
			require.Equal(t, backends.OK, res.Reason)
		}
		return
	}
	url := wiretest.Raw(t, func(c net.Conn, _, _ int) bool {
		time.Sleep(50 * time.Millisecond) // longer than it takes to need more connections than there are files
		_, err := c.Write([]byte(wiretest.Streamed))
		return err == nil
	})
	cmd := exec.Command(os.Args[0], "-test.run", "^TestFewFiles$")
	cmd.Env = append(os.Environ(), child+"="+url)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", strings.TrimSpace(string(out)))
}
