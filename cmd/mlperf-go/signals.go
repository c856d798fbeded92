package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run"
)

// interruptible returns a context that ends with the first SIGINT, SIGTERM, SIGHUP or SIGQUIT; the second ends the
// process at once. SIGHUP arrives when a terminal or a connection closes; under nohup it is ignored and stays so.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	heard := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) {
		heard = slices.DeleteFunc(heard, func(s os.Signal) bool { return s == syscall.SIGHUP })
	}
	signal.Notify(signals, heard...)
	pipes := brokenPipes()
	end := make(chan struct{})
	go func() {
		defer crash.Catch()
		select {
		case <-end:
			return
		case s := <-signals:
			cancel(run.Interrupt{Signal: s.(syscall.Signal)})
		}
		select {
		case <-end:
		case s := <-signals:
			os.Exit(run.Interrupt{Signal: s.(syscall.Signal)}.ExitCode())
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
		close(end)
		cancel(nil)
	}
}

// brokenPipes catches SIGPIPE, which would end a test whose progress is no longer read, as in `2>&1 | head`. The failed
// write is reported where it matters. Children start with the default action again.
func brokenPipes() chan os.Signal {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return pipes
}
