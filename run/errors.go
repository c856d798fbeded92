package run

import (
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// The program's exit codes (docs/reference/troubleshooting.md#exit-codes).
const (
	ExitValid       = exit.StatusValid
	ExitInvalid     = exit.StatusInvalid
	ExitUsage       = exit.StatusUsage
	ExitEnvironment = exit.StatusEnvironment
	ExitBug         = exit.StatusBug
	ExitHangup      = exit.StatusHangup
	ExitInterrupt   = exit.StatusInterrupt
	ExitQuit        = exit.StatusQuit
	ExitTerminate   = exit.StatusTerminate
)

// Error is why a run could not start or could not end as it should, with the exit code that follows.
type Error = exit.Error

// Interrupt is the cause of a context that a signal cancelled.
type Interrupt = exit.Interrupt

// Classify returns any error of a run as an *Error with its exit code and its code for scripts; nil for nil.
func Classify(err error) *Error { return exit.Classify(err) }
