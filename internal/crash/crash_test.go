package crash

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const role = "CRASH_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "handled":
		Handle(func(v any, stack []byte) {
			os.Stderr.WriteString("told: " + v.(string) + "\n" + string(stack))
			os.Exit(70)
		})
		blow()
	case "bare":
		blow()
	}
	os.Exit(m.Run())
}

func blow() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer Catch()
		panic("in a goroutine")
	}()
	<-done
	select {}
}

// TestPanicOfAGoroutine starts child processes that panic, with a handler and without one.
func TestPanicOfAGoroutine(t *testing.T) {
	for as, want := range map[string]struct {
		code int
		text string
	}{"handled": {70, "told: in a goroutine"}, "bare": {2, "panic: in a goroutine"}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), role+"="+as)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.True(t, errors.As(err, &exit), "%v", err)
		require.Equal(t, want.code, exit.ExitCode(), "%s", out)
		require.Contains(t, string(out), want.text)
		require.True(t, strings.Contains(string(out), "crash.blow"), "the stack of the goroutine: %s", out)
	}
}

func TestNothingHappensWithoutAPanic(t *testing.T) {
	func() { defer Catch() }()
}
