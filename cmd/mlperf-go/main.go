package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"

	_ "github.com/mlperf-go/mlperf-go/backends/llamacpp" // registers llamacpp
	_ "github.com/mlperf-go/mlperf-go/backends/ollama"   // registers ollama
	_ "github.com/mlperf-go/mlperf-go/backends/openai"   // registers vllm, sim, openai and trtllm
	_ "github.com/mlperf-go/mlperf-go/backends/sglang"   // registers sglang
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	_ "github.com/mlperf-go/mlperf-go/internal/earlylimit" // ends a process whose limits are too low for the runtime
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/sandbox"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
)

// The main goroutine keeps the main thread: children are tied to the thread that made them by their parent-death
// signal.
func init() { runtime.LockOSThread() }

func main() {
	sandbox.Enter(os.Args, os.Environ()) // a child that runs a model's program becomes that program here
	crash.Handle(func(v any, stack []byte) {
		fmt.Fprintf(os.Stderr, "mlperf-go: a bug of this program: %s. Please report it with the run's folder and these "+
			"lines:\n%s", foreign.Lines(fmt.Sprint(v), longestError), stack)
		os.Exit(run.ExitBug)
	})
	defer crash.Catch()
	// net/http writes there what a strange server sent; the error that follows says it in one paragraph
	log.SetOutput(io.Discard)
	os.Exit(mainCode(os.Args, os.Environ(), os.Stdout, os.Stderr))
}

// program is what every command needs.
type program struct {
	environ     []string
	secrets     *secret.Redactor    // everything that the program writes passes it
	stdout      *foreign.LineWriter // results
	messages    *foreign.LineWriter // errors, logs and lines of progress, to stderr
	stderr      io.Writer           // for what draws on a terminal, and for children, which make their own messages safe
	log         *zap.Logger
	json, quiet bool
	noProgress  bool
	logLevel    string
	logFormat   string
	modelFile   string // that was added to the registry
	exit        int    // of a command that ended without an error
}

func mainCode(args, environ []string, stdout, stderr io.Writer) int {
	out := &output{to: stdout}
	secrets := &secret.Redactor{}
	secrets.AddEnviron(environ)
	if len(args) > 0 {
		secrets.AddArgs(args[1:])
	}
	p := &program{
		environ: environ, secrets: secrets, stdout: foreign.Writer(out, secrets.Values),
		messages: foreign.Writer(stderr, secrets.Values), stderr: stderr,
		log: zap.NewNop(), logLevel: "info", logFormat: "console",
	}
	defer func() { _ = p.messages.Flush() }() // nothing is left to say where stderr is gone
	app := p.app()
	if err := dropEmpty(environ); err != nil {
		return p.report(err)
	}
	ctx, stop := interruptible()
	defer stop()
	err := app.RunContext(ctx, flagsFirst(app.Commands, app.Flags, args))
	_ = p.log.Sync() // stderr may be a terminal, which can not be synced
	if err == nil {
		return p.written(out)
	}
	// Whatever broke because of a signal, the signal is why the program ends.
	if i, ok := context.Cause(ctx).(run.Interrupt); ok && !errors.As(err, &i) {
		err = fmt.Errorf("%w: %w", i, err)
	}
	p.json = p.json || asksForJSON(args, environ)
	return p.report(err)
}

// asksForJSON looks for --json where the flag parser did not come to it, because it stumbled over another flag.
func asksForJSON(args, environ []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, value, inline := cutFlag(a)
		return strings.HasPrefix(a, "-") && name == "json" && (!inline || value == "true")
	}) || slices.Contains(environ, "MLPERF_GO_JSON=true") || slices.Contains(environ, "MLPERF_GO_JSON=1")
}

// longestError bounds an error, in bytes: the ends of the logs of some servers may be in it.
const longestError = 256 << 10

// report writes an error as one paragraph, or as JSON, and gives its exit code.
func (p *program) report(err error) int {
	e := run.Classify(err)
	var exit cli.ExitCoder
	if errors.As(err, &exit) { // the flag parser has one of its own for `help WORD` alone
		text, _, _ := strings.Cut(err.Error(), ".")
		e = run.UsageError("unknown_command", "`mlperf-go help` lists the commands", "%s", text)
	}
	var interrupt run.Interrupt
	if errors.As(err, &interrupt) {
		e = &run.Error{Exit: interrupt.ExitCode(), Code: "interrupted", Err: err}
	}
	if p.json {
		p.writeJSON(map[string]any{"error": map[string]string{"code": e.Code, "message": e.Err.Error(), "hint": e.Hint}})
	}
	_ = p.stdout.Flush() // the error is what counts
	fmt.Fprintf(p.messages, "mlperf-go: %s\n", strings.TrimSuffix(foreign.Lines(e.Error(), longestError), "\n"))
	return e.Exit
}

