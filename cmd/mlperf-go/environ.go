package main

import (
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/child"
)

const envPrefix = "MLPERF_GO_"

// envNames are the environment names of flags whose own name has another meaning in another command.
var envNames = map[string]string{
	"run --scenario":  "MLPERF_GO_SCENARIO_FILE", // of bench run
	"plan --scenario": "MLPERF_GO_SCENARIO_FILE",
	"run --dataset":   "MLPERF_GO_WORKLOAD_DATA",
	"plan --dataset":  "MLPERF_GO_WORKLOAD_DATA",
	"sim --model":     "MLPERF_GO_SERVED_MODEL",
	"sim --api-key":   "MLPERF_GO_SIM_API_KEY",
}

// withEnviron sets the environment name of each flag of a command, except for a test's settings: config reads those.
func withEnviron(c *cli.Command) {
	table := config.RunSettings()
	settings := slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return f.Names()[0] == "config" })
	for _, f := range c.Flags {
		name := f.Names()[0]
		if s, _, err := table.Find(name); settings && err == nil && s != nil {
			continue
		}
		env := envNames[c.Name+" --"+name]
		if env == "" {
			env = envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		}
		setEnvVar(f, env)
	}
}

func setEnvVar(f cli.Flag, name string) {
	vars := []string{name}
	switch f := f.(type) {
	case *cli.StringFlag:
		f.EnvVars = vars
	case *cli.BoolFlag:
		f.EnvVars = vars
	case *cli.IntFlag:
		f.EnvVars = vars
	case *cli.Int64Flag:
		f.EnvVars = vars
	case *cli.Uint64Flag:
		f.EnvVars = vars
	case *cli.Float64Flag:
		f.EnvVars = vars
	case *cli.GenericFlag:
		f.EnvVars = vars
	}
}

// otherNames returns the environment names of all commands' flags that are not settings of a test.
func otherNames(commands []*cli.Command) []string {
	settings := map[string]bool{}
	for _, s := range config.RunSettings() {
		settings[s.EnvName()] = true
	}
	names := append(flagVariables(commands), "MLPERF_GO_GOLDEN", child.Mark) // the former selects results for tests
	return slices.DeleteFunc(names, func(n string) bool { return settings[n] })
}

// flagVariables returns the environment names of all commands' flags.
func flagVariables(commands []*cli.Command) (names []string) {
	for _, c := range commands {
		for _, f := range c.Flags {
			if e, ok := f.(cli.DocGenerationFlag); ok {
				names = append(names, e.GetEnvVars()...)
			}
		}
		names = append(names, flagVariables(c.Subcommands)...)
	}
	return names
}

// dropEmpty removes this program's empty variables from the environment, because they count as not set.
func dropEmpty(environ []string) error {
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); value == "" && strings.HasPrefix(name, envPrefix) {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueOf returns the value of a variable; "" if it is not set.
func valueOf(environ []string, name string) string {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}
