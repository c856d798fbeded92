package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/startup"
)

// nopCommand reports the start of a server from its log. It sends no load.
type nopCommand struct{ *program }

func (cmd nopCommand) command() *cli.Command {
	return &cli.Command{
		Name: "nop", Usage: "report how long a server's start took, from its log", ArgsUsage: "LOG",
		OnUsageError: usageError, Action: cmd.do,
		Description: "Reads the log of vLLM (VLLM_LOGGING_LEVEL=DEBUG) or SGLang; - is the standard input.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "server", Usage: "server that wrote the log: vllm or sglang; default: detected from its " +
				"lines"},
			&cli.StringFlag{Name: "start", Usage: "time at which the server was started, as 2006-01-02T15:04:05Z; also sets " +
				"the year if the log has none"},
			&cli.StringFlag{Name: "endpoint-url", Aliases: []string{"U"}, Usage: "base URL of the server: if it has " +
				"sleep mode and its log shows no sleep yet, it is put to sleep and woken"},
			&cli.StringFlag{Name: "output", Usage: "folder for result.yaml, categories.log and llm-d-benchmark's report v0.1"},
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
	name, server := c.Args().First(), c.String("endpoint-url")
	if name == "-" && server != "" {
		return exit.Usage(exit.CodeArgument, "Give the log as a file", "--endpoint-url needs a log that can be read again")
	}
	r, err := cmd.parse(name, o)
	cycles := err == nil && server != "" && r.NeedsCycle()
	if cycles {
		r, err = cmd.cycle(c.Context, server, name, o)
	}
	if err != nil {
		return err
	}
	if server != "" && !cycles {
		why := "the log shows no sleep mode"
		if r.SleepMode {
			why = "the log shows a sleep and a wake-up already"
		}
		r.Notes = append(r.Notes, fmt.Sprintf("%s was not asked (--endpoint-url): %s", server, why))
	}
	if err := cmd.write(c.String("output"), r); err != nil {
		return exit.Environment(exit.CodeOutput, "Choose another --output", "the report cannot be written: %w", err)
	}
	if cmd.json {
		cmd.writeJSON(r)
		return nil
	}
	cmd.notice(r.Notes...)
	return r.WriteText(cmd.stdout)
}

// parse reads a log, or the standard input.
func (cmd nopCommand) parse(name string, o startup.Options) (*startup.Report, error) {
	var in io.Reader = os.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, exit.Usage(exit.CodeLog, "Give a readable log", "%w", err)
		}
		defer f.Close()
		in = f
	}
	r, err := startup.Parse(name, in, o)
	if err != nil {
		hint := ""
		if errors.Is(err, syscall.EISDIR) {
			hint = "Give the file that has the server's output"
		}
		return nil, exit.Usage(exit.CodeLog, hint, "%w", err)
	}
	return r, nil
}

// cycle puts the server to sleep, wakes it, and reads its log again until both are in the log.
func (cmd nopCommand) cycle(ctx context.Context, server, name string, o startup.Options) (*startup.Report, error) {
	base, err := backends.ParseEndpoint(server)
	if err != nil {
		return nil, exit.Usage(exit.CodeEndpoint, "Write --endpoint-url http://host:port", "%w", err)
	}
	if err := startup.MeasureSleep(ctx, base.URL); err != nil {
		return nil, exit.Environment(exit.CodeEndpoint, "Leave --endpoint-url out to report only the start",
			"the sleep mode of %s cannot be measured: %w", server, err)
	}
	return startup.AwaitCycle(ctx, func() (*startup.Report, error) { return cmd.parse(name, o) })
}

// write writes the report as the files of the nop harness.
func (cmd nopCommand) write(folder string, r *startup.Report) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, atomicfile.Shared.Folder()); err != nil {
		return err
	}
	report, err := r.LDB()
	if err != nil {
		return err
	}
	for name, document := range map[string]any{"result.yaml": r.Result(), startup.LDBName: report} {
		text, err := yaml.Marshal(document)
		if err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(filepath.Join(folder, name), text); err != nil {
			return err
		}
	}
	return atomicfile.Write(filepath.Join(folder, "categories.log"), r.WriteText)
}
