package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	_ "github.com/mlperf-go/mlperf-go/backends/llamacpp" // registers llamacpp
	_ "github.com/mlperf-go/mlperf-go/backends/ollama"   // registers ollama
	_ "github.com/mlperf-go/mlperf-go/backends/openai"   // registers vllm, sim, openai and trtllm
	_ "github.com/mlperf-go/mlperf-go/backends/sglang"   // registers sglang
	"github.com/mlperf-go/mlperf-go/internal/crash"
	_ "github.com/mlperf-go/mlperf-go/internal/earlylimit" // ends a process whose limits are too low for the runtime
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// The main goroutine keeps the main thread, because the parent-death signal ties children to the thread that started
// them.
func init() { runtime.LockOSThread() }

func main() {
	sandbox.Enter(os.Args, os.Environ()) // in a child that runs a model's program this call does not return
	crash.Handle(func(v any, stack []byte) {
		reportBug(v, stack)
		os.Exit(run.ExitBug)
	})
	defer crash.Catch()
	// net/http logs malformed answers of servers there; the error that follows reports them
	log.SetOutput(io.Discard)
	os.Exit(mainCode(os.Args, os.Environ(), os.Stdout, os.Stderr))
}

// reportBug prints the message about a panic.
func reportBug(v any, stack []byte) {
	text := fmt.Sprintf("bug in this program: %s. Please report it with the run's folder and these lines:\n%s",
		foreign.Lines(fmt.Sprint(v), longestError), stack)
	if !asksFor("log-format", []string{"json"}, os.Args, os.Environ()) {
		fmt.Fprint(os.Stderr, "mlperf-go: "+text)
		return
	}
	c := newConsole(io.Discard, os.Stderr, nil, &secret.Redactor{})
	c.logFormat = "json"
	c.complain(&run.Error{Exit: run.ExitBug, Code: exit.CodeBug, Err: errors.New(text)})
}

// program is the environment that all commands share.
type program struct {
	*console
	environ   []string
	secrets   *secret.Redactor // removes secrets from everything that the program writes
	modelFile string           // model file that was added to the registry of benchmarks
	// --engine-args was given. The older harness ignored the following arguments unless it started a server.
	oldEngineArgs bool
	oldNotes      []string               // notes about words and variables of the older harness
	exit          int                    // of a command that ended without an error
	stopping      atomic.Pointer[string] // the line to print after a signal; nil: none
	parentReports bool                   // whether the parent reports an error, which is on stdout for it
}

func mainCode(args, environ []string, stdout, stderr io.Writer) int {
	secrets := &secret.Redactor{}
	secrets.AddEnviron(environ)
	if len(args) > 0 {
		secrets.AddArgs(args[1:])
	}
	p := &program{console: newConsole(stdout, stderr, environ, secrets), environ: environ, secrets: secrets}
	defer func() { _ = p.messages.Flush() }() // a broken stderr cannot be reported anywhere
	app := p.app()
	if err := dropEmpty(environ); err != nil {
		return p.report(err)
	}
	ctx, stop := p.interruptible()
	defer stop()
	args, notes := oldCommand(dashed(args), os.Getenv)
	p.oldEngineArgs = hasOldEngineArgs(args)
	p.oldNotes = notes
	err := p.unlessUnread(p.execute(ctx, app, args))
	_ = p.log.Sync() // fails on a terminal
	if err == nil {
		return p.exitCode(p.exit)
	}
	// After a signal, the signal is the reason why the program ends, whatever else failed.
	if i, ok := context.Cause(ctx).(run.Interrupt); ok && !errors.As(err, &i) {
		err = fmt.Errorf("%w: %w", i, err)
	}
	p.json = p.json || asksFor("json", []string{"", "true", "1"}, args, environ)
	if asksFor("log-format", []string{"json"}, args, environ) {
		p.logFormat = "json"
	}
	return p.report(err)
}

// execute runs the command of a command line, or prints the requested help, version or completions.
func (p *program) execute(ctx context.Context, app *cli.App, args []string) error {
	if len(args) > 1 && args[1] == completeCommand {
		return p.complete(app, args[2:])
	}
	typed := asksForVersion(app, args)
	args = flagsFirst(app.Commands, app.Flags, typed)
	if path, all, ok := helpAsked(app, args); ok {
		return p.showHelp(app, path, all)
	}
	if err := missingValue(app, typed); err != nil {
		return err
	}
	return app.RunContext(ctx, args)
}

// asksForVersion replaces --version or -v before any command by the command version.
func asksForVersion(app *cli.App, args []string) []string {
	for i := 1; i < len(args) && strings.HasPrefix(args[i], "-") && args[i] != "--"; i++ {
		if name, _, _ := cutFlag(args[i]); name == "version" || name == "v" {
			given := slices.Delete(slices.Clone(args), i, i+1)
			return slices.Insert(given, i, "version")
		}
		i += values(app.Flags, args[i])
	}
	return args
}

// asksFor looks for one of the values of a global flag in arguments and environment, because the flag parser may have
// stopped at an earlier flag. The empty value matches a flag without a value.
func asksFor(flag string, values, args, environ []string) bool {
	for i, a := range args {
		name, value, inline := cutFlag(a)
		if !strings.HasPrefix(a, "-") || name != flag {
			continue
		}
		if !inline && !slices.Contains(values, "") && i+1 < len(args) {
			value = args[i+1]
		}
		if slices.Contains(values, value) {
			return true
		}
	}
	set := valueOf(environ, envPrefix+strings.ToUpper(strings.ReplaceAll(flag, "-", "_")))
	return set != "" && slices.Contains(values, set)
}

// longestError limits an error in bytes. It may contain the ends of the logs of several servers.
const longestError = 256 << 10

// report writes an error as one paragraph, or as JSON, and returns its exit code.
func (p *program) report(err error) int {
	e := run.Classify(err)
	var interrupt run.Interrupt
	if errors.As(err, &interrupt) {
		e = &run.Error{Exit: interrupt.ExitCode(), Code: exit.CodeInterrupted, Err: err}
	}
	if p.json {
		p.writeJSON(map[string]any{"error": map[string]any{"code": e.Code, "message": e.Err.Error(), "hint": e.Hint}})
	}
	_ = p.stdout.Flush() // the error matters more than a failed write
	if !p.parentReports {
		p.complain(e)
	}
	return e.Exit
}
