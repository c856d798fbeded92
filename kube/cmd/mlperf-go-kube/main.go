// Command mlperf-go-kube runs workloads on a Kubernetes cluster. `mlperf-go kube` starts it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/urfave/cli/v2"
	"k8s.io/klog/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/objectstore"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/interrupt"
)

func main() { os.Exit(mainCode(os.Args, os.Stdout, os.Stderr)) }

// program contains the environment that all commands share.
type program struct {
	stdout, stderr io.Writer
	json, quiet    bool
	args           []string           // of the command line
	exit           int                // of a command that ended without an error
	store          *objectstore.Store // of --upload; nil: nothing is sent
}

func mainCode(args []string, stdout, stderr io.Writer) int {
	// client-go logs dropped connections there, which this program continues by itself
	klog.SetLogger(klog.Logger{})
	p := &program{stdout: stdout, stderr: stderr, args: args}
	ctx, stop := interrupt.Context(func() {}, func(i exit.Interrupt) { os.Exit(i.ExitCode()) }, syscall.SIGINT,
		syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	app := p.app()
	args = splitCampaign(app, args)
	err := missingValue(app, args)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	if err == nil {
		return p.exit
	}
	if i, ok := errors.AsType[exit.Interrupt](context.Cause(ctx)); ok {
		err = fmt.Errorf("%w: %w", i, err)
	}
	return p.report(exit.Classify(err))
}

func (p *program) app() *cli.App {
	app := &cli.App{
		Name: "mlperf-go-kube", HelpName: "mlperf-go kube", Usage: "run workloads on a Kubernetes cluster",
		Writer: p.stdout, ErrWriter: p.stderr, HideVersion: true, Suggest: true,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print the result as one JSON object", Destination: &p.json},
			&cli.BoolFlag{Name: "quiet", Usage: "print no progress", Destination: &p.quiet},
		},
		Commands: []*cli.Command{runCommand{p}.command(), submissionCommand{p}.command(), collectCommand{p}.command(),
			serverCommand{p}.command(), nopCommand{p}.command(), rightsCommand{p}.command()},
		ExitErrHandler: func(*cli.Context, error) {}, // mainCode handles errors
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return exit.Usage("usage", "`mlperf-go kube help` lists commands and flags", "%w", err)
		},
	}
	for _, c := range app.Commands {
		for _, c := range append(c.Subcommands, c) {
			refuseWords(c)
		}
	}
	return app
}

// refuseWords makes a command that has flags only reject other words. The parser would ignore them and all flags behind
// them.
func refuseWords(c *cli.Command) {
	action := c.Action
	if action == nil || c.ArgsUsage != "" {
		return
	}
	c.Action = func(ctx *cli.Context) error {
		if ctx.NArg() > 0 {
			return exit.Usage(exit.CodeArgument, "It accepts only flags: write --FLAG=VALUE, and lists without spaces, as in "+
				"--overrides A=1,B=2", "unexpected argument %q of %s", ctx.Args().First(), c.Name)
		}
		return action(ctx)
	}
}

// missingValue reports a flag without its value, which the flag parser would not notice.
func missingValue(app *cli.App, args []string) error {
	known := slices.Clone(app.Flags)
	for _, c := range app.Commands {
		known = append(known, c.Flags...)
		for _, sub := range c.Subcommands {
			known = append(known, sub.Flags...)
		}
	}
	err := config.MissingValue(args[min(1, len(args)):], func(name string) (isKnown, takes bool) {
		i := slices.IndexFunc(known, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if i < 0 {
			return false, false
		}
		_, isSwitch := known[i].(*cli.BoolFlag)
		return true, !isSwitch
	})
	if err != nil {
		return exit.Usage(exit.CodeFlag, "", "%w", err)
	}
	return nil
}

// notify prints a sentence about the progress.
func (p *program) notify(text string) {
	if !p.quiet {
		fmt.Fprintln(p.stderr, foreign.Line(text, 1000))
	}
}

// report prints an error and returns its exit code.
func (p *program) report(e *exit.Error) int {
	if p.json {
		p.print(map[string]any{"error": map[string]any{"code": e.Code, "message": e.Err.Error(), "hint": e.Hint}})
	}
	fmt.Fprintln(p.stderr, "mlperf-go kube: "+foreign.Lines(e.Error(), 4000))
	return e.Exit
}

func (p *program) print(v any) {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		fmt.Fprintln(p.stderr, "mlperf-go kube: writing the result:", err)
	}
}
