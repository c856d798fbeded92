package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/secret"
	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/launch"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/spread"
	"github.com/mlperf-go/mlperf-go/kube/target"
	"github.com/mlperf-go/mlperf-go/report/live"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/workload/contract"
	"github.com/mlperf-go/mlperf-go/workload/shard"
)

// runCommand runs a workload profile in pods and collects its results.
type runCommand struct{ *program }

// namespaceUsage describes --namespace in the help of every command.
const namespaceUsage = "namespace of the server and the pods, or of each: `STACK,HARNESS`"

// accessFlags select the cluster and the namespace.
func accessFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubeconfig",
			Usage: "access to the cluster; default: KUBECONFIG, ~/.kube/config, or the pod's own"},
		&cli.StringFlag{Name: "context", Usage: "context of the kubeconfig"},
		contractFlag("namespace", namespaceUsage),
	}
}

// clusterFlags select the cluster, the namespace and the folder of the results.
func clusterFlags() []cli.Flag {
	return append(accessFlags(),
		&cli.StringFlag{Name: "output", Aliases: []string{"r"}, Usage: "local folder of the results", Value: "results/kube"})
}

// podFlags describe the pods of a launch.
func podFlags() []cli.Flag {
	return append(placementFlags(),
		&cli.StringFlag{Name: "image", Usage: "image of mlperf-go", Required: true},
		&cli.StringSliceFlag{Name: "pull-secret", Usage: "name of a Secret for the image's registry"},
		contractFlag("serviceaccount", "service account of the pods"),
		contractFlag("cpu", "processors of a pod"),
		contractFlag("memory", "memory of a pod"),
		contractFlag("pvc-size", "size of a claim that does not exist"),
		contractFlag("results-dir", "folder of the results in the pods"),
		&cli.StringFlag{Name: "storage-class", Usage: "of a claim that does not exist"},
		contractFlag("start-timeout", "how long the pods may take to start (seconds or a duration)"),
		&cli.StringSliceFlag{Name: "env", Usage: "variable of the pods: NAME=VALUE"},
		&cli.StringSliceFlag{Name: "secret-env", Usage: "variable of the pods from a Secret: NAME=SECRET:KEY"},
		&cli.Int64Flag{Name: "fs-group", Usage: "group that owns the volumes; 0: the cluster's choice, as on OpenShift",
			Value: 65532},
		contractFlag("id", "id of the experiment; default: TIME-RANDOM"),
		&cli.BoolFlag{Name: "keep", Usage: "leave the objects in the cluster"},
		contractFlag("dry-run", "print all objects, and create none"),
	)
}

func (cmd runCommand) command() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run a workload profile in pods, and collect the results",
		Flags: append(slices.Concat(clusterFlags(), podFlags(), workloadFlags(), liveFlags("all shards"), metricsFlags()),
			contractFlag("methods", "server to find without --endpoint-url: standalone, modelservice, KIND/NAME, "+
				"KEY=VALUE, or a part of a name; with :PORT. Each of NAME,NAME gets its own runs"),
			&cli.IntFlag{Name: "parallelism", Aliases: []string{"j"}, Usage: "pods that each send the whole load", Value: 1},
			&cli.IntFlag{Name: "shards", Usage: "pods that divide one load between them, and start together"},
			&cli.StringFlag{Name: "reset-cache", DefaultText: "auto; off with several pods of --parallelism",
				Usage: "empty the servers' prefix caches before each run: auto (if supported), require (fail if not " +
					"supported) or off"},
			uploadFlag(),
			contractFlag("pvc", "claim for the results; empty: each pod's own temporary volume"),
			contractFlag("wait-timeout",
				"how long the pods may take (seconds or a duration); 0: return when they run"),
			contractFlag("skip", "run nothing: collect the results of --id, or all results of the claim"),
			contractFlag("debug", "start pods that run no command, print the command, and leave them"),
		),
		Action: cmd.run,
	}
}

