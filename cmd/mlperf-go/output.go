package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/mlperf-go/mlperf-go/run"
)

// output is stdout, and remembers the first write that failed: a result that nobody got is no success.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// gone says that the reader of a pipe has read what it wanted, as head does.
func gone(err error) bool { return errors.Is(err, syscall.EPIPE) }

// written is the exit code of a command that ended without an error, once it is known whether its result reached
// stdout.
func (p *program) written(out *output) int {
	_ = p.stdout.Flush() // out remembers its error
	if out.err == nil || gone(out.err) || p.exit != run.ExitValid {
		return p.exit
	}
	fmt.Fprintf(p.messages, "mlperf-go: the result could not be written to the standard output: %v. Free some space "+
		"where it goes, or send it elsewhere; what the command left in files is complete\n", out.err)
	return run.ExitEnvironment
}
