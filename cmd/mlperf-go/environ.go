package main

import (
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

const envPrefix = "MLPERF_GO_"

// envNames are environment names that are not their flag's own, because another command's flag of that name means
// something else.
var envNames = map[string]string{
	"sim --model":   "MLPERF_GO_SERVED_MODEL",
	"sim --api-key": "MLPERF_GO_SIM_API_KEY",
}

// withEnviron gives every flag of the command its environment name, but for settings of a run: config reads those.
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
	case *cli.DurationFlag:
		f.EnvVars = vars
	}
}

// otherNames are the environment names of flags that are no settings of a run, of any command.
func otherNames(commands []*cli.Command) []string {
	names := []string{"MLPERF_GO_GOLDEN"} // where tests find recorded results
	for _, c := range commands {
		for _, f := range c.Flags {
			if e, ok := f.(cli.DocGenerationFlag); ok {
				names = append(names, e.GetEnvVars()...)
			}
		}
		names = append(names, otherNames(c.Subcommands)...)
	}
	table := config.RunSettings()
	return slices.DeleteFunc(names, func(n string) bool {
		return slices.ContainsFunc(table, func(s config.Setting) bool { return s.EnvName() == n })
	})
}

// dropEmpty takes variables of ours that are empty out of the environment: they count as not set.
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
