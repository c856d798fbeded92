package run

import (
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// The program's exit codes (docs/reference/troubleshooting.md#exit-codes).
const (
	ExitValid       = exit.CodeValid
	ExitInvalid     = exit.CodeInvalid
	ExitUsage       = exit.CodeUsage
	ExitEnvironment = exit.CodeEnvironment
	ExitBug         = exit.CodeBug
	ExitHangup      = exit.CodeHangup
	ExitInterrupt   = exit.CodeInterrupt
	ExitQuit        = exit.CodeQuit
	ExitTerminate   = exit.CodeTerminate
)

// Error is why a run could not start or could not end as it should, with the exit code that follows.
type Error = exit.Error

// Interrupt is the cause of a context that a signal cancelled.
type Interrupt = exit.Interrupt

// Classify returns any error of a run as an *Error, with its exit code and its word for scripts; nil for nil.
func Classify(err error) *Error { return exit.Classify(err) }

// UsageError returns an error of the command line, the configuration or the input. The format may contain %w.
func UsageError(code, hint, format string, args ...any) *Error {
	return exit.Usage(code, hint, format, args...)
}

// EnvironmentError returns an error of the machine or of an endpoint. The format may contain %w.
func EnvironmentError(code, hint, format string, args ...any) *Error {
	return exit.Environment(code, hint, format, args...)
}
