package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// flagsFirst moves a command's flags before its arguments, because the flag parser stops at the first argument and
// would not see the flag in `dataset info FILE --json`. Arguments before the command and after -- stay in place.
func flagsFirst(commands []*cli.Command, global []cli.Flag, args []string) []string {
	args = bare(oldEngineArgs(dashed(args)))
	in := invoked(commands, global, args)
	if len(in.path) == 0 || in.path[len(in.path)-1].ArgsUsage == "" {
		return args
	}
	known, i := in.known, in.next
	flags, rest := slices.Clone(args[:min(i, len(args))]), []string{}
	for ; i < len(args); i++ {
		if args[i] == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if !startsFlag(args[i]) {
			rest = append(rest, args[i])
			continue
		}
		end := min(i+values(known, args[i]), len(args)-1)
		flags = append(flags, args[i:end+1]...)
		i = end
	}
	return append(flags, rest...)
}

// startsFlag reports whether a word is a flag; "-" alone is the standard input.
func startsFlag(word string) bool { return strings.HasPrefix(word, "-") && word != "-" }

// missingValue reports a flag whose value was forgotten. The flag parser would take the next flag as its value, and
// complain about the word after that flag.
func missingValue(app *cli.App, args []string) error {
	args = bare(oldEngineArgs(dashed(args)))
	in := invoked(app.Commands, app.Flags, args)
	known := slices.Concat(app.Flags, in.known)
	for _, c := range in.path {
		known = append(known, c.Flags...)
	}
	err := config.MissingValue(args[min(1, len(args)):], func(name string) (isKnown, takes bool) {
		f := flagNamed(known, name)
		return f != nil, f != nil && takesValue(f)
	})
	if err != nil {
		return exit.Usage(exit.CodeFlag, "", "%w", err)
	}
	return nil
}

// invocation is the command of a command line.
type invocation struct {
	path     []*cli.Command // from the first word down; empty: the program itself
	known    []cli.Flag     // flags of the command
	below    []*cli.Command // its subcommands
	commands []*cli.Command // of the program
	next     int            // index of the first word that is neither the command nor a flag of it
}

// invoked finds the command of a command line. global are the program's own flags.
func invoked(commands []*cli.Command, global []cli.Flag, args []string) invocation {
	in := invocation{commands: commands, known: global, below: commands, next: 1}
	for ; in.next < len(args) && args[in.next] != "--"; in.next++ {
		word := args[in.next]
		if startsFlag(word) {
			in.next += values(in.known, word)
			continue
		}
		i := slices.IndexFunc(in.below, func(c *cli.Command) bool { return c.HasName(word) })
		if i < 0 {
			break
		}
		c := in.below[i]
		in.path, in.known, in.below = append(in.path, c), c.Flags, c.Subcommands
	}
	return in
}

// bare adds the default value to a flag such as --live that may be given without one, at the end or before another
// flag.
func bare(args []string) []string {
	full := slices.Clone(args)
	for i, a := range full {
		if a == "--" {
			break
		}
		name, isFlag := strings.CutPrefix(a, "--")
		if !isFlag || i+1 < len(full) && !strings.HasPrefix(full[i+1], "-") {
			continue
		}
		if s, _, err := runSettings.Find(name); err == nil && s.Bare != "" {
			full[i] += "=" + s.Bare
		}
	}
	return full
}

var runSettings = config.RunSettings()

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

func hasOldEngineArgs(args []string) bool { return !slices.Equal(args, oldEngineArgs(args)) }

// oldEngineArgs replaces the old flag whose value is the rest of the command line by "--".
func oldEngineArgs(args []string) []string {
	for i, a := range args {
		if a == "--" {
			break
		}
		if name, first, inline := strings.Cut(a, "="); name == config.OldEngineArgs {
			rest := args[i+1:]
			if inline {
				rest = append(strings.Fields(first), rest...)
			}
			return slices.Concat(args[:i], []string{"--"}, rest)
		}
	}
	return args
}

