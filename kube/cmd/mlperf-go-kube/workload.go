package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/kube/objects"
	"github.com/mlperf-go/mlperf-go/kube/spread"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/contract"
)

// profileName is the profile's file in a pod.
const profileName = "profile.yaml"

// maxProfile bounds a profile in bytes: a ConfigMap holds at most 1 MiB.
const maxProfile = 900 << 10

// constructors make the flags of settings. contract.Resolve reads the variables of workload flags.
var constructors = contract.Constructors[cli.Flag]{
	Switch: func(s contract.Setting, aliases []string) cli.Flag {
		return &cli.BoolFlag{Name: s.Flag, Aliases: aliases, EnvVars: variables(s), Usage: s.Usage}
	},
	List: func(s contract.Setting, aliases []string) cli.Flag {
		return &cli.StringSliceFlag{Name: s.Flag, Aliases: aliases, EnvVars: variables(s), Usage: s.Usage}
	},
	Text: func(s contract.Setting, aliases []string) cli.Flag {
		return &cli.StringFlag{Name: s.Flag, Aliases: aliases, EnvVars: variables(s), Value: s.Default, Usage: s.Usage}
	}}

func variables(s contract.Setting) []string {
	if s.Place == contract.Bench {
		return nil
	}
	return s.Variables
}

// contractFlag is a flag of the contract for runs in a cluster, with its short name, variables and default.
func contractFlag(name, usage string) cli.Flag {
	for _, s := range contract.Settings() {
		if s.Flag == name {
			if s.Usage = usage; name == "pvc" {
				s.Default = "" // results need no claim here
			}
			return constructors.Flag(s)
		}
	}
	panic("no setting has the name " + name)
}

// workloadFlags select the profiles, as they do for bench run.
func workloadFlags() []cli.Flag { return constructors.Flags(contract.Bench) }

// setVariables sets the flags of a cluster that are not on the command line from the scenario file and the environment.
func (cmd runCommand) setVariables(c *cli.Context) error {
	values, err := contract.ClusterVariables(contract.Given(c, contract.Bench), os.LookupEnv)
	if err != nil {
		return exit.Usage(exit.CodeUsage, "", "%w", err)
	}
	for _, f := range c.Command.Flags {
		names := f.Names()
		given := slices.ContainsFunc(names, func(name string) bool { return hasFlag(cmd.args, name) })
		value, known := values[names[0]]
		if given || !known {
			continue
		}
		if err := c.Set(names[0], value); err != nil {
			return exit.Usage(exit.CodeUsage, "", "the variable of --%s: %w", names[0], err)
		}
	}
	return nil
}

// profilesOf renders the profile of a command line for each server, model and treatment.
func (cmd runCommand) profilesOf(c *cli.Context) (*contract.Invocation, []contract.Rendered, error) {
	v, notes, err := contract.Resolve(contract.Given(c, contract.Bench), os.LookupEnv)
	if errors.Is(err, contract.ErrNoWorkload) {
		return nil, nil, exit.Usage(exit.CodeWorkload, "Give --workload with a name of `mlperf-go bench list` or a file",
			"%w", err)
	}
	if err != nil {
		return nil, nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	v.Stack(c.String("methods"), stackOf(c))
	list, err := v.Render()
	if err != nil {
		return nil, nil, exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	for _, r := range list {
		if r.Profile.Source != nil {
			notes = append(notes, r.Profile.Source.Notes...)
		}
	}
	for _, note := range notes {
		cmd.notify(note)
	}
	list, err = perServer(c, v, list)
	return v, list, err
}

// launchesOf returns a launch for each profile. The ids of several end with a number.
func launchesOf(c *cli.Context, v *contract.Invocation, list []contract.Rendered) ([]*objects.Launch, error) {
	var all []*objects.Launch
	id := c.String("id")
	for i, r := range list {
		l, err := launchOf(c)
		if err != nil {
			return nil, err
		}
		if id == "" {
			id = l.ID
		}
		if l.ID = id; len(list) > 1 {
			l.ID = fmt.Sprintf("%s-%d", id, i+1)
		}
		if l.Harness = v.Value(contract.Harness); l.Harness == "" {
			l.Harness = "inference-perf" // the contract's default
		}
		if l.ServiceAccount == "" {
			l.ServiceAccount = l.Harness + "-runner" // as llm-d-benchmark names it
		}
		l.Stack = objects.Stack{Model: cmp.Or(r.Model, r.Profile.API.Model), Method: cmp.Or(r.Server, c.String("methods")),
			Namespace: stackOf(c)}
		if err := addProfile(l, r, c.Int("shards"), metricsArgs(c)); err != nil {
			return nil, err
		}
		if err := addResetCache(l, c.String("reset-cache"), c.Int("parallelism")); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// addResetCache adds --reset-cache. Pods that each send the whole load start at different times: a late one would empty
// a cache that others use already.
func addResetCache(l *objects.Launch, mode string, parallelism int) error {
	if mode == "" && parallelism > 1 {
		mode = "off"
	}
	if mode == "" {
		return nil
	}
	s, _, err := config.RunSettings().Find("reset-cache")
	if err != nil {
		return err
	}
	if !slices.Contains(s.Enum, mode) {
		return exit.Usage(exit.CodeUsage, "", "--reset-cache %q %s", mode, config.NotOneOf(mode, s.Enum))
	}
	l.Args = append(l.Args, "--reset-cache", mode)
	return nil
}

// metricsFlags are those of `bench run` for the servers' metrics pages, which the pods read.
func metricsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "metrics", Usage: "record the servers' metrics pages; of several shards the first reads them"},
		&cli.DurationFlag{Name: "metrics-interval", Usage: "time between two readings", Value: time.Second},
		&cli.StringSliceFlag{Name: "metrics-url", Usage: "further metrics page, such as that of a gateway"},
	}
}

// metricsArgs returns the given ones as arguments of a pod.
func metricsArgs(c *cli.Context) (args []string) {
	if c.Bool("metrics") {
		args = append(args, "--metrics")
	}
	if c.IsSet("metrics-interval") {
		args = append(args, "--metrics-interval", c.Duration("metrics-interval").String())
	}
	for _, u := range c.StringSlice("metrics-url") {
		args = append(args, "--metrics-url", u)
	}
	return args
}

// addProfile adds the profile in the program's own form, so that a pod needs no other file and no variable.
func addProfile(l *objects.Launch, r contract.Rendered, shards int, metrics []string) error {
	if err := r.Profile.Divide(shards); err != nil {
		return exit.Usage(exit.CodeProfile, "Give --parallelism, whose pods each send the whole load", "--shards %d: %w",
			shards, err)
	}
	text, err := r.Profile.Encode()
	if err != nil {
		return exit.Usage(exit.CodeProfile, "", "%w", err)
	}
	if len(text) > maxProfile {
		return exit.Usage(exit.CodeProfile, "Put large data on the volume, and name it in the profile",
			"the profile %s has more than %d bytes", r.Name, maxProfile)
	}
	l.Profiles = map[string]string{profileName: string(text)}
	l.Args = []string{"bench", "run", "--workload", l.ProfilePath(profileName), "--output", "$(RESULTS)/run"}
	if r.Model != "" {
		l.Args = append(l.Args, "--model", r.Model)
	}
	l.Args = append(l.Args, metrics...)
	if shards > 0 {
		l.Args = spread.Args(l.Args, shards)
	}
	return nil
}
