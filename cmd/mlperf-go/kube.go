package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/exit"
)

// kubeProgram is the program of the kube module, which contains Kubernetes' client.
const kubeProgram = "mlperf-go-kube"

// kubeCommand replaces this process by the program of the kube module.
type kubeCommand struct{ *program }

func (cmd kubeCommand) command() *cli.Command {
	return &cli.Command{
		Name: "kube", Usage: "run workloads, campaigns and servers on a Kubernetes cluster", ArgsUsage: "COMMAND...",
		Description: "The launcher is a separate program, mlperf-go-kube, to keep this one small.\n" +
			"`make kube` builds it.", SkipFlagParsing: true, Action: cmd.run,
	}
}

func (cmd kubeCommand) run(c *cli.Context) error {
	return becomeProgram(kubeProgram, "kube", c.Args().Slice(), cmd.environ)
}

// becomeProgram replaces this process by a program of another module, which `make TARGET` builds.
func becomeProgram(name, target string, arguments, environ []string) error {
	path, err := findProgram(name)
	if err != nil {
		return exit.Environment(exit.CodeEnvironment, "Build it with `make "+target+"`, or put it into a folder of PATH",
			"%s was not found beside this program or in PATH", name)
	}
	return syscall.Exec(path, append([]string{name}, arguments...), environ)
}

// findProgram looks in this program's folder first, because the two belong together.
func findProgram(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return exec.LookPath(name)
}
