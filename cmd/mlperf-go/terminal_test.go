package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// terminal is a process whose standard streams are a pseudo-terminal.
type terminal struct {
	t     *testing.T
	cmd   *exec.Cmd
	file  *os.File
	mu    sync.Mutex
	text  bytes.Buffer
	ended chan struct{} // closed after the last output was read
}

// inTerminal starts a command in a terminal with a number of columns. environ is added to the test's environment.
func inTerminal(t *testing.T, columns uint16, environ []string, args ...string) *terminal {
	t.Helper()
	return inTerminalAt(t, t.TempDir(), columns, environ, args...)
}

// inTerminalAt is inTerminal in a folder.
func inTerminalAt(t *testing.T, folder string, columns uint16, environ []string, args ...string) *terminal {
	t.Helper()
	w := &terminal{t: t, cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{})}
	w.cmd.Env, w.cmd.Dir = append(os.Environ(), environ...), folder
	var err error
	w.file, err = pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 50, Cols: columns})
	require.NoError(t, err)
	go func() {
		defer close(w.ended)
		piece := make([]byte, 4096)
		for {
			n, err := w.file.Read(piece)
			w.mu.Lock()
			w.text.Write(piece[:n])
			w.mu.Unlock()
			if err != nil { // the terminal ends with its last process
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // the process may have ended
		_ = w.cmd.Wait()         // the test has checked its exit
		_ = w.file.Close()
		<-w.ended
	})
	return w
}

// shown returns all output of the terminal.
func (w *terminal) shown() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.ReplaceAll(w.text.String(), "\r\n", "\n")
}

// write types into the terminal.
func (w *terminal) write(text string) {
	w.t.Helper()
	_, err := w.file.WriteString(text)
	require.NoError(w.t, err)
}

// until waits for a text after the output so far, and returns the new output.
func (w *terminal) until(before int, text string) string {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if since := escapes.ReplaceAllString(w.shown()[before:], ""); strings.Contains(since, text) {
			return since
		}
	}
	w.t.Fatalf("%q did not appear; the terminal shows:\n%s", text, w.shown())
	return ""
}

// end waits for the process and returns its exit code and all its output.
func (w *terminal) end() (code int, text string) {
	w.t.Helper()
	select {
	case <-w.ended:
	case <-time.After(patience):
		w.t.Fatalf("%v did not end; the terminal shows:\n%s", w.cmd.Args, w.shown())
	}
	_ = w.cmd.Wait() // the exit code is in the state
	return w.cmd.ProcessState.ExitCode(), w.shown()
}

// escapes matches the sequences that control a terminal, and the padding after them.
var escapes = regexp.MustCompile("\x00|\x1b\\[[0-9;?]*[a-zA-Z]|\x1b\\][^\x07]*\x07|\x1b[()=>][0-9A-B]?")
