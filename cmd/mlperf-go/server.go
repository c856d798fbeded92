package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
)

// serverCommand starts, shows and ends inference servers.
type serverCommand struct{ *program }

func (cmd serverCommand) command() *cli.Command {
	placed := serverFlags()
	file := placed[:2]
	command := func(name, usage, args string, flags []cli.Flag, do func(*cli.Context) error) *cli.Command {
		return &cli.Command{Name: name, Usage: usage, ArgsUsage: args, Flags: slices.Clone(flags),
			Action: do, OnUsageError: usageError}
	}
	const engineArgs = "[-- ENGINE ARGUMENTS]"
	return &cli.Command{
		Name: "server", Usage: "start and supervise inference servers",
		Subcommands: []*cli.Command{
			command("up", "start the servers and supervise them until a signal arrives", engineArgs, upFlags(), cmd.up),
			command("down", "stop the servers that `server up` started", "", file, cmd.down),
			command("status", "show the state of the servers; exit code 0 if all are ready", "", file, cmd.status),
			command("plan", "print what `server up` would start", engineArgs, placed, cmd.plan),
		},
	}
}

// serverFlags returns the flags that select servers; the first two also find running servers.
func serverFlags() []cli.Flag {
	var flags []cli.Flag
	for _, name := range servers.SettingNames {
		flags = append(flags, runSetting(name))
	}
	return flags
}

// upFlags adds the flags of the page.
func upFlags() []cli.Flag {
	return append(serverFlags(), runSetting("live"), runSetting("live-control"))
}

// runSetting returns the flag of a test's setting for another command.
func runSetting(name string) cli.Flag {
	s, _, err := config.RunSettings().Find(name)
	if err != nil {
		panic(err) // the name is a constant
	}
	return settingFlag(*s, name, false)
}

// serverError adds the exit code to an error about servers: usage for files and flags, environment for the machine.
func serverError(code exit.Code, err error) error {
	status := run.ExitEnvironment
	if code == exit.CodeServerConfig && !errors.Is(err, servers.ErrGPUs) {
		status = run.ExitUsage
	}
	return &run.Error{Exit: status, Code: code, Err: err}
}

// planServers plans the servers to start. The arguments after -- belong to the engine.
func (p *program) planServers(c *cli.Context, e *config.Effective, cfg *servers.Config) (*servers.Plan, error) {
	if err := dashedArguments(c); err != nil {
		return nil, err
	}
	plan, err := servers.PlanFrom(e, cfg, c.Args().Slice(), p.environ, p.secrets)
	if err != nil {
		return nil, serverError(exit.CodeServerConfig, err)
	}
	return plan, nil
}

func dashedArguments(c *cli.Context) error {
	first := c.Args().First()
	if c.NArg() == 0 || strings.HasPrefix(first, "-") {
		return nil
	}
	return exit.Usage(exit.CodeArgument, "Arguments of the engine follow -- and begin with a dash; pass the file with "+
		"--server-config", "%q is not an argument of an engine", first)
}

// serverSettings returns the settings of flags, and the servers that they select; nil: none.
func serverSettings(c *cli.Context, flags []cli.Flag) (*config.Effective, *servers.Config, error) {
	if err := dashedArguments(c); err != nil {
		return nil, nil, err
	}
	e, err := flagSettings(c, flags)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := servers.ConfigFrom(e)
	if err != nil {
		return nil, nil, serverError(exit.CodeServerConfig, err)
	}
	return e, cfg, nil
}

// flagSettings returns the settings of flags of runSetting.
func flagSettings(c *cli.Context, flags []cli.Flag) (*config.Effective, error) {
	e := config.New(config.RunSettings())
	for _, f := range flags {
		s, _, err := e.Table().Find(f.Names()[0])
		if err == nil && c.IsSet(s.Name) {
			err = setFlag(e, c, *s, s.Name)
		}
		if err != nil {
			return nil, exit.Usage(exit.CodeFlagValue, "", "%w", err)
		}
	}
	return e, nil
}

// planOnly plans servers for the commands that run no test.
func (cmd serverCommand) planOnly(c *cli.Context, flags []cli.Flag) (*servers.Plan, *config.Effective, error) {
	e, cfg, err := serverSettings(c, flags)
	if err != nil {
		return nil, nil, err
	}
	if cfg == nil {
		return nil, nil, exit.Usage(exit.CodeServerConfig,
			"Give a YAML file with backend and model, or the folder of a model; docs/how-to/servers.md shows both",
			"neither --server-config nor --model-path given")
	}
	plan, err := cmd.planServers(c, e, cfg)
	return plan, e, err
}

// planColumn is the usual second column in the table of a plan.
const planColumn = 20

