package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/child"
	"github.com/mlperf-go/mlperf-go/run/interrupt"
	"github.com/mlperf-go/mlperf-go/servers"
)

// interruptible returns a context that ends with the first SIGINT, SIGTERM, SIGHUP or SIGQUIT. SIGHUP arrives when a
// terminal or a connection closes; under nohup it is ignored and stays so.
func (p *program) interruptible() (context.Context, func()) {
	heard := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) {
		heard = slices.DeleteFunc(heard, func(s os.Signal) bool { return s == syscall.SIGHUP })
	}
	ctx, stop := interrupt.Context(func() {
		p.stopped.Store(true)
		if notice := p.stopping.Load(); notice != nil {
			p.log.Info(*notice)
		}
	}, func(i run.Interrupt) { os.Exit(i.ExitCode()) }, heard...)
	pipes := brokenPipes()
	return ctx, func() {
		stop()
		signal.Stop(pipes)
	}
}

// measures states that the command keeps its measurements after a signal, for which it prints a line. A step of a
// campaign or a tune prints none, because its parent gets the signal too.
func (p *program) measures() { p.stopsWith(interrupt.Notice) }

// stopsWith sets the line to print after a signal.
func (p *program) stopsWith(notice string) {
	if !child.Is(p.environ) {
		p.stopping.Store(&notice)
	}
}

// explain prints the folder of a study that a signal ended, and how to continue. If there are measurements, show prints
// them. It returns the error.
func (p *program) explain(ctx context.Context, err error, folder string, measured bool, show func() error) error {
	if _, ok := context.Cause(ctx).(run.Interrupt); !ok || p.json || p.quiet {
		return err
	}
	if _, gone := os.Stat(folder); gone != nil { // nothing was measured
		return err
	}
	if !measured {
		p.out.line("folder      %s", folder)
	} else if failed := show(); failed != nil {
		return errors.Join(err, failed)
	}
	p.toContinue(folder)
	return err
}

// toContinue prints the command that continues an interrupted study in a folder.
func (p *program) toContinue(folder string) {
	p.out.line("\nTo continue in the same folder (with make: ARGS=--resume):\n  %s",
		servers.Quote(again(p.commandLine(), folder)...))
}

// brokenPipes catches SIGPIPE, which would end a test whose progress is no longer read, as in `2>&1 | head`. Failed
// writes are reported where they matter. Children start with the default action again.
func brokenPipes() chan os.Signal {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return pipes
}