func (cmd runCommand) run(c *cli.Context) error {
	if err := cmd.setVariables(c); err != nil {
		return err
	}
	if c.Bool("skip") {
		return cmd.collect(c, c.String("id"))
	}
	if err := cmd.openStore(c); err != nil {
		return err
	}
	v, list, err := cmd.profilesOf(c)
	if err != nil {
		return err
	}
	launches, err := launchesOf(c, v, list)
	if err != nil {
		return err
	}
	if c.Bool("debug") {
		launches = launches[:1] // pods for debugging, in which the user starts the command
		launches[0].Idle = true
	}
	if c.Bool("dry-run") {
		if _, err := cmd.aim(c, nil, v, list, launches); err != nil {
			return err
		}
		return cmd.printObjects(objectsOf(launches))
	}
	access, err := connect(c)
	if err != nil {
		return err
	}
	targets, err := cmd.aim(c, access, v, list, launches)
	if err != nil {
		return err
	}
	options, err := cmd.options(c)
	if err != nil {
		return err
	}
	if c.Bool("debug") {
		return cmd.debug(c.Context, access, options, launches[0])
	}
	w, err := cmd.watch(c, list[0].Name)
	if err != nil {
		return err
	}
	err = cmd.inTurn(c.String("output"), v, list, launches, options, w, func(o launch.Options, i int) error {
		return cmd.measure(c, access, o, list[i], targets[i], w)
	})
	w.end(err)
	return err
}

// inTurn calls measure for each launch until one ends the series. The worst exit code is the command's.
func (cmd runCommand) inTurn(output string, v *contract.Invocation, list []contract.Rendered,
	launches []*objects.Launch, options launch.Options, w *watcher, measure func(o launch.Options, i int) error) (
	err error) {
	worst := 0
	for i, l := range launches {
		options.Launch, options.Output = *l, output
		if len(launches) > 1 {
			options.Output = filepath.Join(options.Output, list[i].Folder())
			cmd.notify(fmt.Sprintf("run %d of %d: %s", i+1, len(launches), list[i].Folder()))
		}
		err = cmd.tryAgain(v.Attempts(), w, options, func(o launch.Options) error { return measure(o, i) })
		if worst = max(worst, cmd.exit); err != nil || worst > 0 && v.StopOnError() || w.stopped() {
			break
		}
	}
	cmd.exit = worst
	return err
}

// tryAgain calls measure until it succeeds, at most as often as the file of treatments allows. Every attempt has an id
// and a folder of its own. A lost pod is a failed attempt; other errors would occur again.
func (cmd runCommand) tryAgain(most int, w *watcher, o launch.Options, measure func(launch.Options) error) error {
	id, output := o.ID, o.Output
	for try := 1; ; try++ {
		cmd.exit = 0
		err := measure(o)
		lost := err != nil && exit.Classify(err).Code == cluster.Launcher && !launch.CannotStart(err)
		if !lost && (err != nil || cmd.exit == 0) || try >= most || w.stopped() {
			return err
		}
		tail := fmt.Sprintf("-attempt-%d", try+1)
		if o.ID, o.Output = id+tail, output+tail; err != nil {
			cmd.notify(err.Error())
		}
		cmd.notify(fmt.Sprintf("attempt %d of %d: %s", try+1, most, o.ID))
	}
}

// measure runs one profile, and keeps what explains its figures.
func (cmd runCommand) measure(c *cli.Context, access *cluster.Cluster, o launch.Options, r contract.Rendered,
	t *target.Target, w *watcher) error {
	if err := writeTarget(o.Output, t); err != nil {
		return err
	}
	began := time.Now()
	err := cmd.launch(c, access, o, r, w)
	cmd.keepServers(c, access, o, t, began)
	return err
}

// objectsOf returns the objects of a command's launches.
func objectsOf(launches []*objects.Launch) []runtime.Object {
	all := launches[0].Shared() // the other launches share the same objects
	for _, l := range launches {
		all = append(all, l.Own()...)
	}
	return all
}

