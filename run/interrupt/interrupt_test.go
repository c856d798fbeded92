package interrupt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// worksOn is the environment variable that makes the test binary a program whose work never ends.
const worksOn = "INTERRUPT_TEST_WORKS_ON"

func TestMain(m *testing.M) {
	if os.Getenv(worksOn) == "" {
		os.Exit(m.Run())
	}
	ctx, _ := Context(func() { fmt.Println(Notice) }, func(i exit.Interrupt) { os.Exit(i.ExitCode()) }, syscall.SIGINT,
		syscall.SIGTERM)
	fmt.Println("ready")
	<-ctx.Done()
	time.Sleep(time.Minute)
}

// Signals within the window count as one; a later one ends the process with its own exit code.
func TestOnlyALaterSignalEndsTheProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), worksOn+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())

	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	begun := time.Now()
	require.True(t, lines.Scan())
	require.Equal(t, Notice, lines.Text())
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))

	time.Sleep(Window + 200*time.Millisecond - time.Since(begun))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM), "it is still running")
	require.False(t, lines.Scan(), "nothing is said twice")
	var failed *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &failed)
	require.Equal(t, exit.StatusTerminate, failed.ExitCode())
	require.Less(t, time.Since(begun), 30*time.Second, "the work would have gone on for a minute")
}

func TestTheCauseIsTheFirstSignal(t *testing.T) {
	first := make(chan struct{})
	ctx, stop := Context(func() { close(first) }, func(exit.Interrupt) {}, syscall.SIGUSR1)
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	<-ctx.Done()
	<-first
	var i exit.Interrupt
	require.True(t, errors.As(context.Cause(ctx), &i))
	require.Equal(t, syscall.SIGUSR1, i.Signal)
}
