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
		{Usage("x", "", "y"), CodeUsage, "x"},
		{Environment("disk", "", "%w", wrapped(syscall.EIO)), CodeEnvironment, "disk"},
		{wrapped(syscall.ENOSPC), CodeEnvironment, "disk_full"},
		{wrapped(syscall.EDQUOT), CodeEnvironment, "disk_full"},
		{wrapped(syscall.EACCES), CodeEnvironment, "permission"},
		{wrapped(syscall.EROFS), CodeEnvironment, "permission"},
		{wrapped(context.Canceled), CodeEnvironment, "interrupted"},
		{wrapped(Interrupt{Signal: syscall.SIGINT}), CodeInterrupt, "interrupted"},
		{wrapped(Interrupt{Signal: syscall.SIGTERM}), CodeTerminate, "interrupted"},
		{errors.New("anything"), CodeUsage, "usage"},
	} {
		got := Classify(c.err)
		require.Equal(t, c.exit, got.Exit, c.err)
		require.Equal(t, c.code, got.Code, c.err)
		require.ErrorIs(t, got, c.err)
	}
}

func wrapped(err error) error { return errors.Join(errors.New("while it was tried"), err) }

func TestErrorIsOneParagraph(t *testing.T) {
	require.EqualError(t, Usage("x", "Try another", "it cannot be"), "it cannot be. Try another")
	require.EqualError(t, Usage("x", "", "it cannot be"), "it cannot be")
}