// options returns what all launches of a command share.
func (cmd runCommand) options(c *cli.Context) (o launch.Options, err error) {
	o = launch.Options{Keep: c.Bool("keep"), Notify: cmd.notify}
	if o.Wait, err = duration(c, "wait-timeout"); err != nil {
		return o, err
	}
	o.Start, err = duration(c, "start-timeout")
	return o, err
}

// launch runs one profile.
func (cmd runCommand) launch(c *cli.Context, access *cluster.Cluster, o launch.Options, r contract.Rendered,
	w *watcher) error {
	if c.Int("shards") > 0 {
		return cmd.spread(c.Context, access, o, r, w)
	}
	result, err := launch.Run(c.Context, access, o)
	if err != nil {
		return err
	}
	cmd.exit = result.Exit()
	cmd.sendPods(c.Context, result)
	return cmd.show(result)
}

// spread sends one load from several pods.
func (cmd runCommand) spread(ctx context.Context, access *cluster.Cluster, o launch.Options, p contract.Rendered,
	w *watcher) error {
	w.begin(p)
	r, err := spread.Run(ctx, access, spread.Options{Options: o, Stages: len(p.Profile.Load.Stages), Progress: w.Progress,
		Count: w.page != nil, Stop: w.stop.Done()})
	if err != nil {
		return err
	}
	w.result(r)
	if cmd.exit = r.ExitCode(); w.stopped() && r.Verdict == record.Interrupted {
		cmd.exit = live.Stopped.ExitCode()
	}
	cmd.send(ctx, filepath.Join(o.Output, "merged"), o.ID+"_merged")
	if cmd.json {
		cmd.print(r)
		return nil
	}
	fmt.Fprintf(cmd.stdout, "%s  %s, %s\n", foreign.Line(r.Profile, 100), r.Verdict, r.Headline())
	for _, reason := range r.Reasons {
		fmt.Fprintf(cmd.stdout, "  %s  %s\n", reason.Code, foreign.Line(reason.Text, 300))
	}
	for _, note := range r.Notes {
		fmt.Fprintln(cmd.stdout, "  note: "+foreign.Line(note, 300))
	}
	fmt.Fprintln(cmd.stdout, "folder  "+filepath.Join(o.Output, "merged"))
	return nil
}

func progressLine(p *shard.Progress) string {
	return fmt.Sprintf("stage %d: %d sent, %d answered, %d failed, %d output tokens", p.Stage, p.Sent,
		p.Ended-p.Failed, p.Failed, p.Output)
}

func (p *program) show(result *launch.Result) error {
	if p.json {
		p.print(result)
		return nil
	}
	for _, pod := range result.Pods {
		fmt.Fprintf(p.stdout, "%s  exit %d  %s\n", pod.Name, pod.Exit, pod.Folder)
	}
	return nil
}

func (p *program) printObjects(all []runtime.Object) error {
	text, err := objects.YAML(all)
	if err != nil {
		return err
	}
	_, err = p.stdout.Write(text)
	return err
}

// launchOf returns a launch without a profile from the flags of `run`.
func launchOf(c *cli.Context) (*objects.Launch, error) {
	l, err := podsOf(c)
	if err != nil {
		return nil, err
	}
	l.Pods = c.Int("parallelism")
	shards := c.Int("shards")
	if err := checkLive(c); err != nil {
		return nil, err
	}
	if l.Pods < 1 || shards < 0 || shards > 0 && c.IsSet("parallelism") {
		return nil, exit.Usage(exit.CodeUsage, "Give one of them, at least 1",
			"--parallelism %d cannot be combined with --shards %d",
			l.Pods, shards)
	}
	l.Pods = max(l.Pods, shards)
	return l, nil
}

