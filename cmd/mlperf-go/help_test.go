package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// eachCommand calls do for every visible command.
func eachCommand(list []*cli.Command, above []*cli.Command, do func(path []*cli.Command)) {
	for _, c := range list {
		if c.Hidden {
			continue
		}
		path := append(slices.Clone(above), c)
		do(path)
		eachCommand(c.Subcommands, path, do)
	}
}

// helpOf renders the help of a command at a width.
func helpOf(app *cli.App, path []*cli.Command, width int, all bool) string {
	h := &helpText{width: width, all: all}
	if len(path) == 0 {
		h.program(app)
	} else {
		h.ofCommand(path)
	}
	return h.b.String()
}

// The help of `submission` contains no flag that the command rejects.
func TestHelpOfSubmissionHasNoPartialFlags(t *testing.T) {
	app := newTestProgram().app()
	eachCommand(app.Commands, nil, func(path []*cli.Command) {
		has := commandName(path) == "submission run"
		if !has && commandName(path) != "submission" {
			return
		}
		text := helpOf(app, path, usualWidth, true)
		for _, flag := range []string{"--only", "--dry-run", "--print-script"} {
			require.Equal(t, has, strings.Contains(text, "\n  "+flag), "%s %s", commandName(path), flag)
		}
	})
}

// The help of a command lists the scenarios that it accepts.
func TestHelpListsTheScenariosOfACommand(t *testing.T) {
	want := map[string]string{"tune": "Offline, Server, Interactive", "sweep": "Server, Interactive",
		"experiment partition": "Offline", "experiment offline-batching": "Offline",
		"run": "Offline, Server, Interactive, SingleStream"}
	app := newTestProgram().app()
	eachCommand(app.Commands, nil, func(path []*cli.Command) {
		if scenarios := want[commandName(path)]; scenarios != "" {
			text := strings.Join(strings.Fields(helpOf(app, path, usualWidth, true)), " ")
			require.Contains(t, text, "issues the samples ("+scenarios+")", commandName(path))
			delete(want, commandName(path))
		}
	})
	require.Empty(t, want)
}

// Every command's help begins with two examples that the command accepts, and describes at most a dozen basic flags if
// the command has more.
func TestHelpStartsWithExamples(t *testing.T) {
	app := newTestProgram().app()
	names := []string{""}
	eachCommand(app.Commands, nil, func(path []*cli.Command) {
		c, name := path[len(path)-1], commandName(path)
		names = append(names, name)
		h := helpTable[name]
		require.Len(t, h.examples, 2, "two examples of %q, in help_table.go", name)
		require.LessOrEqual(t, len(h.basic), 12, name)
		for _, word := range h.basic {
			require.NotNil(t, flagNamed(c.Flags, word), "%s has no --%s", name, word)
		}
	})
	for name, h := range helpTable {
		require.Contains(t, names, name, "help_table.go has a command that the program lacks")
		for _, e := range h.examples {
			words, found := strings.CutPrefix(e.line, "mlperf-go ")
			if !found {
				continue // source <(...) of a shell
			}
			require.NotRegexp(t, `[<>&;*?$]`, regexp.MustCompile(`'[^']*'`).ReplaceAllString(words, ""),
				"a shell would change this example")
			args := append([]string{"mlperf-go"}, strings.Fields(words)...)
			in := invoked(app.Commands, app.Flags, args)
			require.True(t, strings.HasPrefix(commandName(in.path), name), e.line)
			for _, word := range args[1:] {
				if word == "--" {
					break
				}
				if flag, _, _ := cutFlag(word); strings.HasPrefix(word, "-") {
					require.NotNil(t, flagNamed(in.known, flag), "%s: no %s", e.line, word)
				}
			}
		}
	}
}

// No line is wider than the width, from narrow windows to wide ones, unless it is a single word.
func TestHelpFitsTheTerminal(t *testing.T) {
	app := newTestProgram().app()
	for _, width := range []int{64, 80, 120} {
		check := func(path []*cli.Command) {
			for _, all := range []bool{false, true} {
				for _, line := range strings.Split(helpOf(app, path, width, all), "\n") {
					if len(strings.Fields(line)) > 3 { // a flag with its value and a backslash cannot be broken
						require.LessOrEqual(t, utf8.RuneCountInString(line), width, "%s: %q", commandName(path), line)
					}
				}
			}
		}
		check(nil)
		eachCommand(app.Commands, nil, check)
	}
}

// The help names every visible flag, --help-all describes it, and the groups have the order of the settings' table.
func TestHelpHasEveryFlag(t *testing.T) {
	app := newTestProgram().app()
	eachCommand(app.Commands, nil, func(path []*cli.Command) {
		c := path[len(path)-1]
		brief, all := helpOf(app, path, 80, false), helpOf(app, path, 1000, true)
		require.Less(t, strings.Index(brief, "\nExamples:"), strings.Index(brief, "\nFurther flags"), commandName(path))
		for _, f := range c.Flags {
			name := "--" + f.Names()[0]
			if isVisible(f) {
				require.Contains(t, brief, name, commandName(path))
				require.Contains(t, all, "  "+flagLine(commandName(path), f), commandName(path))
				require.Contains(t, all, describeFlag(f), commandName(path))
			} else {
				require.NotContains(t, flagsIn(brief), f.Names()[0], commandName(path))
			}
		}
	})
	all := helpOf(app, []*cli.Command{app.Command("run")}, 80, true)
	last := 0
	for _, s := range config.RunSettings() {
		if s.Hidden {
			continue
		}
		at := strings.Index(all, "\n"+s.Group+":\n")
		require.GreaterOrEqual(t, at, last, "the group %s", s.Group)
		last = at
	}
	require.Greater(t, strings.Index(all, "\n"+globalGroup+":\n"), last)
}

func TestHelpIsAskedForInEveryPlace(t *testing.T) {
	app := newTestProgram().app()
	for line, want := range map[string]string{
		"mlperf-go --help":                                "",
		"mlperf-go -h":                                    "",
		"mlperf-go run --help":                            "run",
		"mlperf-go run -h --model x":                      "run",
		"mlperf-go run --model x --help-all":              "run all",
		"mlperf-go --json submission run --help":          "submission run",
		"mlperf-go dataset info FILE --help":              "dataset info",
		"mlperf-go run --help --unknown":                  "run",
		"mlperf-go run":                                   "not",
		"mlperf-go run --output-dir --help":               "not",
		"mlperf-go server up --server-config F -- -h":     "not",
		"mlperf-go server up --server-config F -- --help": "not",
	} {
		path, all, ok := helpAsked(app, strings.Fields(line))
		got := commandName(path)
		if all {
			got += " all"
		}
		if !ok {
			got = "not"
		}
		require.Equal(t, want, got, line)
	}
}

// The help is wrapped at the width of a real terminal.
func TestHelpInATerminal(t *testing.T) {
	t.Parallel()
	longest := map[uint16]int{}
	for _, columns := range []uint16{60, 100} {
		code, text := inTerminal(t, columns, nil, "mlperf-go", "run", "--help").end()
		require.Zero(t, code, text)
		for _, line := range strings.Split(text, "\n") {
			longest[columns] = max(longest[columns], utf8.RuneCountInString(line))
		}
		require.LessOrEqual(t, longest[columns], int(columns), text)
	}
	require.Greater(t, longest[100], 80, "the width is used")
}
