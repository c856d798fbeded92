package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run"
)

// flagsFirst moves a command's flags before its arguments, because the flag parser stops at the first argument and
// would not see the flag of `dataset info FILE --json`. Arguments before the command and after -- stay in place.
func flagsFirst(commands []*cli.Command, global []cli.Flag, args []string) []string {
	args = dashed(args)
	var command *cli.Command
	known, i := global, 1
	for ; i < len(args) && args[i] != "--"; i++ {
		if strings.HasPrefix(args[i], "-") {
			i += values(known, args[i])
			continue
		}
		next := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[i]) })
		if next < 0 {
			break
		}
		command = commands[next]
		known, commands = command.Flags, command.Subcommands
	}
	if command == nil || command.ArgsUsage == "" {
		return args
	}
	flags, rest := slices.Clone(args[:min(i, len(args))]), []string{}
	for ; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if !strings.HasPrefix(args[i], "-") {
			rest = append(rest, args[i])
			continue
		}
		end := min(i+values(known, args[i]), len(args)-1)
		flags = append(flags, args[i:end+1]...)
		i = end
	}
	return append(flags, rest...)
}

// dashed replaces underscores in the names of flags by dashes: older harnesses wrote --num_replicas.
func dashed(args []string) []string {
	spelled := slices.Clone(args)
	for i, a := range spelled {
		if a == "--" {
			break
		}
		if name, value, inline := strings.Cut(a, "="); strings.HasPrefix(a, "--") {
			spelled[i] = strings.ReplaceAll(name, "_", "-")
			if inline {
				spelled[i] += "=" + value
			}
		}
	}
	return spelled
}

// values returns how many of the following arguments belong to a flag: one, unless it is a switch or has its value
// after an equals sign.
func values(known []cli.Flag, arg string) int {
	name, _, inline := cutFlag(arg)
	for _, f := range known {
		if _, isSwitch := f.(*cli.BoolFlag); slices.Contains(f.Names(), name) && !isSwitch && !inline {
			return 1
		}
	}
	return 0
}

func noArguments(c *cli.Context) error {
	if c.NArg() == 0 {
		return nil
	}
	return run.UsageError("argument", "It accepts only flags: write --FLAG=VALUE, or put -- before engine arguments",
		"unexpected argument %q of %s", c.Args().First(), strings.TrimPrefix(c.Command.HelpName, "mlperf-go "))
}

func oneTree(c *cli.Context) (string, error) { return oneArgument(c, "submission tree", "TREE") }

func oneArgument(c *cli.Context, what, name string) (string, error) {
	if c.NArg() != 1 {
		return "", run.UsageError("argument", "Write `mlperf-go submission "+c.Command.Name+" "+name+"`",
			"this command requires one %s", what)
	}
	return c.Args().First(), nil
}
