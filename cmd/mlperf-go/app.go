package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/contract"
)

// globalFlags returns the flags that are accepted before and after the command's name.
func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log-level", Usage: "lowest level of log lines: debug, info, warn or error",
			EnvVars:  []string{"MLPERF_GO_LOG_LEVEL"},
			Category: globalGroup, DefaultText: "info"},
		&cli.StringFlag{Name: "log-format", Usage: "format of log lines: console or json",
			EnvVars:  []string{"MLPERF_GO_LOG_FORMAT"},
			Category: globalGroup, DefaultText: "console"},
		&cli.BoolFlag{Name: "quiet", Usage: "print errors and the verdict line only",
			EnvVars: []string{"MLPERF_GO_QUIET"}, Category: globalGroup},
		&cli.BoolFlag{Name: "no-progress", Usage: "print no progress", EnvVars: []string{"MLPERF_GO_NO_PROGRESS"},
			Category: globalGroup},
		&cli.StringFlag{Name: "model-file", Usage: "YAML file that defines an additional benchmark",
			EnvVars: []string{modelFileEnv}, Category: globalGroup},
		&cli.BoolFlag{Name: "json", Usage: "print the result as one JSON object on stdout",
			EnvVars:  []string{"MLPERF_GO_JSON"},
			Category: globalGroup},
	}
}

const globalGroup = "Global"

// modelFileEnv passes --model-file to the processes that this one starts.
const modelFileEnv = "MLPERF_GO_MODEL_FILE"

// addModel adds the benchmark of a model file to the registry, once, and passes the file on to child processes.
func (p *program) addModel(path string) error {
	if path == "" {
		return nil
	}
	whole, err := filepath.Abs(path)
	if err != nil || whole == p.modelFile {
		return err
	}
	if _, err := models.AddFile(whole); err != nil {
		return exit.Usage(exit.CodeModelFile, "", "%w", err)
	}
	p.modelFile = whole
	p.environ = append(slices.Clone(p.environ), modelFileEnv+"="+whole)
	return os.Setenv(modelFileEnv, whole)
}

// withGlobals adds the global flags to every subcommand.
func (p *program) withGlobals(commands []*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Flags = append(c.Flags, globalFlags()...)
		c.Before, c.HideHelp = p.before, true
		withEnviron(c)
		withRequired(c)
		withoutFlagActions(c)
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

// withRequired reports missing required flags in one paragraph. The flag parser would print the whole help first.
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
				return usageError(of, fmt.Errorf("no --%s given", name), false)
			}
		}
		return action(of)
	}
}

// withoutFlagActions spares a command the parser's search for flags with actions, which are not used here. For each
// flag it looks through all flags, with an expression for every name: 4 ms of a start.
func withoutFlagActions(c *cli.Command) {
	if c.Action == nil {
		return
	}
	flags, before, action := c.Flags, c.Before, c.Action
	c.Before = func(of *cli.Context) error {
		err := before(of)
		if err == nil {
			c.Flags = nil
		}
		return err
	}
	c.Action = func(of *cli.Context) error {
		c.Flags = flags
		return action(of)
	}
}

func (p *program) app() *cli.App {
	return &cli.App{
		Name: "mlperf-go", HelpName: "mlperf-go", Usage: "run MLPerf Inference tests of large language model servers " +
			"with the official LoadGen",
		Writer: p.stdout, ErrWriter: p.messages,
		HideVersion: true, HideHelp: true, Suggest: true, UseShortOptionHandling: false,
		Flags:  globalFlags(),
		Before: p.before,
		Commands: p.withGlobals([]*cli.Command{
			runCommand{p}.command(), submissionCommand{p}.command(), complianceCommand{p}.command(),
			accuracyCommand{p}.command(), showCommand{p}.command(), preflightCommand{p}.command(),
			tuneCommand{p}.command(), sweepCommand{p}.command(), experimentCommand{p}.command(),
			serverCommand{p}.command(), simCommand{p}.command(), datasetCommand{p}.command(), modelsCommand{p}.command(),
			metricsCommand{p}.command(), reportCommand{p}.command(), compareCommand{p}.command(),
			benchCommand{p}.command(), calibrateCommand{p}.command(), nopCommand{p}.command(), kubeCommand{p}.command(),
			workerCommand{p}.command(), versionCommand{p}.command(), completionCommand{p}.command(),
			helpCommand{p}.command(),
		}),
		ExitErrHandler: func(*cli.Context, error) {}, // mainCode handles errors
		OnUsageError:   usageError,
		Action:         p.noCommand,
	}
}

