package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/compliance"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// needsCommand shows which audits a benchmark needs.
type needsCommand struct{ *program }

func (cmd needsCommand) command() *cli.Command {
	return &cli.Command{
		Name: "needs", Usage: "show which audits a benchmark requires, and why",
		OnUsageError: usageError,
		Description:  "Without --model it prints a table of all benchmarks and rounds.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "benchmark; default: all"},
			&cli.StringFlag{Name: "round", Value: rounds.Current, Usage: "round"},
			&cli.StringFlag{Name: "division", Value: "closed", Usage: "closed, open or network"}},
		Action: cmd.show,
	}
}

func (cmd needsCommand) show(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if _, err := rounds.Find(c.String("round")); err != nil {
		return exit.Usage(exit.CodeRound, "", "%w", err)
	}
	name := c.String("model")
	if name == "" {
		return cmd.allNeeds(c.String("division"))
	}
	if m, err := models.Find(name); err == nil { // the rules of audits cover more benchmarks than this program can run
		name = m.Row.Name
	}
	needs, err := compliance.Needs(name, c.String("round"), c.String("division"))
	if err != nil {
		return exit.Usage(exit.CodeAudit, "", "%w", err)
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"model": name, "round": c.String("round"), "needs": needs})
		return nil
	}
	w := cmd.out.table()
	for _, n := range needs {
		needed := "-"
		if n.Needed {
			needed = "needed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", n.Test, needed, n.Why)
	}
	w.Flush()
	return nil
}

// allNeeds prints a table of all benchmarks and rounds: the audits, "none", or "-" if the round lacks the benchmark.
func (cmd needsCommand) allNeeds(division string) error {
	type cell struct {
		Model string            `json:"model"`
		Round string            `json:"round"`
		Needs []compliance.Need `json:"needs"`
	}
	var cells []cell
	w := cmd.out.table()
	header := []string{"benchmark"}
	for _, r := range rounds.All() {
		header = append(header, r.Name)
	}
	lines := []string{strings.Join(header, "\t")}
	for _, name := range compliance.Benchmarks() {
		line := []string{name}
		for _, r := range rounds.All() {
			needs, err := compliance.Needs(name, r.Name, division)
			if err != nil {
				return exit.Usage(exit.CodeAudit, "", "%w", err)
			}
			cells = append(cells, cell{name, r.Name, needs})
			line = append(line, inShort(needs, compliance.InRound(name, r.Name)))
		}
		lines = append(lines, strings.Join(line, "\t"))
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"division": division, "benchmarks": cells})
		return nil
	}
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
	w.Flush()
	cmd.out.line("\n-: the benchmark is not in the round. `mlperf-go compliance needs --model NAME --round " +
		"ROUND` explains each audit.")
	return nil
}

func inShort(needs []compliance.Need, inRound bool) string {
	var tests []string
	for _, n := range needs {
		if n.Needed {
			tests = append(tests, n.Test)
		}
	}
	switch {
	case len(tests) > 0:
		return strings.Join(tests, " ")
	case inRound:
		return "none"
	}
	return "-"
}
