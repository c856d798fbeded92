package child

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// killGrace is how long a child may take to end after a signal. A test needs up to 3 s to stop early.
const killGrace = 15 * time.Second

// maxOutput limits how many bytes of a child's standard output are kept.
const maxOutput = 1 << 20

// Ended is how a child ended.
type Ended struct {
	Exit int
	Code exit.Code // code of the error that the child wrote to standard output, if any
	Why  string    // message of that error
}

// Reason returns the message of the error or, if the process crashed without writing one, how it ended.
func (e Ended) Reason() string {
	return cmp.Or(e.Why, fmt.Sprintf("its process ended with exit code %d, and wrote no reason to its standard output",
		e.Exit))
}

// Run runs a process to its end. The process has its own group, so that a Ctrl-C at the terminal reaches it only
// once, through this program. It also holds the lock, so that no other owner uses the folder while it runs. grace
// is the time that it gets to end after a signal; 0: 15 s.
func Run(ctx context.Context, cmd *exec.Cmd, lock *Lock, grace time.Duration) (Ended, error) {
	var out bounded
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.ExtraFiles = []*os.File{lock.file}
	cmd.WaitDelay = time.Second // a grandchild may keep the output open
	if err := cmd.Start(); err != nil {
		return Ended{}, err
	}
	over := make(chan error, 1)
	go func() {
		defer crash.Catch()
		over <- cmd.Wait()
	}()
	select {
	case err := <-over:
		return out.ended(cmd, err)
	case <-ctx.Done():
	}
	signal := syscall.SIGTERM
	var i exit.Interrupt
	if errors.As(context.Cause(ctx), &i) {
		signal = i.Signal
	}
	_ = cmd.Process.Signal(signal) // the process may have ended already
	select {
	case err := <-over:
		return out.ended(cmd, err)
	case <-time.After(cmp.Or(grace, killGrace)):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return out.ended(cmd, <-over)
	}
}

// bounded keeps the first maxOutput bytes written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxOutput - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// ended returns the exit code of a process and the error that it wrote to standard output as JSON.
func (b *bounded) ended(cmd *exec.Cmd, err error) (Ended, error) {
	var e Ended
	var failed *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return e, nil
	case !errors.As(err, &failed):
		return e, err
	}
	e.Exit = failed.ExitCode()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		e.Exit = 128 + int(s.Signal())
		e.Code, e.Why = exit.CodeKilled, fmt.Sprintf("its process was killed by the signal %v", s.Signal())
	}
	var said struct {
		Error struct {
			Code    exit.Code
			Message string
		}
	}
	if json.Unmarshal(b.Bytes(), &said) == nil && said.Error.Message != "" {
		e.Code, e.Why = said.Error.Code, said.Error.Message
	}
	return e, nil
}
