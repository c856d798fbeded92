package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
)

// File is the name of the file that states how the command ended.
const File = "worker.json"

// released is the name of the file that ends the wait of Run. Its name keeps it out of parcels.
const released = ".released"

// reserve is the name of a file that keeps space for File on a full volume. Its name keeps it out of parcels.
const reserve = ".reserve"

// poll is the interval at which a process checks for the files of other processes.
const poll = 100 * time.Millisecond

// grace is the time that a command may take to end after the first signal. It is less than the 30 s after which a
// kubelet kills a pod.
const grace = 20 * time.Second

// Order describes the command to run.
type Order struct {
	Folder  string        // folder of the results; created if missing
	Command []string      // program and its arguments
	Hold    time.Duration // time that Run waits for Release after the command has ended; 0: it does not wait
}

// Ended states how the command ended.
type Ended struct {
	Exit     int       `json:"exit"` // exit code of the command; 128 + N after signal N
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
}

// Run runs the command and returns its exit code. If the context is cancelled, Run sends the command SIGTERM, and
// SIGKILL 20 s later. In that case Run writes no File and does not hold the results.
func Run(ctx context.Context, o Order, stdout, stderr io.Writer) (int, error) {
	if err := os.MkdirAll(o.Folder, 0o770); err != nil {
		return 0, fmt.Errorf("making the folder of the results: %w", err)
	}
	for _, old := range []string{File, released} { // files of an earlier container of the same pod
		if err := os.Remove(filepath.Join(o.Folder, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	if err := os.WriteFile(filepath.Join(o.Folder, reserve), make([]byte, 4096), 0o600); err != nil {
		return 0, fmt.Errorf("reserving space for the results: %w", err)
	}
	e := Ended{Started: time.Now().UTC()}
	command := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	command.Stdout, command.Stderr = stdout, stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = grace
	err := command.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return 0, fmt.Errorf("starting %s: %w", o.Command[0], err)
	}
	e.Exit, e.Finished = exitCode(command.ProcessState), time.Now().UTC()
	if err := os.Remove(filepath.Join(o.Folder, reserve)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e.Exit, err
	}
	if ctx.Err() != nil { // the pod is being removed: its folder has no result, and a successor may continue in it
		return e.Exit, nil
	}
	if err := atomicfile.WriteJSON(filepath.Join(o.Folder, File), e); err != nil {
		return e.Exit, err
	}
	wait(ctx, o.Folder, o.Hold)
	return e.Exit, nil
}

func exitCode(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}

// wait returns when the results were released, the hold time has passed, or the context is cancelled.
func wait(ctx context.Context, folder string, hold time.Duration) {
	end := time.Now().Add(hold)
	for time.Now().Before(end) && ctx.Err() == nil {
		if _, err := os.Stat(filepath.Join(folder, released)); err == nil {
			return
		}
		time.Sleep(poll)
	}
}

// Await waits until the command of a folder has ended, and returns how it ended.
func Await(ctx context.Context, folder string) (Ended, error) {
	for {
		text, err := os.ReadFile(filepath.Join(folder, File))
		if err == nil {
			var e Ended
			if err := json.Unmarshal(text, &e); err != nil {
				return e, fmt.Errorf("reading %s: %w", filepath.Join(folder, File), err)
			}
			return e, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Ended{}, err
		}
		select {
		case <-ctx.Done():
			return Ended{}, context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}

// Release makes Run return.
func Release(folder string) error {
	return os.WriteFile(filepath.Join(folder, released), nil, 0o600)
}
