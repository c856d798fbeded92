package simtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Start starts the simulator of a program with the given flags, and returns its URL as soon as it serves. The simulator
// ends with the test, or with the test's process.
func Start(t *testing.T, program string, flags ...string) (url string) {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := exec.Command(program, append([]string{"--quiet", "sim", "--ready-file", ready}, flags...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return err == nil && url != ""
	}, 2*time.Minute, 10*time.Millisecond, "the simulator does not serve: %v", cmd.Args)
	return url
}
