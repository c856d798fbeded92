package exit

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
)

func TestClassify(t *testing.T) {
	require.Nil(t, Classify(nil))
	for _, c := range []struct {
		err  error
		exit int
		code string
	}{
		{Usage("x", "", "y"), StatusUsage, "x"},
		{Environment("disk", "", "%w", wrapped(syscall.EIO)), StatusEnvironment, "disk"},
		{Environment("spool", "", "%w", wrapped(syscall.ENOSPC)), StatusEnvironment, "spool"}, // its own word stays
		{wrapped(syscall.ENOSPC), StatusEnvironment, "disk_full"},
		{wrapped(syscall.EDQUOT), StatusEnvironment, "disk_full"},
		{wrapped(syscall.EACCES), StatusEnvironment, "permission"},
		{wrapped(syscall.EROFS), StatusEnvironment, "permission"},
		{wrapped(&datasets.Error{}), StatusUsage, "dataset"},
		{wrapped(&models.NameError{}), StatusUsage, "unknown_model"},
		{wrapped(&loadgen.SettingsError{}), StatusUsage, "loadgen_setting"},
		{wrapped(&backends.EndpointError{}), StatusEnvironment, "endpoint"},
		{wrapped(context.Canceled), StatusEnvironment, "interrupted"},
		{wrapped(Interrupt{Signal: syscall.SIGINT}), StatusInterrupt, "interrupted"},
		{wrapped(Interrupt{Signal: syscall.SIGTERM}), StatusTerminate, "interrupted"},
		{errors.New("anything"), StatusUsage, "usage"},
	} {
		got := Classify(c.err)
		require.Equal(t, c.exit, got.Exit, c.err)
		require.EqualValues(t, c.code, got.Code, c.err)
		require.ErrorIs(t, got, c.err)
	}
}

func wrapped(err error) error { return errors.Join(errors.New("while it was tried"), err) }

func TestCauseOfAnInterruption(t *testing.T) {
	for want, i := range map[string]Interrupt{
		"interrupted by the live page":         {syscall.SIGINT, "the live page"},
		"interrupted by SIGINT (Ctrl-C)":       {Signal: syscall.SIGINT},
		"interrupted by user defined signal 1": {Signal: syscall.SIGUSR1},
	} {
		require.EqualError(t, i, want)
	}
}

func TestErrorIsOneParagraph(t *testing.T) {
	require.EqualError(t, Usage("x", "Try another", "it cannot be"), "it cannot be. Try another")
	require.EqualError(t, Usage("x", "", "it cannot be"), "it cannot be")
	require.EqualError(t, Usage("x", "Try another", "is it one?"), "is it one? Try another")
	require.EqualError(t, Usage("x", "Try another", "It cannot be."), "It cannot be. Try another")
}

// Scripts rely on the page of exit codes, so it must list exactly these codes. A signal's code is 128 + its number.
func TestCodesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/troubleshooting.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Exit codes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []int
	for _, row := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`).FindAllStringSubmatch(section, -1) {
		for word := range strings.SplitSeq(row[1], ", ") {
			code, err := strconv.Atoi(word)
			require.NoError(t, err, row[0])
			listed = append(listed, code)
		}
	}
	require.ElementsMatch(t, listed, []int{StatusValid, StatusInvalid, StatusUsage, StatusEnvironment, StatusBug,
		StatusHangup, StatusInterrupt, StatusQuit, StatusTerminate})
	for signal, code := range map[syscall.Signal]int{syscall.SIGHUP: StatusHangup, syscall.SIGINT: StatusInterrupt,
		syscall.SIGQUIT: StatusQuit, syscall.SIGTERM: StatusTerminate} {
		require.Equal(t, code, Interrupt{Signal: signal}.ExitCode(), signal)
	}
}

func TestMistakes(t *testing.T) {
	require.NoError(t, Mistakes(nil))
	one, two := Usage(CodeModel, "Write --model", "no model"), errors.New("no port")
	require.Equal(t, error(one), Mistakes([]error{one}))
	err := Mistakes([]error{one, two})
	require.EqualError(t, err, "2 mistakes:\n  - no model. Write --model\n  - no port")
	require.ErrorIs(t, err, two)
	require.Equal(t, CodeModel, Classify(err).Code)
	require.Equal(t, StatusUsage, Classify(err).Exit)
}
