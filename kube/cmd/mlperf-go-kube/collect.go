package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// collectCommand collects the results of a launch whose launcher has ended.
type collectCommand struct{ *program }

func (cmd collectCommand) command() *cli.Command {
	return &cli.Command{
		Name: "collect", Usage: "collect the results of an experiment from its pods or its claim", ArgsUsage: "ID",
		Flags: append(clusterFlags(), contractFlag("pvc", "claim of the results, if the job is gone"),
			&cli.StringFlag{Name: "image", Usage: "image of mlperf-go for the pod that reads the claim, if the job is gone"},
			&cli.StringSliceFlag{Name: "pull-secret", Usage: "name of a Secret for the image's registry"},
			contractFlag("serviceaccount", "service account of that pod"),
			contractFlag("results-dir", "folder of the results in the pods"),
			&cli.BoolFlag{Name: "keep", Usage: "leave the objects in the cluster"}, uploadFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return exit.Usage("usage", "Write `mlperf-go kube collect -p NAMESPACE ID`: flags precede the experiment",
					"expected one experiment, got %d", c.NArg())
			}
			return cmd.collect(c, c.Args().First())
		},
	}
}

// collect collects an experiment; without an id, all results of a claim.
func (p *program) collect(c *cli.Context, id string) error {
	if err := p.openStore(c); err != nil {
		return err
	}
	access, err := cluster.Connect(c.String("kubeconfig"), c.String("context"))
	if err != nil {
		return err
	}
	o := launch.Options{Output: c.String("output"), Keep: c.Bool("keep"), Notify: p.notify}
	o.Namespace, o.Image, o.PullSecrets = namespaceOf(c), c.String("image"), c.StringSlice("pull-secret")
	o.Storage.ResultsDir = c.String("results-dir")
	o.Storage.Claim, o.FSGroup = c.String("pvc"), c.Int64("fs-group")
	if o.ServiceAccount = c.String("serviceaccount"); o.ServiceAccount == "" {
		o.ServiceAccount = "default"
	}
	var result *launch.Result
	switch {
	case id != "":
		result, err = launch.Collect(c.Context, access, launch.Experiment{ID: id, Namespace: o.Namespace}, o)
	case o.Storage.Claim == "":
		return exit.Usage("usage", "Give --id with an experiment, or --pvc with a claim", "no experiment and no claim given")
	default:
		result, err = launch.CollectClaim(c.Context, access, "", o)
	}
	if err != nil {
		return err
	}
	p.exit = result.Exit()
	p.sendPods(c.Context, result)
	return p.show(result)
}

// debug starts pods that run no command, and prints how the user can start it.
func (cmd runCommand) debug(ctx context.Context, access *cluster.Cluster, o launch.Options, l *objects.Launch) error {
	o.Launch, o.Wait, o.Keep = *l, 0, true
	var names []string
	o.Started = func(_ context.Context, pods []*corev1.Pod) error {
		for _, p := range pods {
			names = append(names, p.Name)
		}
		return nil
	}
	if _, err := launch.Run(ctx, access, o); err != nil {
		return err
	}
	for i, name := range names {
		arguments := strings.NewReplacer("$(RESULTS)", l.Folder(i), "$(JOB_COMPLETION_INDEX)", fmt.Sprint(i)).
			Replace(strings.Join(l.Args, " "))
		fmt.Fprintf(cmd.stdout, "kubectl -n %s exec -it %s -- %s %s\n", l.Namespace, name, objects.Program, arguments)
	}
	return nil
}
