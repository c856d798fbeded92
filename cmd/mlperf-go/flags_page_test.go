package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

var updateFlags = flag.Bool("update-flags", false, "write docs/reference/flags.md anew")

const flagsPage = "../../docs/reference/flags.md"

// docs/reference/flags.md lists every flag as the commands define it.
func TestTheFlagsPageIsUpToDate(t *testing.T) {
	want := flagsText()
	if *updateFlags {
		require.NoError(t, os.WriteFile(flagsPage, []byte(want), 0o644))
	}
	got, err := os.ReadFile(flagsPage)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "go test ./cmd/mlperf-go -run TestTheFlagsPage -update-flags writes it anew")
}

func flagsText() string {
	app := newTestProgram().app()
	var b strings.Builder
	b.WriteString("# Flags\n\nA test generates this page from `mlperf-go COMMAND --help`. " +
		"Every flag can be set in the\nenvironment: " +
		"`MLPERF_GO_TARGET_QPS` sets `--target-qps`. Flags take precedence over the environment,\nand the environment over " +
		"a file of `--config`. Durations are Go's, such as `90s`; a bare whole\nnumber is seconds.\n" +
		"[Move from the Python harness](../how-to/migration.md) lists the older harness's names.\n\n" +
		"`COMMAND --help` describes a command's basic flags and names the others; `COMMAND --help-all`\n" +
		"describes all. Bash, zsh and fish complete commands, flags, benchmarks, scenarios and files after\n" +
		"`source <(mlperf-go completion bash)`, the same with `zsh`, or `mlperf-go completion fish | source`.\n\n" +
		"## All commands\n\n")
	b.WriteString("`--help` or `-h` prints the help of a command, `--version` or `-v` the version.\n\n")
	flagTable(&b, globalFlags(), nil)
	b.WriteString("\n## Settings of a test\n\nFor `run`, `submission`, `submission run`, `compliance run` " +
		"and\n`preflight`. " +
		"`--config FILE` accepts the same names as YAML.\n")
	group, settings := "", map[string]bool{"config": true}
	for _, s := range config.RunSettings() {
		for _, name := range s.Names() {
			settings[name] = true
		}
		if s.Hidden || s.Ignored {
			continue
		}
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n### %s\n\n| flag | default | meaning |\n| --- | --- | --- |\n", group)
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", s.Name, s.Default, cell(usageOf(s)))
	}
	each(app.Commands, "", func(name string, c *cli.Command) {
		skip := map[string]bool{"help": true}
		for _, f := range globalFlags() {
			skip[f.Names()[0]] = true
		}
		if has(c, "target-qps") {
			for name := range settings {
				skip[name] = true
			}
		}
		var own strings.Builder
		if flagTable(&own, c.Flags, skip) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n%s", name, c.Usage, own.String())
		}
	})
	return b.String()
}

func each(commands []*cli.Command, above string, do func(string, *cli.Command)) {
	for _, c := range commands {
		do(above+c.Name, c)
		each(c.Subcommands, above+c.Name+" ", do)
	}
}

func has(c *cli.Command, name string) bool {
	for _, f := range c.Flags {
		if f.Names()[0] == name {
			return true
		}
	}
	return false
}

// flagTable writes the flags that are not skipped, and returns their number.
func flagTable(b *strings.Builder, flags []cli.Flag, skip map[string]bool) int {
	n := 0
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if v, hides := f.(cli.VisibleFlag); !ok || skip[f.Names()[0]] || hides && !v.IsVisible() {
			continue
		}
		if n++; n == 1 {
			b.WriteString("| flag | default | meaning |\n| --- | --- | --- |\n")
		}
		standard := d.GetDefaultText()
		if _, isSwitch := f.(*cli.BoolFlag); isSwitch && standard == "false" {
			standard = ""
		}
		fmt.Fprintf(b, "| `--%s` | %s | %s |\n", f.Names()[0], cell(strings.Trim(standard, `"`)), cell(d.GetUsage()))
	}
	return n
}

// cell returns the text as a cell of a table, without the backends that only tests register.
func cell(text string) string {
	return strings.NewReplacer("`", "", "|", "\\|", "broken-encode, ", "", "broken-serve, ", "").Replace(text)
}
