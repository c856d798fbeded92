package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// pageText is the text of a file of the repository.
func pageText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
	return string(b)
}

var listedCommand = regexp.MustCompile(`(?m)^  ([a-z]+)  +\S`)

// help returns the help text of a command and of its subcommands.
func help(t *testing.T, command ...string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	require.Zero(t, mainCode(slices.Concat([]string{"mlperf-go"}, command, []string{"--help"}), nil, &out, &complaints),
		"%v: %s", command, complaints.String())
	all := out.String()
	require.Contains(t, all, "Usage: mlperf-go", "%v", command)
	_, list, _ := strings.Cut(all, "\nCommands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range listedCommand.FindAllStringSubmatch(list, -1) {
		if m[1] != "help" {
			all += help(t, append(slices.Clone(command), m[1])...)
		}
	}
	return all
}

var longFlag = regexp.MustCompile("(?:^|[\\s`'(])--([a-z][a-z0-9-]+)")

func flagsIn(text string) []string {
	var names []string
	for _, m := range longFlag.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// foreignFlags are flags of other programs that the pages mention.
var foreignFlags = []string{"max-model-len", "enable-force-include-usage"}

func TestHelpAndPagesSpeakOfTheSameFlags(t *testing.T) {
	known := flagsIn(help(t))
	shown := flagsIn(help(t, "run"))
	for _, s := range config.RunSettings() {
		if !s.Hidden {
			require.Contains(t, shown, s.Name, "`mlperf-go run --help`")
		}
		known = append(known, s.Names()...)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "docs/explanation/architecture.md",
		"docs/reference/troubleshooting.md"} {
		for _, f := range flagsIn(pageText(t, name)) {
			require.True(t, slices.Contains(known, f) || slices.Contains(foreignFlags, f),
				"%s speaks of --%s, which no command has", name, f)
		}
	}
}

// The page for users of the older harness lists every old name that is accepted, and its right-hand side has only
// existing flags.
func TestMigrationPageIsComplete(t *testing.T) {
	page := pageText(t, "docs/how-to/migration.md")
	known := flagsIn(help(t))
	for _, s := range config.RunSettings() {
		known = append(known, s.Names()...)
		for _, a := range s.Aliases {
			if a.Value == "" {
				require.Contains(t, page, "`--"+a.Name, "alias of --%s", s.Name)
			}
		}
		if s.Hidden {
			require.Contains(t, page, "`--"+s.Name)
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if columns := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && len(columns) > 1 {
			for _, f := range flagsIn(columns[1]) {
				require.Contains(t, known, f, line)
			}
		}
	}
}
