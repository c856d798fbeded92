package exit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	loadgen "github.com/mlperf-go/mlperf-go/loadgen-cgo"
	"github.com/mlperf-go/mlperf-go/models"
)

// The exit statuses of the program (docs/reference/troubleshooting.md#exit-codes).
const (
	StatusValid       = 0
	StatusInvalid     = 1
	StatusUsage       = 2
	StatusEnvironment = 3
	StatusBug         = 70
	StatusHangup      = 129 // SIGHUP
	StatusInterrupt   = 130 // SIGINT
	StatusQuit        = 131 // SIGQUIT
	StatusTerminate   = 143 // SIGTERM
)

// Error is why a run could not start or could not end as it should, with the exit code that follows.
type Error struct {
	Exit int
	Code Code   // code of the error, a word for scripts
	Hint string // what the user may try
	Err  error
}

// Error returns one paragraph that ends with the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Err.Error()
	}
	text := e.Err.Error()
	if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text + " " + e.Hint
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Usage returns an error with exit code 2: the user has to change the command, a file or a setting. The format may
// contain %w.
func Usage(code Code, hint, format string, args ...any) *Error {
	return &Error{Exit: StatusUsage, Code: code, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Mistakes joins the mistakes of one command line to one error, with the exit code and the code of the first. It
// returns nil for no mistakes, and a single one unchanged.
func Mistakes(list []error) error {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	first := Classify(list[0])
	return &Error{Exit: first.Exit, Code: first.Code, Err: mistakes(list)}
}

// mistakes is the error of several others, each on a line of its own with its hint.
type mistakes []error

func (m mistakes) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d mistakes:", len(m))
	for _, err := range m {
		b.WriteString("\n  - " + err.Error())
	}
	return b.String()
}

func (m mistakes) Unwrap() []error { return m }

// Environment returns an error with exit code 3: the machine, a disk or a server prevented the run. The format may
// contain %w.
func Environment(code Code, hint, format string, args ...any) *Error {
	return &Error{Exit: StatusEnvironment, Code: code, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// Classify returns err as an *Error. It keeps the exit code and the code of an *Error inside err, and otherwise
// derives them from the type and the cause of err. It returns nil for nil.
func Classify(err error) *Error {
	if err == nil {
		return nil
	}
	disk := firstMatch(diskFaults, err)
	if known, ok := errors.AsType[*Error](err); ok {
		if disk != nil && known.Exit == StatusUsage { // no flag or setting fills a disk
			return disk
		}
		return known
	}
	if i, ok := errors.AsType[Interrupt](err); ok {
		return &Error{Exit: i.ExitCode(), Code: CodeInterrupted, Err: err}
	}
	if disk != nil {
		return disk
	}
	if known := firstMatch(classes, err); known != nil {
		return known
	}
	return &Error{Exit: StatusUsage, Code: CodeUsage, Err: err}
}

// NotServed is the error of a page that cannot be served at the address of a flag: wrong usage if that is malformed.
func NotServed(err error, page, flag, address, example string) error {
	if isA[*net.AddrError](err) {
		return Usage(CodeLive, fmt.Sprintf("Write --%s host:port, such as %s", flag, example),
			"%q is not an address to serve %s at", address, page)
	}
	hint := fmt.Sprintf("Give --%s a free address of this machine, such as %s", flag, example)
	return Environment(CodeLive, hint, "%s cannot be served: %w", page, err)
}

// class is a kind of error, recognized by its type or its cause.
type class struct {
	exit    int
	code    Code
	hint    string
	matches func(error) bool
}

func firstMatch(list []class, err error) *Error {
	for _, c := range list {
		if c.matches(err) {
			return &Error{Exit: c.exit, Code: c.code, Hint: c.hint, Err: err}
		}
	}
	return nil
}

var classes = []class{
	{StatusUsage, CodeDataset, "", isA[*datasets.Error]},
	{StatusUsage, CodeUnknownModel, "", isA[*models.NameError]},
	{StatusUsage, CodeLoadGenSetting, "", isA[*loadgen.SettingsError]},
	{StatusEnvironment, CodeEndpoint, "", isA[*backends.EndpointError]},
	{StatusEnvironment, CodePermission, "Change its owner or its permissions, or name another place", is(syscall.EACCES)},
	{StatusEnvironment, CodeInterrupted, "", is(context.Canceled)},
}

// diskFaults are faults of the environment, whatever operation met them.
var diskFaults = []class{
	{StatusEnvironment, CodeLimits, "Raise the limit of a file's size (RLIMIT_FSIZE): ulimit -f unlimited",
		is(syscall.EFBIG)},
	{StatusEnvironment, CodeLimits, "Give the process more memory, or raise its limits: ulimit -v (RLIMIT_AS), the " +
		"container's memory", is(syscall.ENOMEM)},
	{StatusEnvironment, CodeDiskFull, "Free some space on that disk, or write to another one", is(syscall.ENOSPC)},
	{StatusEnvironment, CodeDiskFull, "Free some space in your quota, or write to another disk", is(syscall.EDQUOT)},
	{StatusEnvironment, CodePermission, "That disk is mounted read-only: write to another one", is(syscall.EROFS)},
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// Interrupt is the cause of a context that a signal cancelled, or something that acts as one.
type Interrupt struct {
	Signal syscall.Signal
	By     string // other cause, such as "the live page"; empty: the signal itself
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP (the terminal is gone)", syscall.SIGINT: "SIGINT (Ctrl-C)", syscall.SIGQUIT: "SIGQUIT",
	syscall.SIGTERM: "SIGTERM",
}

// Error names the signal.
func (i Interrupt) Error() string {
	if i.By != "" {
		return "interrupted by " + i.By
	}
	if name, ok := signalNames[i.Signal]; ok {
		return "interrupted by " + name
	}
	return "interrupted by " + i.Signal.String()
}

// ExitCode returns 128 + the number of the signal.
func (i Interrupt) ExitCode() int { return 128 + int(i.Signal) }
