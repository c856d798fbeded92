package qsl

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestFullDisk fills a small file system. Only root can mount one, so a child process does it in its own namespaces.
func TestFullDisk(t *testing.T) {
	const child = "MLPERF_GO_TEST_FULL_DISK"
	dir := os.Getenv(child)
	if dir == "" {
		dir = t.TempDir()
		cmd := exec.Command("unshare", "--mount", "--map-root-user", os.Args[0], "-test.run", "^TestFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), child+"="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil && !isTestOutput(out) {
			t.Skipf("no namespace to mount a small disk in: %v %s", err, out)
		}
		require.NoError(t, err, string(out))
		if bytes.Contains(out, []byte("--- SKIP")) {
			t.Skip(string(out))
		}
		return
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	defer unix.Unmount(dir, 0)
	l := library(t, Options{Dataset: dataset(t, 100), Encode: encodeSized(50_000), MemoryLimit: 1 << 10, ScratchDir: dir})
	err := l.Load(sequence(0, 100))
	require.ErrorIs(t, err, unix.ENOSPC)
	require.ErrorContains(t, err, "could not be written at 32 MiB because its disk is full: write "+dir)
	require.ErrorContains(t, err, "free space there, name another folder, or allow more request memory")
	require.Zero(t, l.Loaded())
	require.NoError(t, l.Load(sequence(0, 10)), "what fits can still be loaded")
	require.Equal(t, want(50_000, 9), l.Request(9))
	require.NoError(t, l.Close())
}

func isTestOutput(out []byte) bool { return len(out) >= 3 && string(out[:3]) == "===" }
