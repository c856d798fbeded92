package main

import (
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/catalog"
	"github.com/mlperf-go/mlperf-go/workload/dialect"
)

func (cmd benchCommand) list() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the predefined workload profiles and the use cases, or print one", ArgsUsage: "[NAME]",
		OnUsageError: usageError, Action: cmd.doList,
		Flags: []cli.Flag{&cli.StringFlag{Name: "harness", Aliases: []string{"l"}, Category: workloadGroup,
			Usage: "list the profiles of this tool only"}},
	}
}

func (cmd benchCommand) doList(c *cli.Context) error {
	if c.NArg() > 1 {
		return exit.Usage(exit.CodeArgument, "Write `mlperf-go bench list NAME`", "expected one profile, got %d", c.NArg())
	}
	if h := c.String("harness"); h != "" && !slices.Contains(catalog.Harnesses(), h) {
		return exit.Usage(exit.CodeProfile, "", "--harness %q %s", h, config.NotOneOf(h, catalog.Harnesses()))
	}
	if c.NArg() > 0 {
		f, err := catalog.Find(c.String("harness"), c.Args().First())
		if err != nil {
			return exit.Usage(exit.CodeProfile, "", "%w", err)
		}
		cmd.out.paint(plain, string(f.Text))
		return nil
	}
	type row struct {
		Harness     string `json:"harness"`
		Name        string `json:"name"`
		UseCase     string `json:"use_case,omitempty"`
		Load        string `json:"load"`
		Data        string `json:"data"`
		Description string `json:"description"`
	}
	var rows []row
	for _, f := range catalog.All() {
		if h := c.String("harness"); h != "" && h != f.Harness {
			continue
		}
		p, err := f.Read(dialect.Options{Lookup: cmd.variable})
		if err != nil {
			return exit.Usage(exit.CodeProfile, "", "%w", err)
		}
		rows = append(rows, row{f.Harness, f.Name, p.UseCase, p.Load.Summary(), p.Data.Summary(), p.Description})
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"profiles": rows, "use_cases": catalog.UseCases()})
		return nil
	}
	t := cmd.out.table()
	t.row("harness", "profile", "use case", "data")
	for _, r := range rows {
		t.row(r.Harness, r.Name, r.UseCase, r.Data)
	}
	t.Flush()
	t = cmd.out.table()
	t.row("\nuse case", "ISL", "ISV", "OSL", "OSV", "OSP", "goal")
	for _, u := range catalog.UseCases() {
		t.row(u.ID, u.ISL, u.ISV, u.OSL, u.OSV, u.OSP, u.Goal)
	}
	t.Flush()
	return nil
}

func (cmd benchCommand) initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "write a workload profile in this program's own form", OnUsageError: usageError,
		Description: "The profile is a copy of a predefined one, or the translation of another tool's file.",
		Flags: append(placeholderFlags(),
			&cli.StringFlag{Name: "output", Usage: "file to write; default: print it"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"}),
		Action: cmd.doInit,
	}
}

func (cmd benchCommand) doInit(c *cli.Context) error {
	_, list, err := cmd.profilesOf(c)
	if err != nil {
		return err
	}
	if len(list) != 1 {
		return exit.Usage(exit.CodeProfile, "Give one model and no --experiments", "there are %d profiles to write",
			len(list))
	}
	text, err := list[0].Profile.Encode()
	if err != nil {
		return err
	}
	path := c.String("output")
	if path == "" {
		cmd.out.paint(plain, string(text))
		return nil
	}
	if _, err := os.Lstat(path); err == nil && !c.Bool("force") {
		return exit.Usage(exit.CodeOutput, "Choose another --output, or add --force", "%s exists", path)
	}
	if err := atomicfile.WriteBytes(path, text); err != nil {
		return exit.Environment(exit.CodeOutput, "Choose another --output", "the profile cannot be written: %w", err)
	}
	cmd.notice(path)
	return nil
}