// before runs for the program and again for each command, so that a flag after the command's name takes precedence.
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
	return p.setLog()
}

func (p *program) noCommand(c *cli.Context) error {
	below, full := c.App.Commands, c.Args().First()
	if len(c.Command.Subcommands) > 0 && c.Command.Name != c.App.Name {
		below, full = c.Command.Subcommands, c.Command.Name+" "+full
	}
	if c.NArg() == 0 || c.Args().First() == "help" {
		words := strings.Fields(strings.TrimPrefix(c.Command.HelpName, c.App.Name))
		return p.helpFor(c.App, append(words, c.Args().Tail()...))
	}
	return unknownCommand(below, full)
}

// unknownCommand reports that the last word names no command, and suggests similar ones.
func unknownCommand(below []*cli.Command, words string) error {
	var names []string
	for _, command := range below {
		names = append(names, command.Name)
	}
	hint := "`mlperf-go help` lists the commands"
	if near := config.Nearest(words[strings.LastIndex(words, " ")+1:], names); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "? " + hint
	}
	return exit.Usage(exit.CodeUnknownCommand, hint, "unknown command %q", words)
}

// usageError rewords an error of the flag parser and suggests the nearest flags.
func usageError(c *cli.Context, err error, _ bool) error {
	e := exit.Usage(exit.CodeFlag, "`"+c.Command.HelpName+" --help` lists the flags", "%w", err)
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if !unknown {
		e.Err = wrongValue(c.Command.Flags, err)
		return e
	}
	if name = strings.TrimLeft(name, "-"); len(name) > 1 {
		name = "-" + name
	}
	e.Code, e.Err = exit.CodeUnknownFlag, fmt.Errorf("unknown flag -%s", name)
	var names, below []string
	for _, f := range c.Command.Flags {
		names = append(names, f.Names()...)
	}
	for _, sub := range c.Command.Subcommands {
		if flagNamed(sub.Flags, strings.TrimLeft(name, "-")) != nil {
			below = append(below, "`"+c.Command.HelpName+" "+sub.Name+"`")
		}
	}
	if len(below) > 0 {
		e.Hint = "It is a flag of " + strings.Join(below, " and ") + ": name the command before its flags"
		return e
	}
	if remedy := contract.Remedy(name); remedy != "" && strings.HasPrefix(c.Command.HelpName, "mlperf-go bench ") {
		e.Hint = remedy
		return e
	}
	if near := config.Nearest(strings.TrimLeft(name, "-"), names); len(near) > 0 {
		e.Hint = "Did you mean --" + strings.Join(near, ", --") + "? " + e.Hint
	}
	return e
}

// The flag parser's messages for an invalid and for a missing value.
var (
	badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-+([^ :]+): .*$`)
	noValue  = regexp.MustCompile(`^flag needs an argument: -+(.*)$`)
)

// wrongValue rewords an error about a flag's value: it names the kind of value that the flag accepts.
func wrongValue(flags []cli.Flag, err error) error {
	if m := noValue.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("--%s requires a value", m[1])
	}
	m := badValue.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	kind := "not a valid value"
	for _, f := range flags {
		if !slices.Contains(f.Names(), m[2]) {
			continue
		}
		switch f.(type) {
		case *cli.IntFlag, *cli.Int64Flag, *cli.Uint64Flag:
			kind = "not a whole number"
		case *cli.Float64Flag:
			kind = "not a number"
		case *cli.GenericFlag:
			return fmt.Errorf("--%s %.100q %s", m[2], m[1], config.NotDuration)
		case *cli.BoolFlag:
			kind = "neither true nor false"
		}
	}
	return fmt.Errorf("--%s %.100q is %s", m[2], m[1], kind)
}