// oldCommand translates a word of the older harness's script, such as run-offline, into the corresponding campaign. The
// word may stand alone, after "submission", or after flags; notes describe the translation. getenv reads the old
// environment variables, which only these words use.
func oldCommand(args []string, getenv func(string) string) (now, notes []string) {
	at, word := -1, config.OldCommand{}
	for i, a := range args[min(1, len(args)):] {
		if a == "--" {
			break
		}
		for _, old := range config.OldCommands() {
			if a == old.Word && at < 0 {
				at, word = i+1, old
			}
		}
	}
	if at < 0 {
		return args, nil
	}
	rest := slices.Concat(args[1:at], args[at+1:])
	if len(rest) > 0 && rest[0] == "submission" {
		rest = rest[1:]
	}
	end := slices.Index(rest, "--")
	if end < 0 {
		end = len(rest)
	}
	flags := slices.Clone(rest[:end])
	if word.Audits {
		flags = auditFlags(flags)
	}
	if len(word.Args) > 0 && !slices.ContainsFunc(flags, func(f string) bool { return isFlag(f, word.Args[0]) }) {
		flags = append(flags, word.Args...)
	}
	flags, notes = oldVariables(flags, getenv)
	notes = append([]string{word.Word + " is now `mlperf-go submission run " + strings.Join(word.Args, " ") + "`"},
		notes...)
	return slices.Concat(args[:1], []string{"submission", "run"}, flags, rest[end:]), notes
}

func isFlag(arg, name string) bool { return arg == name || strings.HasPrefix(arg, name+"=") }

// auditFlags replaces the audits and the scenario behind run-compliance by flags; without an audit it selects all.
func auditFlags(words []string) (flags []string) {
	audits := false
	for _, w := range words {
		switch {
		case strings.HasPrefix(strings.ToUpper(w), "TEST"):
			flags, audits = append(flags, "--only", strings.ToUpper(w)), true
		case slices.ContainsFunc([]string{"Server", "Offline"}, func(s string) bool { return strings.EqualFold(s, w) }):
			flags = append(flags, "--scenario", w)
		default:
			flags = append(flags, w)
		}
	}
	if !audits {
		flags = append(flags, "--only", "TEST07", "--only", "TEST09")
	}
	return flags
}

// oldVariables adds the flags for old environment variables, unless they are given.
func oldVariables(flags []string, getenv func(string) string) (all, notes []string) {
	all = flags
	set := map[string]bool{}
	for _, v := range config.OldVariables() {
		value := getenv(v.Name)
		key := "--" + v.Flag + " " + v.Before
		given := slices.ContainsFunc(flags, func(f string) bool {
			return isFlag(f, "--"+v.Flag) || slices.ContainsFunc(config.OldNamesOf(v.Flag), func(old string) bool {
				return isFlag(f, "--"+old)
			})
		})
		if value == "" || set[key] || given && v.Before == "" {
			continue
		}
		set[key] = true
		text := v.Before + value + v.After
		all = append(all[:len(all):len(all)], "--"+v.Flag+"="+text)
		notes = append(notes, fmt.Sprintf("the environment variable %s is read as --%s %s", v.Name, v.Flag, text))
	}
	return all, notes
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
	hint := "It accepts only flags: write --FLAG=VALUE. Arguments of an engine go to " +
		"`mlperf-go server up ... -- ARGUMENTS`"
	if name, _, pair := strings.Cut(c.Args().First(), "="); pair && flagNamed(c.Command.Flags, "overrides") != nil {
		hint = "Write overrides in one word, as --overrides A=1," + name + "=VALUE, and quote values with spaces"
	}
	if flagNamed(c.Command.Flags, "model") != nil && slices.Contains(modelNames(), c.Args().First()) {
		hint = "Write --model " + c.Args().First()
	}
	return exit.Usage(exit.CodeArgument, hint,
		"unexpected argument %q of %s", c.Args().First(), strings.TrimPrefix(c.Command.HelpName, "mlperf-go "))
}

func oneArgument(c *cli.Context, what, name string) (string, error) {
	if c.NArg() != 1 {
		return "", exit.Usage(exit.CodeArgument, "Write `mlperf-go submission "+c.Command.Name+" "+name+"`",
			"this command requires one %s", what)
	}
	return c.Args().First(), nil
}
