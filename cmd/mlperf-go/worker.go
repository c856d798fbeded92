package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/parcel"
	"github.com/mlperf-go/mlperf-go/internal/worker"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// workerCommand is the part of the Kubernetes launcher that runs inside a pod. Only the launcher calls it.
type workerCommand struct{ *program }

func (cmd workerCommand) command() *cli.Command {
	results := &cli.StringFlag{Name: "results", Usage: "folder of the results", Required: true}
	return &cli.Command{
		Name: "worker", Usage: "run a command of this program in a pod, and send its results", Hidden: true,
		Subcommands: []*cli.Command{
			{Name: "run", Usage: "run the command after --, and keep its results", ArgsUsage: "-- COMMAND...",
				OnUsageError: usageError, Flags: []cli.Flag{results,
					durationFlag(cli.GenericFlag{Name: "hold", Usage: "how long to keep the results for `worker release`"}, 0)},
				Action: cmd.run},
			{Name: "send", Usage: "wait for the end, then write the results to standard output", OnUsageError: usageError,
				Description: "Standard input lists the files that the receiver has: {\"have\": [{\"path\", \"size\", " +
					"\"sha256\"}]}.",
				Flags: []cli.Flag{results}, Action: cmd.send},
			{Name: "release", Usage: "end the wait of `worker run`", OnUsageError: usageError, Flags: []cli.Flag{results},
				Action: func(c *cli.Context) error { return worker.Release(c.String("results")) }},
			{Name: "list", Usage: "print the folders of results of a volume as JSON", OnUsageError: usageError,
				Flags: []cli.Flag{results}, Action: func(c *cli.Context) error {
					list, err := worker.List(c.String("results"))
					if err != nil {
						return err
					}
					return json.NewEncoder(os.Stdout).Encode(list)
				}},
			{Name: "connect", Usage: "connect standard input and output to a Unix socket", ArgsUsage: "SOCKET",
				OnUsageError: usageError, Action: cmd.connect},
		},
	}
}

func (cmd workerCommand) run(c *cli.Context) error {
	if c.NArg() == 0 {
		return exit.Usage(exit.CodeArgument, "Write `mlperf-go worker run --results DIR -- run --model ...`",
			"no command was given")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	order := worker.Order{Folder: c.String("results"), Command: append([]string{self}, c.Args().Slice()...),
		Hold: c.Duration("hold")}
	code, err := worker.Run(c.Context, order, os.Stdout, os.Stderr)
	cmd.exit = code // the command has printed the reason
	return err
}

// maxHave bounds what a receiver may send: 100,000 files of 300 bytes.
const maxHave = 32 << 20

func (cmd workerCommand) send(c *cli.Context) error {
	var request struct {
		Have []parcel.File `json:"have"`
	}
	if err := json.NewDecoder(io.LimitReader(os.Stdin, maxHave)).Decode(&request); err != nil {
		return exit.Usage(exit.CodeArgument, "Give {} for none", "reading the list of files on standard input: %w", err)
	}
	folder := c.String("results")
	if _, err := worker.Await(c.Context, folder); err != nil {
		return fmt.Errorf("waiting for the end of the command: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return parcel.Send(os.Stdout, root, request.Have)
}

func (cmd workerCommand) connect(c *cli.Context) error {
	if c.NArg() != 1 {
		return exit.Usage(exit.CodeArgument, "Write `mlperf-go worker connect SOCKET`", "this command requires one socket")
	}
	return worker.Connect(c.Context, c.Args().First(), os.Stdin, os.Stdout)
}
