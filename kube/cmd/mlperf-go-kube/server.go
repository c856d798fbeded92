package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/mlperf-go/mlperf-go/kube/cluster"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/serve"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/servers"
)

// serverCommand runs inference servers in the cluster.
type serverCommand struct{ *program }

func (cmd serverCommand) command() *cli.Command {
	return &cli.Command{
		Name: "server", Usage: "run inference servers in the cluster",
		Subcommands: []*cli.Command{
			{Name: "up", Usage: "start the server of a server file, wait until it is ready, and print its URL",
				ArgsUsage: "[-- ENGINE ARGUMENTS]", Flags: append(serverAccess(), serverFlags()...), Action: cmd.up},
			{Name: "down", Usage: "remove a server that `server up` started", Flags: append(serverAccess(),
				&cli.StringFlag{Name: "wait-timeout", Value: "5m", Usage: "how long its pods may take to end"}),
				Action: cmd.down},
		},
	}
}

// serverAccess selects the cluster and the server.
func serverAccess() []cli.Flag {
	return append(accessFlags(), &cli.StringFlag{Name: "name", Usage: "name of the Deployment and the Service; default: " +
		"the backend of the server file"}, serverFileFlag())
}

func serverFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "server-config", Usage: "server file, as for mlperf-go server up"}
}

func serverFlags() []cli.Flag {
	return append(placementFlags(),
		&cli.StringFlag{Name: "image", Usage: "image of the engine"},
		&cli.StringSliceFlag{Name: "pull-secret", Usage: "name of a Secret for the image's registry"},
		&cli.StringFlag{Name: "model", Usage: "model instead of the file's: a name on the hub, or a folder in the pods"},
		&cli.IntFlag{Name: "replicas", Usage: "pods instead of the file's number"},
		&cli.IntFlag{Name: "gpus-per-replica", Usage: "GPUs of each pod; default: the file's", Value: -1},
		&cli.StringFlag{Name: "gpu-resource", Usage: "name of the GPUs in the cluster", Value: "nvidia.com/gpu"},
		&cli.StringFlag{Name: "cpu", Usage: "processors of a pod; default: no request"},
		&cli.StringFlag{Name: "memory", Usage: "memory of a pod; default: no request"},
		&cli.StringFlag{Name: "cache-claim", Usage: "existing claim for the weights, at " + objects.CacheDir +
			" in the pods; default: each pod's own temporary volume"},
		&cli.StringSliceFlag{Name: "secret-env", Usage: "variable of the pods from a Secret: NAME=SECRET:KEY"},
		&cli.StringFlag{Name: "api-key-secret", Usage: "key that clients must send, from a Secret: SECRET:KEY"},
		&cli.StringFlag{Name: "serviceaccount", Usage: "service account of the pods", Value: "mlperf-go-server"},
		&cli.Int64Flag{Name: "fs-group", Usage: "group that owns the volumes; 0: the cluster's choice, as on OpenShift",
			Value: 65532},
		&cli.Int64Flag{Name: "run-as-user", Usage: "user of the pods, which needs no entry in the image; 0: the cluster's " +
			"choice, as on OpenShift", Value: 65532},
		&cli.StringFlag{Name: "health-path", Usage: "answers 200 once the model is loaded", Value: "/health"},
		&cli.StringFlag{Name: "wait-timeout", Aliases: []string{"s"},
			Usage: "how long the pods may take to become ready; default: startup_timeout of the server file"},
		&cli.BoolFlag{Name: "keep", Usage: "leave a server that does not become ready"},
		contractFlag("dry-run", "print all objects, and create none"),
	)
}

func (cmd serverCommand) up(c *cli.Context) error {
	file, err := serverFile(c)
	if err != nil {
		return err
	}
	s, err := cmd.serverOf(c, file)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return cmd.printObjects(s.Objects())
	}
	o := serve.Options{Server: *s, Keep: c.Bool("keep"), Notify: cmd.notify}
	if c.IsSet("wait-timeout") {
		if o.Wait, err = duration(c, "wait-timeout"); err != nil {
			return err
		}
	}
	access, err := connect(c)
	if err != nil {
		return err
	}
	if err := serve.Up(c.Context, access, o); err != nil {
		return err
	}
	if cmd.json {
		cmd.print(map[string]any{"url": serve.URL(s), "name": s.Name, "namespace": s.Namespace, "model": file.Served()})
		return nil
	}
	fmt.Fprintln(cmd.stdout, serve.URL(s))
	return nil
}

