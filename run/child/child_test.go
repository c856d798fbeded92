package child

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// begun is a step's process that runs a shell script in a folder that it has locked.
type begun struct {
	t      *testing.T
	folder string
	lock   *Lock
	cancel context.CancelCauseFunc
	end    chan Ended
	starts *startNotice
}

// startNotice is a context that reports when Run first waits for its end, which is after the start of the process.
type startNotice struct {
	context.Context
	once    sync.Once
	started chan struct{}
}

func (n *startNotice) Done() <-chan struct{} {
	n.once.Do(func() { close(n.started) })
	return n.Context.Done()
}

func begin(t *testing.T, grace time.Duration, script string) *begun {
	t.Helper()
	lock, err := Acquire(context.Background(), t.TempDir(), campaign)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	notice := &startNotice{Context: ctx, started: make(chan struct{})}
	b := &begun{t, filepath.Dir(lock.file.Name()), lock, cancel, make(chan Ended, 1), notice}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = b.folder
	go func() {
		e, err := Run(notice, cmd, lock, grace)
		if err != nil {
			e.Why = err.Error()
		}
		b.end <- e
	}()
	t.Cleanup(func() { cancel(nil) })
	return b
}

// number waits for a file that contains a process's number.
func (b *begun) number(name string) int {
	b.t.Helper()
	var n int
	require.Eventually(b.t, func() bool {
		text, err := os.ReadFile(filepath.Join(b.folder, name))
		n, _ = strconv.Atoi(strings.TrimSpace(string(text))) // empty until it is written
		return err == nil && n > 0
	}, 30*time.Second, 5*time.Millisecond)
	return n
}

func (b *begun) ended() Ended {
	b.t.Helper()
	select {
	case e := <-b.end:
		return e
	case <-time.After(30 * time.Second):
		require.Fail(b.t, "the process goes on")
		return Ended{}
	}
}

// The campaign may be killed while a step's process writes: the process keeps the folder locked until it ends.
func TestAStepsProcessHoldsTheLock(t *testing.T) {
	b := begin(t, time.Minute, "echo $$ > started; exec sleep 600")
	b.number("started")
	<-b.starts.started                      // Run has passed the file on
	require.NoError(t, b.lock.file.Close()) // as happens when the campaign dies
	require.True(t, campaign.Running(b.folder))
	b.cancel(nil)
	require.Equal(t, 128+int(syscall.SIGTERM), b.ended().Exit)
	require.False(t, campaign.Running(b.folder))
}

// A process that ignores the signal is killed together with its children.
func TestTheWholeGroupIsKilled(t *testing.T) {
	b := begin(t, 100*time.Millisecond, "trap '' TERM; sleep 600 & echo $! > grandchild; echo $$ > started; wait")
	grandchild := b.number("grandchild")
	b.number("started")
	require.NotEmpty(t, startOf(grandchild))
	b.cancel(nil)
	e := b.ended()
	require.Equal(t, 128+int(syscall.SIGKILL), e.Exit)
	require.EqualValues(t, "killed", e.Code)
	require.Eventually(t, func() bool { return startOf(grandchild) == "" }, 30*time.Second, 5*time.Millisecond)
}

// Only the process gets the signal, because it ends its own children in its own order.
func TestTheSignalIsForTheProcess(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		b := begin(t, time.Minute, `trap 'kill -0 $child && echo $child > alive; kill -9 $child; exit 7' INT TERM
			sleep 600 & child=$!
			echo $$ > started
			wait`)
		b.number("started")
		b.cancel(exit.Interrupt{Signal: signal})
		require.Equal(t, 7, b.ended().Exit)
		b.number("alive")
	}
}

// A process's output is kept up to a limit, and its error is read from that part.
func TestOutputIsBounded(t *testing.T) {
	var b bounded
	n, err := b.Write(make([]byte, maxOutput-1))
	require.NoError(t, err)
	require.Equal(t, maxOutput-1, n)
	for range 2 {
		n, err = b.Write([]byte("four"))
		require.NoError(t, err)
		require.Equal(t, 4, n, "the process is not disturbed")
		require.Equal(t, maxOutput, b.Len())
	}
}