func (p *program) writeJSON(v any) {
	enc := json.NewEncoder(p.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && !gone(err) {
		fmt.Fprintf(p.messages, "mlperf-go: the result can not be written: %v\n", err)
		p.exit = run.ExitEnvironment
	}
}

// globalFlags are accepted before and after the command's name.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log-level", Usage: "debug, info, warn or error", EnvVars: []string{"MLPERF_GO_LOG_LEVEL"},
			Category: globalGroup, DefaultText: "info"},
		&cli.StringFlag{Name: "log-format", Usage: "console or json", EnvVars: []string{"MLPERF_GO_LOG_FORMAT"},
			Category: globalGroup, DefaultText: "console"},
		&cli.BoolFlag{Name: "quiet", Usage: "print errors only", EnvVars: []string{"MLPERF_GO_QUIET"}, Category: globalGroup},
		&cli.BoolFlag{Name: "no-progress", Usage: "no progress on stderr", EnvVars: []string{"MLPERF_GO_NO_PROGRESS"},
			Category: globalGroup},
		&cli.StringFlag{Name: "model-file", Usage: "YAML file that adds a row to the registry of benchmarks",
			EnvVars: []string{modelFileEnv}, Category: globalGroup},
		&cli.BoolFlag{Name: "json", Usage: "the result as one JSON object on stdout", EnvVars: []string{"MLPERF_GO_JSON"},
			Category: globalGroup},
	}
}

const globalGroup = "Global"

// modelFileEnv is how processes that this one starts learn of --model-file.
const modelFileEnv = "MLPERF_GO_MODEL_FILE"

// addModel adds the row of a model file, once, and hands its name on.
func (p *program) addModel(path string) error {
	if path == "" {
		return nil
	}
	whole, err := filepath.Abs(path)
	if err != nil || whole == p.modelFile {
		return err
	}
	if _, err := models.AddFile(whole); err != nil {
		return run.UsageError("model_file", "", "%w", err)
	}
	p.modelFile = whole
	p.environ = append(slices.Clone(p.environ), modelFileEnv+"="+whole)
	return os.Setenv(modelFileEnv, whole)
}

// withGlobals adds the global flags to every command below.
func (p *program) withGlobals(commands []*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Flags = append(c.Flags, globalFlags()...)
		c.Before = p.before
		withEnviron(c)
		withRequired(c)
		c.Subcommands = p.withGlobals(c.Subcommands)
		if len(c.Subcommands) > 0 {
			c.OnUsageError = usageError
			if c.Action == nil {
				c.Action = p.noCommand
			}
		}
	}
	return commands
}

