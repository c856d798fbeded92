package main

import (
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// collectCommand collects the results of a launch whose launcher has ended.
type collectCommand struct{ *program }

func (cmd collectCommand) command() *cli.Command {
	return &cli.Command{
		Name: "collect", Usage: "collect the results of an experiment that is still in the cluster", ArgsUsage: "ID",
		Flags: append(clusterFlags(), &cli.BoolFlag{Name: "keep", Usage: "leave the objects in the cluster"}),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return exit.Usage("usage", "Write `mlperf-go kube collect ID -p NAMESPACE`", "no experiment was named")
			}
			access, err := cluster.Connect(c.String("kubeconfig"), c.String("context"))
			if err != nil {
				return err
			}
			result, err := launch.Collect(c.Context, access, launch.Experiment{ID: c.Args().First(),
				Namespace: namespaceOf(c)},
				launch.Options{Output: c.String("output"), Keep: c.Bool("keep"), Notify: cmd.notify})
			if err != nil {
				return err
			}
			cmd.exit = result.Exit()
			return cmd.show(result)
		},
	}
}
