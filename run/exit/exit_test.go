package exit

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
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
		{wrapped(syscall.ENOSPC), StatusEnvironment, "disk_full"},
		{wrapped(syscall.EDQUOT), StatusEnvironment, "disk_full"},
		{wrapped(syscall.EACCES), StatusEnvironment, "permission"},
		{wrapped(syscall.EROFS), StatusEnvironment, "permission"},
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

func TestErrorIsOneParagraph(t *testing.T) {
	require.EqualError(t, Usage("x", "Try another", "it cannot be"), "it cannot be. Try another")
	require.EqualError(t, Usage("x", "", "it cannot be"), "it cannot be")
}