func (cmd serverCommand) plan(c *cli.Context) error {
	plan, _, err := cmd.planOnly(c, serverFlags())
	if err != nil {
		return err
	}
	plan = plan.Shown()
	if cmd.json {
		cmd.writeJSON(plan)
		return nil
	}
	w := cmd.out.table()
	fmt.Fprintf(w, "backend\t%s\nmodel\t%s\nfolder\t%s\n", plan.Backend, plan.Model, plan.Dir)
	for _, n := range plan.Notes {
		fmt.Fprintf(w, "note\t%s\n", n)
	}
	for _, r := range plan.Replicas {
		w.row(fmt.Sprintf("replica %d", r.Index), r.URL)
		label := "  command"
		for _, l := range shellLines(servers.Quote(r.Command...), cmd.out.width-planColumn) {
			w.row(label, l)
			label = ""
		}
		w.row("  log", r.Log)
		for _, name := range slices.Sorted(maps.Keys(r.Env)) {
			fmt.Fprintf(w, "  %s\t%s\n", name, r.Env[name])
		}
	}
	w.Flush()
	return nil
}

func (cmd serverCommand) up(c *cli.Context) error {
	plan, e, err := cmd.planOnly(c, upFlags())
	if err != nil {
		return err
	}
	fleet, err := cmd.startServers(c.Context, plan)
	if err != nil {
		return err
	}
	urls := strings.Join(fleet.URLs(), ",")
	if cmd.json {
		cmd.writeJSON(map[string]any{"urls": fleet.URLs(), "model": plan.Served,
			"state": filepath.Join(plan.Dir, servers.StateName)})
	} else {
		fmt.Fprintln(cmd.stdout, urls)
	}
	cmd.notice("serving " + plan.Served + " until SIGINT, SIGTERM or `mlperf-go server down --server-dir " +
		servers.Quote(plan.Dir) + "`")
	ctx, page, err := cmd.showFleet(c.Context, e, fleet, plan)
	if err != nil {
		return errors.Join(err, fleet.Stop())
	}
	err = errors.Join(fleet.Wait(ctx), fleet.Stop())
	page.end(err)
	if err != nil {
		return serverError(exit.CodeServerDied, err)
	}
	return nil // servers end by a signal
}

// serverState returns the folder of the servers' state.
func serverState(c *cli.Context) (dir string, err error) {
	if err := noArguments(c); err != nil {
		return "", err
	}
	dir = c.String("server-dir")
	if path := c.String("server-config"); dir == "" && path != "" {
		cfg, err := servers.Load(path)
		if err != nil {
			return "", serverError(exit.CodeServerConfig, err)
		}
		dir = cfg.OutputDir
	}
	if dir == "" {
		return "", exit.Usage(exit.CodeServerConfig,
			"Pass the --server-config or --server-dir that `mlperf-go server up` used", "no servers specified")
	}
	return dir, nil
}

func noServers(dir string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return exit.Environment(exit.CodeNoServers,
			"Start them with `mlperf-go server up`, or pass the --server-dir that it "+
				"used", "no servers were started in %s: %w", dir, err)
	}
	return serverError(exit.CodeServerState, err)
}

func (cmd serverCommand) down(c *cli.Context) error {
	dir, err := serverState(c)
	if err != nil {
		return err
	}
	state, err := servers.Down(dir)
	if err != nil {
		return noServers(dir, err)
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"ended": len(state.Replicas)})
		return nil
	}
	fmt.Fprintf(cmd.stdout, "stopped %s of %s\n", plural.Count(len(state.Replicas), "server", "servers"), dir)
	return nil
}

func (cmd serverCommand) status(c *cli.Context) error {
	dir, err := serverState(c)
	if err != nil {
		return err
	}
	state, err := servers.ReadState(dir)
	if err != nil {
		return noServers(dir, err)
	}
	if !state.AllReady() {
		cmd.exit = run.ExitEnvironment
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"running": state.Running(), "ready": state.AllReady(), "servers": state})
		return nil
	}
	w := cmd.out.table()
	if state.Running() {
		fmt.Fprintf(w, "supervisor\tprocess %d since %s\n", state.Supervisor.PID, state.Started.Format("2006-01-02 15:04:05"))
	} else {
		fmt.Fprintf(w, "supervisor\tnot running; its last observations follow\n")
	}
	for _, r := range state.Replicas {
		fmt.Fprintf(w, "replica %d\t%s\t%s\tprocess %d\tunhealthy %s\t%s\n", r.Index, r.URL, r.Health, r.Leader.PID,
			plural.Count(r.Unhealthy, "time", "times"), r.Exit)
	}
	w.Flush()
	return nil
}
