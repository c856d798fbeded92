package worker

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   int
	}{
		"succeeds": {"echo out; echo err >&2", 0},
		"invalid":  {"echo out; echo err >&2; exit 1", 1},
		"killed":   {"echo out; echo err >&2; kill -9 $$", 137},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "a", "b")
			var out, errors bytes.Buffer
			code, err := Run(t.Context(), Order{Folder: folder, Command: []string{"/bin/sh", "-c", c.script}}, &out, &errors)
			require.NoError(t, err)
			require.Equal(t, c.want, code)
			require.Equal(t, "out\n", out.String())
			require.Equal(t, "err\n", errors.String())
			e, err := Await(t.Context(), folder)
			require.NoError(t, err)
			require.Equal(t, c.want, e.Exit)
			require.False(t, e.Finished.Before(e.Started))
		})
	}
	_, err := Run(t.Context(), Order{Folder: t.TempDir(), Command: []string{"/no/such/program"}}, nil, nil)
	require.ErrorContains(t, err, "/no/such/program")
}

// TestHold checks that results are held until they are released, at most for the time in the order, and not after a
// signal.
func TestHold(t *testing.T) {
	run := func(ctx context.Context, folder string, hold time.Duration, script string) <-chan int {
		done := make(chan int, 1)
		go func() {
			code, err := Run(ctx, Order{Folder: folder, Command: []string{"/bin/sh", "-c", script}, Hold: hold}, io.Discard,
				io.Discard)
			if err != nil {
				code = -1
			}
			done <- code
		}()
		return done
	}
	folder := t.TempDir()
	done := run(t.Context(), folder, time.Hour, "exit 3")
	_, err := Await(t.Context(), folder)
	require.NoError(t, err)
	select {
	case <-done:
		t.Fatal("the results were not held")
	case <-time.After(3 * poll):
	}
	require.NoError(t, Release(folder))
	require.Equal(t, 3, <-done)

	require.Equal(t, 0, <-run(t.Context(), t.TempDir(), 2*poll, "true"))

	ctx, cancel := context.WithCancel(t.Context())
	folder = t.TempDir()
	done = run(ctx, folder, time.Hour, `trap 'exit 143' TERM; echo >"`+folder+`/up"; while :; do sleep 0.05; done`)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(folder, "up")); return err == nil },
		10*time.Second, poll)
	cancel()
	require.Equal(t, 143, <-done)
	require.NoFileExists(t, filepath.Join(folder, File), "the command did not end by itself")
}

func TestConnect(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	go func() { // the socket appears after the first attempt
		time.Sleep(2 * poll)
		l, err := net.Listen("unix", socket)
		if err != nil {
			return
		}
		defer l.Close()
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		text, _ := io.ReadAll(c)
		c.Write([]byte(strings.ToUpper(string(text))))
	}()
	var out bytes.Buffer
	require.NoError(t, Connect(t.Context(), socket, strings.NewReader("clock\n"), &out))
	require.Equal(t, "CLOCK\n", out.String())

	ctx, cancel := context.WithTimeout(t.Context(), 2*poll)
	defer cancel()
	require.Error(t, Connect(ctx, filepath.Join(t.TempDir(), "none"), strings.NewReader(""), io.Discard))
}

// TestList finds the folders whose command has ended among the other contents of a shared volume.
func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a_0", "a_1", ".hidden", "lost+found"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	for _, name := range []string{"a_1/" + File, "file"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600))
	}
	list, err := List(dir)
	require.NoError(t, err)
	require.Equal(t, []Listed{{"a_0", false}, {"a_1", true}, {"lost+found", false}}, list)
	_, err = List(filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "listing the results")
}
