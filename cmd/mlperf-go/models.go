package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// modelsCommand lists the benchmarks or describes one.
type modelsCommand struct{ *program }

func (cmd modelsCommand) command() *cli.Command {
	return &cli.Command{
		Name: "models", Usage: "list the benchmarks, or describe one", ArgsUsage: "[NAME]",
		OnUsageError: usageError,
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return cmd.list()
			}
			if c.NArg() > 1 {
				return exit.Usage(exit.CodeArgument, "Write `mlperf-go models NAME`",
					"%d names given, but only one benchmark can be shown", c.NArg())
			}
			m, err := models.Find(c.Args().First())
			if err != nil {
				return err
			}
			return cmd.show(m.Row)
		},
	}
}

func (cmd modelsCommand) list() error {
	if cmd.json {
		list := []modelJSON{}
		for _, r := range models.Rows() {
			list = append(list, describeRow(r))
		}
		cmd.writeJSON(map[string]any{"models": list})
		return nil
	}
	w := cmd.out.table()
	fmt.Fprintln(w, "name\tscenarios\trows\tserved model")
	for _, r := range models.Rows() {
		served := "-"
		if len(r.ServedModels) > 0 {
			served = r.ServedModels[0]
		}
		scenarios := ""
		for i, s := range r.Scenarios {
			if i > 0 {
				scenarios += ", "
			}
			scenarios += string(s.Scenario)
		}
		rows := "any"
		if r.DatasetSamples > 0 {
			rows = strconv.Itoa(r.DatasetSamples)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, scenarios, rows, served)
	}
	w.Flush()
	return nil
}

// modelJSON is a benchmark for scripts: its main properties by name, and all fields with their sources.
type modelJSON struct {
	Name         string            `json:"name"`
	Aliases      []string          `json:"aliases"`
	ServedModels []string          `json:"served_models"`
	Samples      int               `json:"samples"`
	Scenarios    []models.Scenario `json:"scenarios"`
	Fields       []models.Field    `json:"fields"`
}

func describeRow(r *models.Row) modelJSON {
	m := modelJSON{Name: r.Name, Aliases: r.Aliases, ServedModels: r.ServedModels, Samples: r.DatasetSamples,
		Fields: r.Describe(rounds.Describe(r)...)}
	for _, s := range r.Scenarios {
		m.Scenarios = append(m.Scenarios, s.Scenario)
	}
	return m
}

func (cmd modelsCommand) show(r *models.Row) error {
	if cmd.json {
		cmd.writeJSON(describeRow(r))
		return nil
	}
	_, err := io.WriteString(cmd.stdout, describeText(cmp.Or(cmd.out.width, pageWidth), r.Describe(rounds.Describe(r)...)))
	return err
}

// pageWidth is the maximum length of a line of a description in characters, where there is no terminal.
const pageWidth = 100

// describeText prints fields in two columns. If several fields share a source, a number after the value refers to a
// list at the end.
func describeText(width int, fields []models.Field) string {
	column, uses := 0, map[string]int{}
	for _, f := range fields {
		column = max(column, utf8.RuneCountInString(f.Name)+2)
		uses[f.Source]++
	}
	var b strings.Builder
	var sources []string
	for _, f := range fields {
		text := f.Value
		if n := uses[f.Source]; n > 1 && f.Source != "" {
			if !slices.Contains(sources, f.Source) {
				sources = append(sources, f.Source)
			}
			text += fmt.Sprintf(" [%d]", 1+slices.Index(sources, f.Source))
		} else if f.Source != "" {
			text += " (" + f.Source + ")"
		}
		hang(&b, f.Name, column, text, width)
	}
	b.WriteString("\nsources\n")
	for i, s := range sources {
		hang(&b, fmt.Sprintf("  [%d]", i+1), 6, s, width)
	}
	return b.String()
}
