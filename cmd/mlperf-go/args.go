package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run"
)

// flagsFirst moves the flags of a command that takes arguments before them, because the flag parser stops at the first
// argument and `dataset info FILE --json` would not see its flag. What stands before the command, and after a --, stays
// where it is.
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

// dashed spells the names of flags with dashes: older harnesses wrote --num_replicas.
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

// values is the number of arguments that a flag takes after it: one, unless it is a switch or carries its value behind
// a =.
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
	return run.UsageError("argument", "Is a -- missing before it, or an = in front of its value?",
		"%s takes flags only, not %q", c.Command.HelpName, c.Args().First())
}

func oneTree(c *cli.Context) (string, error) { return oneArgument(c, "submission tree", "TREE") }

func oneArgument(c *cli.Context, what, name string) (string, error) {
	if c.NArg() != 1 {
		return "", run.UsageError("argument", "Write `mlperf-go submission "+c.Command.Name+" "+name+"`",
			"one %s is expected", what)
	}
	return c.Args().First(), nil
}
