// Package exit contains the exit codes of the program and the errors that carry one.
//
//	return exit.Usage("endpoint", "Write --endpoint http://host:port", "no --endpoint was given")
//
// Error is a failure with its exit code, a word for scripts and a hint. Classify turns any other error into one.
// Package run re-exports what users of its API need. The package must not import run or any package above it.
package exit
