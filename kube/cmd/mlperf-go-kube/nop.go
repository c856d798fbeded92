package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/kube/serve"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
)

// nopCommand reports how long the start of a server in a pod takes.
type nopCommand struct{ *program }

// standalone are the variables of llm-d-benchmark's standalone pod, in both generations of their names.
func standalone(name string) []string {
	return []string{"LLMDBENCH_VLLM_COMMON_" + name, "LLMDBENCH_VLLM_STANDALONE_" + name}
}

func (cmd nopCommand) command() *cli.Command {
	return &cli.Command{
		Name: "nop", Usage: "start a server in a pod, report how long its start took, and remove it",
		ArgsUsage: "[-- ENGINE ARGUMENTS]",
		Flags: append(append(serverAccess(), serverFlags()...),
			&cli.StringFlag{Name: "output", Aliases: []string{"r"}, Usage: "local folder of the report",
				Value: "results/kube"},
			&cli.StringFlag{Name: "load-format", EnvVars: standalone("VLLM_LOAD_FORMAT"), Usage: "format of the weights: " +
				"safetensors, tensorizer, runai_streamer, fastsafetensors or another one of the engine; default: the file's"},
			&cli.StringFlag{Name: "logging-level", EnvVars: standalone("VLLM_LOGGING_LEVEL"), Value: "DEBUG",
				Usage: "log level of the engine; with a higher one than DEBUG most categories are missing"},
			&cli.StringFlag{Name: "preprocess", EnvVars: []string{"LLMDBENCH_VLLM_STANDALONE_PREPROCESS"},
				Usage: "shell command that runs in the pod before the server, after pre_start"},
			&cli.BoolFlag{Name: "sleep-mode", EnvVars: []string{"LLMDBENCH_VLLM_COMMON_ENABLE_SLEEP_MODE"},
				Usage: "start vLLM with its sleep mode; the report contains how long it takes to fall asleep and to wake up"}),
		Action: cmd.run,
	}
}

func (cmd nopCommand) run(c *cli.Context) error {
	file, err := serverFile(c)
	if err != nil {
		return err
	}
	if format := c.String("load-format"); format != "" {
		file.LoadFormat = format
	}
	file.LoggingLevel = c.String("logging-level")
	if command := c.String("preprocess"); command != "" {
		file.PreStart = append(file.PreStart, command)
	}
	if c.Bool("sleep-mode") {
		if err := addSleepMode(file); err != nil {
			return err
		}
	}
	s, err := serverCommand(cmd).serverOf(c, file)
	if err != nil {
		return err
	}
	if !c.IsSet("name") {
		s.Name += "-nop" // a server of the plain name may be running
	}
	if !c.IsSet("replicas") {
		s.Replicas = 1
	}
	if s.Replicas != 1 {
		return exit.Usage(exit.CodeUsage, "Leave --replicas out", "the start of one pod is reported, not of %d", s.Replicas)
	}
	if c.Bool("dry-run") {
		return cmd.printObjects(s.Objects())
	}
	o := serve.NopOptions{Options: serve.Options{Server: *s, Keep: c.Bool("keep"), Notify: cmd.notify},
		LoadFormat: file.LoadFormat, Folder: c.String("output")}
	if o.Wait, err = duration(c, "wait-timeout"); c.IsSet("wait-timeout") && err != nil {
		return err
	}
	access, err := connect(c)
	if err != nil {
		return err
	}
	if file.Backend == "vllm" || file.Backend == "sglang" {
		o.Engine = file.Backend
	}
	r, err := serve.Nop(c.Context, access, o)
	if err != nil {
		return err
	}
	for _, note := range r.Notes {
		cmd.notify(note)
	}
	if cmd.json {
		cmd.print(r)
		return nil
	}
	cmd.notify("the report is in " + filepath.Join(c.String("output"), "result.yaml"))
	return r.WriteText(cmd.stdout)
}

// addSleepMode starts vLLM with sleep mode, and with the routes that put it to sleep.
func addSleepMode(file *servers.Config) error {
	if file.Backend != "vllm" {
		return exit.Usage(exit.CodeUsage, "Leave --sleep-mode out", "--sleep-mode is for vLLM, and the server file has the "+
			"backend %s", file.Backend)
	}
	file.Args = append(file.Args, "--enable-sleep-mode")
	if file.Environment == nil {
		file.Environment = map[string]string{}
	}
	file.Environment["VLLM_SERVER_DEV_MODE"] = "1"
	return nil
}