// withRequired asks for the flags that a command can not do without in one paragraph; cli's own way prints the whole
// help first.
func withRequired(c *cli.Command) {
	var names []string
	for _, f := range c.Flags {
		if s, ok := f.(*cli.StringFlag); ok && s.Required {
			s.Required = false
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	action := c.Action
	c.Action = func(of *cli.Context) error {
		for _, name := range names {
			if of.String(name) == "" && of.Command.ArgsUsage == "" && of.Args().Present() {
				return noArguments(of)
			}
			if of.String(name) == "" {
				return usageError(of, fmt.Errorf("%s needs --%s", of.Command.HelpName, name), false)
			}
		}
		return action(of)
	}
}

func (p *program) app() *cli.App {
	return &cli.App{
		Name: "mlperf-go", HelpName: "mlperf-go", Usage: "MLPerf Inference tests of large language model servers, on the " +
			"official LoadGen",
		Writer: p.stdout, ErrWriter: p.messages,
		HideVersion: true, EnableBashCompletion: true, Suggest: true, UseShortOptionHandling: false,
		Flags:  globalFlags(),
		Before: p.before,
		Commands: p.withGlobals([]*cli.Command{
			p.runCommand(), p.submissionCommand(), p.complianceCommand(), p.accuracyCommand(), p.preflightCommand(),
			p.serverCommand(), p.simCommand(), p.datasetCommand(), p.modelsCommand(),
			p.versionCommand(), p.completionCommand(),
		}),
		ExitErrHandler: func(*cli.Context, error) {}, // mainCode does
		OnUsageError:   usageError,
		Action:         p.noCommand,
	}
}

// before runs for the program and again for each command: what is set nearer to the command counts.
func (p *program) before(c *cli.Context) error {
	for name, to := range map[string]*bool{"json": &p.json, "quiet": &p.quiet, "no-progress": &p.noProgress} {
		if c.IsSet(name) {
			*to = c.Bool(name)
		}
	}
	for name, to := range map[string]*string{"log-level": &p.logLevel, "log-format": &p.logFormat} {
		if c.IsSet(name) {
			*to = c.String(name)
		}
	}
	if err := p.addModel(c.String("model-file")); err != nil {
		return err
	}
	level, err := zapcore.ParseLevel(p.logLevel)
	if err != nil {
		return run.UsageError("log_level", "Use debug, info, warn or error", "--log-level: %w", err)
	}
	if p.quiet {
		level = max(level, zapcore.ErrorLevel)
	}
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	encoders := map[string]zapcore.Encoder{"json": zapcore.NewJSONEncoder(encoder), "console": consoleEncoder()}
	chosen, ok := encoders[p.logFormat]
	if !ok {
		return run.UsageError("log_format", "Use console or json", "--log-format %q is unknown", p.logFormat)
	}
	p.log = zap.New(zapcore.NewCore(chosen, zapcore.AddSync(p.messages), level))
	return nil
}

// consoleEncoder writes the message alone, as a person wants to read it.
func consoleEncoder() zapcore.Encoder {
	e := zapcore.EncoderConfig{MessageKey: "msg", LevelKey: "level", EncodeLevel: shortLevel, ConsoleSeparator: " "}
	return zapcore.NewConsoleEncoder(e)
}

func shortLevel(l zapcore.Level, enc zapcore.PrimitiveArrayEncoder) {
	enc.AppendString(l.String() + ":")
}

func (p *program) noCommand(c *cli.Context) error {
	below, full := c.App.Commands, c.Args().First()
	if len(c.Command.Subcommands) > 0 && c.Command.Name != c.App.Name {
		below, full = c.Command.Subcommands, c.Command.Name+" "+full
	}
	if c.NArg() == 0 {
		return cli.ShowSubcommandHelp(c)
	}
	var names []string
	for _, command := range below {
		names = append(names, command.Name)
	}
	hint := "`mlperf-go help` lists the commands"
	if near := config.Nearest(c.Args().First(), names); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "? " + hint
	}
	return run.UsageError("unknown_command", hint, "the command %q is unknown", full)
}

// usageError turns the flag parser's words into ours, with the nearest flag.
func usageError(c *cli.Context, err error, _ bool) error {
	e := run.UsageError("flag", "`"+c.Command.HelpName+" --help` lists the flags", "%w", err)
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if !unknown {
		e.Err = wrongValue(c.Command.Flags, err)
		return e
	}
	e.Code, e.Err = "unknown_flag", fmt.Errorf("the flag -%s is unknown", name)
	var names []string
	for _, f := range c.Command.Flags {
		names = append(names, f.Names()...)
	}
	if near := config.Nearest(strings.TrimLeft(name, "-"), names); len(near) > 0 {
		e.Hint = "Did you mean --" + strings.Join(near, ", --") + "? " + e.Hint
	}
	return e
}

// The flag parser's words for a value that does not fit, and for one that is not there.
var (
	badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-+([^ :]+): .*$`)
	noValue  = regexp.MustCompile(`^flag needs an argument: -+(.*)$`)
)

// wrongValue says what kind of value a flag takes.
func wrongValue(flags []cli.Flag, err error) error {
	if m := noValue.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("--%s needs a value", m[1])
	}
	m := badValue.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	kind := "no value that fits"
	for _, f := range flags {
		if !slices.Contains(f.Names(), m[2]) {
			continue
		}
		switch f.(type) {
		case *cli.IntFlag, *cli.Int64Flag, *cli.Uint64Flag:
			kind = "no whole number"
		case *cli.Float64Flag:
			kind = "no number"
		case *cli.DurationFlag:
			kind = "no duration: write 90s, 10m, 1.5h or 250ms"
		case *cli.BoolFlag:
			kind = "neither true nor false"
		}
	}
	return fmt.Errorf("--%s %.100q is %s", m[2], m[1], kind)
}

// terminal says whether progress may be drawn in place.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// notice prints a line that a user should see once.
func (p *program) notice(lines ...string) {
	for _, l := range lines {
		p.log.Info(l)
	}
}