// podsOf returns a launch without pods and arguments from podFlags.
func podsOf(c *cli.Context) (*objects.Launch, error) {
	l := &objects.Launch{Image: c.String("image"), PullSecrets: c.StringSlice("pull-secret"),
		ServiceAccount: c.String("serviceaccount"), FSGroup: c.Int64("fs-group")}
	l.ID = c.String("id")
	if l.ID == "" {
		l.ID = newID()
	}
	l.Namespace = namespaceOf(c)
	var err error
	for _, q := range []struct {
		flag string
		to   *resource.Quantity
	}{{"cpu", &l.CPU}, {"memory", &l.Memory}, {"pvc-size", &l.Storage.Size}} {
		if err := quantity(c, q.flag, q.to); err != nil {
			return nil, err
		}
	}
	l.Storage.Claim, l.Storage.Class = c.String("pvc"), c.String("storage-class")
	if l.Storage.ResultsDir = c.String("results-dir"); !path.IsAbs(l.Storage.ResultsDir) {
		return nil, exit.Usage("usage", "Write a path such as /requests", "--results-dir %q is not absolute",
			l.Storage.ResultsDir)
	}
	l.Hold = 24 * time.Hour // without a claim the results live as long as the pod
	if l.Storage.Claim != "" {
		l.Hold = 10 * time.Minute
	}
	if l.Env, err = plainVariables(c); err != nil {
		return nil, err
	}
	if l.Placement, err = placementOf(c); err != nil {
		return nil, err
	}
	if l.SecretEnv, err = secretKeys(c); err != nil {
		return nil, err
	}
	return l, nil
}

// quantity parses a flag in the notation of Kubernetes; an empty one is zero.
func quantity(c *cli.Context, flag string, to *resource.Quantity) (err error) {
	text := c.String(flag)
	if text == "" {
		return nil
	}
	if *to, err = resource.ParseQuantity(text); err != nil {
		return exit.Usage("usage", "Write it as Kubernetes does, such as 16, 500m or 32Gi", "--%s %q: %w", flag, text, err)
	}
	return nil
}

// namespaceOf returns the namespace of the pods: the second of STACK,HARNESS.
func namespaceOf(c *cli.Context) string {
	stack, harness, _ := strings.Cut(c.String("namespace"), ",")
	if harness == "" {
		return stack
	}
	return harness
}

// stackOf returns the namespace of the servers: the first of STACK,HARNESS.
func stackOf(c *cli.Context) string {
	stack, harness, _ := strings.Cut(c.String("namespace"), ",")
	if stack == "" {
		return harness
	}
	return stack
}

func newID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	tail := make([]byte, 6)
	for i := range tail {
		tail[i] = letters[rand.IntN(len(letters))]
	}
	return fmt.Sprintf("%d-%s", time.Now().Unix(), tail)
}

func pairs(c *cli.Context, flag string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range c.StringSlice(flag) {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, exit.Usage("usage", "", "--%s %q: expected NAME=VALUE", flag, name)
		}
		all[name] = value
	}
	return all, nil
}

// plainVariables parses --env. It rejects secrets, because everyone who may read the Job could read them.
func plainVariables(c *cli.Context) (map[string]string, error) {
	all, err := pairs(c, "env")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := all[name]; secret.Name(name) && value != "" && !secret.IsSwitch(value) {
			return nil, exit.Usage(exit.CodeUsage, "Store it in a Secret, and pass --secret-env "+name+"=SECRET:KEY",
				"--env %s would be readable in the Job", name)
		}
	}
	return all, err
}

func secretKeys(c *cli.Context) (map[string]objects.SecretKey, error) {
	named, err := pairs(c, "secret-env")
	if err != nil {
		return nil, err
	}
	all := map[string]objects.SecretKey{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		secret, key, ok := strings.Cut(named[name], ":")
		if !ok {
			return nil, exit.Usage("usage", "", "--secret-env %s: expected NAME=SECRET:KEY", name)
		}
		all[name] = objects.SecretKey{Secret: secret, Key: key}
	}
	return all, nil
}

// duration parses a flag that is a duration or a number of seconds.
func duration(c *cli.Context, flag string) (time.Duration, error) {
	text := c.String(flag)
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil || d < 0 {
		return 0, exit.Usage("usage", "Write 3600 or 1h", "--%s %q is not a duration", flag, text)
	}
	return d, nil
}
