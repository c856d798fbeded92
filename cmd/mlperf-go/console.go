package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/metrics/publish"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// console contains the writers of a command. All of them except stderr remove secrets and control characters.
type console struct {
	stdout   *foreign.LineWriter // results
	messages *foreign.LineWriter // errors, logs and lines of progress, to stderr
	drawing  *drawing            // the writer below messages, with the state of a running test
	stderr   io.Writer           // for children, which clean their own messages
	log      *zap.Logger
	out, err page // stdout and messages in a form for people

	columns                 string          // COLUMNS of the environment
	counters                *publish.Server // of --serve-metrics; nil: without it
	json, quiet, noProgress bool
	silent                  bool // like quiet, but without the verdict line, because stdout is for another result
	logLevel, logFormat     string
	stopped                 *atomic.Bool // whether a signal ends the command: cancelled requests would look failed

	results *output // the writer below stdout
}

func newConsole(stdout, stderr io.Writer, environ []string, secrets *secret.Redactor) *console {
	results, below := &output{to: stdout}, &drawing{to: stderr}
	c := &console{stdout: foreign.Writer(results, secrets.Values), messages: foreign.Writer(below, secrets.Values),
		drawing: below, stderr: stderr, log: zap.NewNop(), logLevel: "info", logFormat: "console", results: results,
		columns: valueOf(environ, "COLUMNS"), stopped: new(atomic.Bool)}
	c.out, c.err = newPage(c.stdout, stdout, environ), newPage(c.messages, stderr, environ)
	return c
}

// setLog makes the logger of the flags log-level, log-format and quiet.
func (c *console) setLog() error {
	level, err := zapcore.ParseLevel(c.logLevel)
	if err != nil {
		return exit.Usage(exit.CodeLogLevel, "", "--log-level %q %s", c.logLevel,
			config.NotOneOf(c.logLevel, []string{"debug", "info", "warn", "error"}))
	}
	if c.quiet {
		level = max(level, zapcore.ErrorLevel)
	}
	core, err := newLogCore(c.logFormat, c.err, level)
	c.log = zap.New(core)
	return err
}

// newLogCore returns a core that writes log lines: as JSON with their fields, or as plain text for a person.
func newLogCore(format string, to page, level zapcore.Level) (zapcore.Core, error) {
	switch format {
	case "json":
		encoder := zap.NewProductionEncoderConfig()
		encoder.EncodeTime = zapcore.ISO8601TimeEncoder
		return zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.AddSync(to.to), level), nil
	case "console":
		return textCore{level, to}, nil
	}
	return zapcore.NewNopCore(), exit.Usage(exit.CodeLogFormat, "", "--log-format %q %s", format,
		config.NotOneOf(format, []string{"console", "json"}))
}

// textCore writes the level and the message of a log line. It omits the fields, because the message contains what a
// person needs of them.
type textCore struct {
	zapcore.LevelEnabler
	to page
}

func (t textCore) With([]zapcore.Field) zapcore.Core { return t }

func (t textCore) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if t.Enabled(e.Level) {
		return checked.AddCore(e, t)
	}
	return checked
}

func (t textCore) Write(e zapcore.Entry, _ []zapcore.Field) error {
	t.to.labelled(colourOf[e.Level.String()], e.Level.String()+":", e.Message)
	return nil
}

func (t textCore) Sync() error { return nil }

// logsJSON reports whether each line on stderr is a JSON object.
func (c *console) logsJSON() bool { return c.logFormat == "json" }

// complain prints the error that ends a command, at any log level.
func (c *console) complain(e *run.Error) {
	text := strings.TrimSuffix(foreign.Lines(e.Error(), longestError), "\n")
	if !c.logsJSON() {
		c.err.labelled(red, "mlperf-go:", text)
		return
	}
	core, _ := newLogCore(c.logFormat, c.err, zapcore.ErrorLevel) // the format is valid
	zap.New(core).Error(text, zap.String("code", string(e.Code)), zap.String("hint", e.Hint), zap.Int("exit", e.Exit))
}

// notice logs lines that a user should see once.
func (c *console) notice(lines ...string) {
	for _, l := range lines {
		c.log.Info(l)
	}
}

// writeJSON prints a command's result as one JSON object. exitCode reports its errors.
func (c *console) writeJSON(v any) {
	enc := json.NewEncoder(c.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && c.results.err == nil {
		c.results.err = err
	}
}

// isTerminal reports whether progress can be drawn in place.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// exitCode returns the exit code of a command that ended without an error and with the given code. If a valid result
// did not reach stdout, it is an error of the environment.
func (c *console) exitCode(code int) int {
	_ = c.stdout.Flush() // results remembers the error
	err := c.results.err
	if err == nil || readerGone(err) || code != run.ExitValid {
		return code
	}
	c.complain(&run.Error{Exit: run.ExitEnvironment, Code: exit.CodeStdout,
		Hint: "Free some space there, or redirect it " +
			"elsewhere; the files that the command wrote are complete",
		Err: fmt.Errorf("cannot write the result to the standard output: %w", err)})
	return run.ExitEnvironment
}

// output is stdout. It remembers the first write that failed.
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

// unlessUnread returns the error that ends a command, or nil if its only cause is that the reader of stdout has left.
func (c *console) unlessUnread(err error) error {
	if readerGone(err) && readerGone(c.results.err) {
		return nil
	}
	return err
}

// readerGone reports whether the reader of a pipe has closed it, as head does.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
