package run

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
)

// The program's exit codes (docs/reference/troubleshooting.md#exit-codes).
const (
	ExitValid       = 0
	ExitInvalid     = 1
	ExitUsage       = 2
	ExitEnvironment = 3
	ExitBug         = 70
	ExitHangup      = 129 // SIGHUP
	ExitInterrupt   = 130 // SIGINT
	ExitQuit        = 131 // SIGQUIT
	ExitTerminate   = 143 // SIGTERM
)

// Error is why a run was not started or could not be ended as it should, with the exit code that follows.
type Error struct {
	Exit int
	Code string // a word for scripts
	Hint string // what to try
	Err  error
}

// Error is one paragraph, the hint at its end.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + ". " + e.Hint
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// UsageError returns an error of the command line, the configuration or the input. The format may hold a %w.
func UsageError(code, hint, format string, args ...any) *Error {
	return &Error{Exit: ExitUsage, Code: code, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// EnvironmentError returns an error of the machine or of an endpoint. The format may hold a %w.
func EnvironmentError(code, hint, format string, args ...any) *Error {
	return &Error{Exit: ExitEnvironment, Code: code, Hint: hint, Err: fmt.Errorf(format, args...)}
}

func usage(code string, err error, hint string) *Error {
	return &Error{Exit: ExitUsage, Code: code, Hint: hint, Err: err}
}

func environment(code string, err error, hint string) *Error {
	return &Error{Exit: ExitEnvironment, Code: code, Hint: hint, Err: err}
}

// Classify gives any error of a run its exit code and word. A nil error gives nil.
func Classify(err error) *Error {
	if err == nil {
		return nil
	}
	disk := onDisk(err)
	var known *Error
	if errors.As(err, &known) {
		if disk != nil && known.Exit == ExitUsage { // nothing that was typed fills a disk
			return disk
		}
		return known
	}
	var i Interrupt
	if errors.As(err, &i) {
		return &Error{Exit: i.ExitCode(), Code: "interrupted", Err: err}
	}
	if disk != nil {
		return disk
	}
	return firstOf(classes, err, &Error{Exit: ExitUsage, Code: "usage", Err: err})
}

// class is a kind of error that is known by its type or its cause.
type class struct {
	exit int
	code string
	hint string
	is   func(error) bool
}

func firstOf(list []class, err error, otherwise *Error) *Error {
	for _, c := range list {
		if c.is(err) {
			return &Error{Exit: c.exit, Code: c.code, Hint: c.hint, Err: err}
		}
	}
	return otherwise
}

var classes = []class{
	{ExitUsage, "dataset", "", isA[*datasets.Error]},
	{ExitUsage, "unknown_model", "", isA[*models.NameError]},
	{ExitUsage, "loadgen_setting", "", isA[*loadgen.SettingsError]},
	{ExitEnvironment, "endpoint", "", isA[*backends.EndpointError]},
	{ExitEnvironment, "permission", "Change its owner or rights, or name another place", is(syscall.EACCES)},
	{ExitEnvironment, "interrupted", "", is(context.Canceled)},
}

// diskFaults are the environment's, whatever was being done.
var diskFaults = []class{
	{ExitEnvironment, "limits", "Raise the limit of a file's size (RLIMIT_FSIZE): ulimit -f unlimited", is(syscall.EFBIG)},
	{ExitEnvironment, "limits", "Give the process more memory, or raise its limits: ulimit -v (RLIMIT_AS), the " +
		"container's memory", is(syscall.ENOMEM)},
	{ExitEnvironment, "disk_full", "Free some space on that disk, or write to another one", is(syscall.ENOSPC)},
	{ExitEnvironment, "disk_full", "Free some space in your quota, or write to another disk", is(syscall.EDQUOT)},
	{ExitEnvironment, "permission", "That disk is mounted read-only: write to another one", is(syscall.EROFS)},
}

func onDisk(err error) *Error { return firstOf(diskFaults, err, nil) }

func isA[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// Interrupt is the cause of a context that a signal ended.
type Interrupt struct{ Signal syscall.Signal }

// signalNames are the words that people know signals by.
var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP (the terminal is gone)", syscall.SIGINT: "SIGINT (Ctrl-C)", syscall.SIGQUIT: "SIGQUIT",
	syscall.SIGTERM: "SIGTERM",
}

// Error names the signal.
func (i Interrupt) Error() string {
	if name, ok := signalNames[i.Signal]; ok {
		return "interrupted by " + name
	}
	return "interrupted by " + i.Signal.String()
}

// ExitCode is 128 + the signal's number.
func (i Interrupt) ExitCode() int { return 128 + int(i.Signal) }
