package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/servers"
)

// settingFlags returns a command-line flag for each setting of a test.
func settingFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "YAML file of settings, named like the flags"},
	}
	for _, s := range config.RunSettings() {
		flags = append(flags, settingFlag(s, s.Name, s.Hidden))
		for _, a := range s.Aliases {
			flags = append(flags, settingFlag(s, a.Name, true))
		}
	}
	return flags
}

// settingFlagsOf returns the flags of a command whose folders in results/ are named differently from a run's, and that
// has its own default scenario; empty: the settings' default. accepted are its scenarios; none: all.
func settingFlagsOf(home, scenario string, accepted ...string) []cli.Flag {
	flags := settingFlags()
	for _, f := range flags {
		if f, ok := f.(*cli.StringFlag); ok {
			f.Usage = strings.Replace(f.Usage, "results/MODEL-SCENARIO-MODE", "results/"+home, 1)
			if f.Name == "scenario" && scenario != "" {
				f.DefaultText = scenario
			}
			if f.Name == "scenario" && len(accepted) > 0 {
				of := settingNamed(f.Name)
				of.Enum = accepted
				f.Usage = usageOf(of)
			}
		}
	}
	return flags
}

// usageOf returns a setting's help with its allowed values.
func usageOf(s config.Setting) string {
	if s.Kind == config.Enum {
		return s.Usage + " (" + strings.Join(s.Enum, ", ") + ")"
	}
	if s.Name == "backend" { // the drivers that this program registers
		return s.Usage + " (" + strings.Join(backends.Names(), ", ") + ")"
	}
	if s.Kind == config.Bool && s.Default == "true" {
		return s.Usage + "; turn off with --no-" + s.Name
	}
	return s.Usage
}

// settingFlag returns a flag that keeps its text as typed. Package config parses it and reports errors.
func settingFlag(s config.Setting, name string, hidden bool) cli.Flag {
	takesNone := s.Kind == config.Bool || isSwitch(s, name)
	switch {
	case takesNone:
		return &cli.BoolFlag{Name: name, Usage: usageOf(s), Category: s.Group, Hidden: hidden, DefaultText: s.Default}
	case s.Kind == config.Strings:
		return &cli.StringSliceFlag{Name: name, Usage: usageOf(s), Category: s.Group, Hidden: hidden}
	default:
		return &cli.StringFlag{Name: name, Usage: usageOf(s), Category: s.Group, Hidden: hidden, DefaultText: s.Default}
	}
}

func isSwitch(s config.Setting, name string) bool {
	for _, a := range s.Aliases {
		if a.Name == name {
			return a.Value != ""
		}
	}
	return false
}

// settings are the settings of a test, with the servers that they start.
type settings struct {
	*config.Effective
	servers      *servers.Plan // nil: no servers are to be started
	serverOrigin config.Origin // origin of the settings that the servers' file made
	engineArgs   []string      // arguments after --, for the engine of the servers
}

// testSettings reads the settings of a command whose arguments after -- belong to the servers' engine.
func (p *program) testSettings(c *cli.Context) (*settings, error) {
	s, err := settingsReader{p, c}.read()
	if err != nil {
		return nil, err
	}
	if s.serverOrigin.Where == "" && !(p.oldEngineArgs && s.IsSet("endpoint")) {
		return s, noArguments(c)
	}
	if s.servers == nil && c.NArg() > 0 {
		s.Note("the engine's arguments are ignored: with --endpoint the run starts no server")
	}
	return s, nil
}

// settingsReader reads the settings of a command of the program.
type settingsReader struct {
	*program
	c *cli.Context
}

// read applies the configuration file, the environment and the flags, in this order.
func (r settingsReader) read() (*settings, error) {
	c := r.c
	e := config.New(config.RunSettings())
	if path := c.String("config"); path != "" {
		if err := e.LoadYAMLFile(path); err != nil {
			return nil, exit.Usage(exit.CodeConfigFile,
				"Its keys are the flags of `mlperf-go run --help` without the leading dashes", "%w", err)
		}
	}
	if err := e.SetEnviron(r.environ, otherNames(c.App.Commands)...); err != nil {
		return nil, exit.Usage(exit.CodeEnvironment, "", "%w", err)
	}
	if err := setFlags(e, c); err != nil {
		return nil, err
	}
	if err := r.applyOld(e); err != nil {
		return nil, err
	}
	s, err := r.readServers(e)
	for _, row := range e.Table() {
		if row.Secret {
			r.secrets.Add(e.String(row.Name))
		}
	}
	return s, err
}

// applyOld applies the older harness's --debug-mode and --host.
func (r settingsReader) applyOld(e *config.Effective) error {
	for _, n := range r.oldNotes {
		e.Note(n)
	}
	if e.Bool("debug-mode") {
		r.logLevel = "debug"
		if err := r.setLog(); err != nil {
			return err
		}
	}
	if e.IsSet("server-config") || e.IsSet("model-path") {
		return nil // the servers' file supplies the ports
	}
	return e.ResolveHost()
}

// readServers plans the servers of --server-config or --model-path, unless an endpoint is given, and sets the client's
// settings for them.
func (r settingsReader) readServers(e *config.Effective) (*settings, error) {
	s := &settings{Effective: e, engineArgs: r.c.Args().Slice()}
	cfg, err := servers.ConfigFrom(e)
	if err != nil {
		return nil, serverError(exit.CodeServerConfig, err)
	}
	if cfg == nil {
		return s, nil
	}
	if !e.IsSet("endpoint") {
		if s.servers, err = r.planServers(r.c, e, cfg); err != nil {
			return nil, err
		}
	}
	if s.serverOrigin, err = cfg.Configure(e, s.servers); err != nil {
		return nil, serverError(exit.CodeServerConfig, err)
	}
	return s, nil
}

// setFlags applies the settings in the command line. If a value is wrong, the error contains the other mistakes too.
func setFlags(e *config.Effective, c *cli.Context) error {
	var list []error
	given := c.FlagNames() // c.IsSet looks through all flags each time
	for _, s := range e.Table() {
		for _, name := range s.Names() {
			if !slices.Contains(given, name) {
				continue
			}
			if err := setFlag(e, c, s, name); err != nil {
				list = append(list, exit.Usage(exit.CodeFlagValue, "", "%w", err))
			}
		}
	}
	if len(list) > 0 && !e.IsSet("server-config") && !e.IsSet("model-path") { // else a file may supply the rest
		list = append(list, plan.Mistakes(e)...)
	}
	return exit.Mistakes(list)
}

func setFlag(e *config.Effective, c *cli.Context, s config.Setting, name string) error {
	from := config.Origin{Layer: config.FromFlag, Where: "--" + name}
	switch {
	case isSwitch(s, name), s.Kind == config.Bool:
		return e.Set(name, strconv.FormatBool(c.Bool(name)), from)
	case s.Kind == config.Strings:
		return e.SetList(name, c.StringSlice(name), from)
	default:
		return e.Set(name, c.String(name), from)
	}
}

// cutFlag splits --name=value.
func cutFlag(arg string) (name, value string, inline bool) {
	name, value, inline = strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name, value, inline
}
