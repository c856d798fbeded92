package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/startup"
)

// nopCommand reports the start of a server from its log, and sends nothing.
type nopCommand struct{ *program }

func (cmd nopCommand) command() *cli.Command {
	return &cli.Command{
		Name: "nop", Usage: "report how long a server's start took, from its log", ArgsUsage: "LOG",
		OnUsageError: usageError, Action: cmd.do,
		Description: "Reads the log of vLLM (VLLM_LOGGING_LEVEL=DEBUG) or SGLang; - is the standard input.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "server", Usage: "whose log it is: vllm or sglang; default: by its lines"},
			&cli.StringFlag{Name: "start", Usage: "when the server was started, as 2006-01-02T15:04:05Z; it decides the year"},
			&cli.StringFlag{Name: "output", Usage: "folder for result.yaml and categories.log"},
		},
	}
}

func (cmd nopCommand) do(c *cli.Context) error {
	if c.NArg() != 1 {
		return exit.Usage(exit.CodeArgument, "Write `mlperf-go nop server.log`", "this command requires one log")
	}
	o := startup.Options{Server: c.String("server")}
	if text := c.String("start"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return exit.Usage(exit.CodeFlagValue, "Write it as 2006-01-02T15:04:05Z", "--start %.60q is not a time", text)
		}
		o.Start = at
	}
	name := c.Args().First()
	var in io.Reader = os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return exit.Usage(exit.CodeLog, "Give a readable log", "%w", err)
		}
		defer f.Close()
		in = f
	}
	r, err := startup.Parse(name, in, o)
	if err != nil {
		return exit.Usage(exit.CodeLog, "", "%w", err)
	}
	if err := cmd.write(c.String("output"), r); err != nil {
		return exit.Environment(exit.CodeOutput, "Choose another --output", "the report cannot be written: %w", err)
	}
	if cmd.json {
		cmd.writeJSON(r)
		return nil
	}
	cmd.notice(r.Notes...)
	printStart(cmd.out, r)
	return nil
}

// write keeps the report as the files of the nop harness.
func (cmd nopCommand) write(folder string, r *startup.Report) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, atomicfile.Shared.Folder()); err != nil {
		return err
	}
	text, err := yaml.Marshal(r.Result())
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(folder, "result.yaml"), text); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(folder, "categories.log"), func(w io.Writer) error {
		printStart(page{to: w}, r)
		return nil
	})
}

func printStart(out page, r *startup.Report) {
	t := out.table()
	for _, x := range []struct {
		name  string
		value float64
		unit  string
	}{
		{"start to ready", r.Elapsed(), "s"}, {"load", r.Engine.Load.Time, "s"}, {"size", r.Engine.Load.Size, "GiB"},
		{"transfer rate", r.Engine.Load.Rate, "GiB/s"}, {"dynamo", r.Engine.Dynamo, "s"},
		{"load cached graph", r.Engine.CachedGraph, "s"}, {"compile graph", r.Engine.CompileGraph, "s"},
		{"torch.compile", r.Engine.Compile, "s"}, {"init engine", r.Engine.InitEngine, "s"},
		{"free memory at first", r.Engine.Memory.InitialFree, "GiB"},
		{"free after profiling", r.Engine.Memory.AfterFree, "GiB"}, {"memory profiling", r.Engine.Memory.Time, "s"},
	} {
		if x.value > 0 {
			t.row(x.name, fmt.Sprintf("%.3f %s", x.value, x.unit))
		}
	}
	for _, s := range r.Sleeps {
		t.row(s.Type, fmt.Sprintf("%.3f s, %.3f GiB freed, %.3f GiB in use", s.Time, s.Freed, s.InUse))
	}
	t.Flush()
	for _, p := range r.Processes {
		out.line("\n%s (process %d)", foreign.Line(p.Name, 64), p.PID)
		t := out.table()
		categoryRows(t, p.Categories, "")
		t.Flush()
	}
}

func categoryRows(t *table, list []startup.Category, indent string) {
	for _, c := range list {
		t.row(indent+c.Title, fmt.Sprintf("%.3f s", c.Elapsed))
		categoryRows(t, c.Categories, indent+strings.Repeat(" ", 2))
	}
}
