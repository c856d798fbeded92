// Package interrupt ends a program's work at the first signal, and the program itself at a later one:
//
//	ctx, stop := interrupt.Context(func() { log.Info(interrupt.Notice) },
//		func(i exit.Interrupt) { os.Exit(i.ExitCode()) }, syscall.SIGINT, syscall.SIGTERM)
//	defer stop()
//
// Signals that follow the first within Window count as the same one, so the program has time to save its results.
package interrupt