// serverOf returns a server from the server file and the flags.
func (cmd serverCommand) serverOf(c *cli.Context, file *servers.Config) (*objects.Server, error) {
	if c.String("image") == "" {
		return nil, exit.Usage(exit.CodeUsage, "Pass --image NAME, such as vllm/vllm-openai:TAG", "no image given")
	}
	if first := c.Args().First(); first != "" && !strings.HasPrefix(first, "-") {
		return nil, exit.Usage(exit.CodeUsage, "Arguments of the engine follow --", "unexpected argument %q", first)
	}
	s := &objects.Server{Name: serverName(c, file), Namespace: stackOf(c), Image: c.String("image"),
		PullSecrets: c.StringSlice("pull-secret"), ServiceAccount: c.String("serviceaccount"),
		HealthPath: c.String("health-path"), GPUResource: c.String("gpu-resource"), CacheClaim: c.String("cache-claim"),
		FSGroup: c.Int64("fs-group"), User: c.Int64("run-as-user")}
	notes, err := serve.FromConfig(s, file, serve.Overrides{Model: c.String("model"), Replicas: c.Int("replicas"),
		GPUsPerReplica: c.Int("gpus-per-replica"), Args: c.Args().Slice()})
	if err != nil {
		return nil, exit.Usage(exit.CodeServerConfig, "", "%w", err)
	}
	for _, note := range notes {
		cmd.notify(note)
	}
	for _, q := range []struct {
		flag string
		to   *resource.Quantity
	}{{"cpu", &s.CPU}, {"memory", &s.Memory}} {
		if err := quantity(c, q.flag, q.to); err != nil {
			return nil, err
		}
	}
	if s.Placement, err = placementOf(c); err != nil {
		return nil, err
	}
	if s.SecretEnv, err = secretKeys(c); err != nil {
		return nil, err
	}
	return s, addAPIKey(s, file.Backend, c.String("api-key-secret"))
}

// keyVariables are the variables for the API key of each engine. vLLM reads its own; SGLang has only an argument.
var keyVariables = map[string]string{"vllm": "VLLM_API_KEY", "sglang": "SGLANG_API_KEY"}

// addAPIKey makes a server require the API key of a Secret: SECRET:KEY.
func addAPIKey(s *objects.Server, backend, text string) error {
	if text == "" {
		return nil
	}
	name, key, ok := strings.Cut(text, ":")
	if !ok || name == "" || key == "" {
		return exit.Usage(exit.CodeUsage, "", "--api-key-secret: expected SECRET:KEY")
	}
	variable := keyVariables[backend]
	if variable == "" {
		return exit.Usage(exit.CodeUsage, "Pass --secret-env with the variable that the engine reads",
			"--api-key-secret is for vLLM and SGLang")
	}
	s.SecretEnv[variable] = objects.SecretKey{Secret: name, Key: key}
	if backend == "sglang" {
		s.KeyVariable = variable
	}
	return nil
}

func serverFile(c *cli.Context) (*servers.Config, error) {
	path := c.String("server-config")
	if path == "" {
		return nil, exit.Usage(exit.CodeServerConfig, "docs/how-to/servers.md shows one", "no --server-config given")
	}
	file, err := servers.Load(path)
	if err != nil {
		return nil, exit.Usage(exit.CodeServerConfig, "", "%w", err)
	}
	return file, nil
}

// serverName returns the name of the server, by default that of its engine.
func serverName(c *cli.Context, file *servers.Config) string {
	if name := c.String("name"); name != "" {
		return name
	}
	return strings.ToLower(strings.ReplaceAll(file.Backend, "_", "-"))
}

func (cmd serverCommand) down(c *cli.Context) error {
	name := c.String("name")
	if name == "" {
		file, err := serverFile(c)
		if err != nil {
			return exit.Usage(exit.CodeUsage, "Pass the --name or the --server-config of `server up`", "no server named: %w",
				err)
		}
		name = serverName(c, file)
	}
	wait, err := duration(c, "wait-timeout")
	if err != nil {
		return err
	}
	access, err := connect(c)
	if err != nil {
		return err
	}
	if err := serve.Down(c.Context, access, serve.Named{Namespace: stackOf(c), Name: name}, wait); err != nil {
		return err
	}
	if cmd.json {
		cmd.print(map[string]any{"removed": name})
		return nil
	}
	fmt.Fprintf(cmd.stdout, "removed the server %s from the namespace %s\n", name, stackOf(c))
	return nil
}

// connect returns the access to the cluster that the flags select, once the API server has answered.
func connect(c *cli.Context) (*cluster.Cluster, error) {
	access, err := cluster.Connect(c.String("kubeconfig"), c.String("context"))
	if err != nil {
		return nil, err
	}
	_, err = access.Version(c.Context)
	return access, err
}
