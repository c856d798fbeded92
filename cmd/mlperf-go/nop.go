package main

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
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
	return r.WriteText(cmd.stdout)
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
	return atomicfile.Write(filepath.Join(folder, "categories.log"), r.WriteText)
}
