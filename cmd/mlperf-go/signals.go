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

// interruptible gives a context that the first SIGINT, SIGTERM, SIGHUP or SIGQUIT ends; the second ends the process at
// once. SIGHUP comes when a terminal or a connection closes; who started the program with nohup wants it to go on.
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

// brokenPipes takes SIGPIPE, which would end a test in its middle because nobody reads its progress any more (as in
// `2>&1 | head`). Nobody listens: the write fails, and that is told where it matters. Children get the signal's own
// meaning back.
func brokenPipes() chan os.Signal {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return pipes
}
