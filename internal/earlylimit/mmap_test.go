//go:build cgo && linux && !asan && !msan

package earlylimit_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	_ "github.com/mlperf-go/mlperf-go/internal/earlylimit"
)

const role = "EARLYLIMIT_TEST_ROLE"

var kept [][]byte

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(role)); len(words) > 0 {
		limited(words[0])
		if words[1] == "threads" {
			startThreads()
		}
		size, _ := strconv.Atoi(words[1])
		for n := 0; n < 16<<30; n += size {
			block := make([]byte, size)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			kept = append(kept, block)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// startThreads starts threads for ever.
func startThreads() {
	for {
		started := make(chan bool)
		go func() {
			runtime.LockOSThread()
			close(started)
			select {}
		}()
		<-started
	}
}

// limited sets a limit that allows this process 1 GiB more of one kind of memory.
func limited(kind string) {
	resource, column := unix.RLIMIT_AS, 0
	switch kind {
	case "none":
		return
	case "data":
		resource, column = unix.RLIMIT_DATA, 5
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text))[column])
	most := uint64(pages*os.Getpagesize()) + 1<<30
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		panic(err)
	}
}

// A process that runs out of memory exits with code 3 and names the limit, whether memory grows fast or slowly. Without
// a limit the Go runtime reports the fault itself.
func TestMemoryThatRunsOut(t *testing.T) {
	for name, c := range map[string]struct {
		growth string // kind of memory, and number of bytes by which it grows
		code   int
		says   string
	}{
		"all at once":            {"as 4294967296", 3, "the limit of the address space (RLIMIT_AS) is "},
		"by 160 MiB":             {"as 167772160", 3, "the limit of the address space (RLIMIT_AS) is "},
		"in pages":               {"as 4096", 3, "the limit of the address space (RLIMIT_AS) is "},
		"by stacks of threads":   {"as threads", 3, "the limit of the address space (RLIMIT_AS) is "},
		"data":                   {"data 16777216", 3, "the limit of the data segment (RLIMIT_DATA) is "},
		"more than there can be": {"none 140737488355328", 2, "out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), role+"="+c.growth)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit), "%v", err)
			require.Equal(t, c.code, exit.ExitCode(), "%.2000s", out)
			require.Contains(t, string(out), c.says)
			require.Equal(t, c.code == 3, strings.HasPrefix(string(out), "mlperf-go: memory ran out: "), "%.2000s", out)
			require.Equal(t, c.code == 3, strings.Count(string(out), "\n") == 1, "one line: %.2000s", out)
		})
	}
}
