package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/catalog"
)

// listPublic prints the public data sets of workloads.
func (cmd datasetCommand) listPublic() {
	sets := catalog.PublicSets()
	if cmd.json {
		cmd.writeJSON(map[string]any{"data_sets": sets})
		return
	}
	w := cmd.out.table()
	w.row("data set", "contents", "licence")
	for _, s := range sets {
		w.row(s.Name, s.From, s.Licence)
	}
	w.Flush()
	cmd.out.line("\n`mlperf-go dataset get NAME` shows how to fetch one. `mlperf-go models` lists the benchmarks, whose " +
		"official files have their names.")
}

// getPublic prints where a public data set comes from, and how a profile names it.
func (cmd datasetCommand) getPublic(c *cli.Context, s *catalog.PublicSet) error {
	if c.NArg() > 1 {
		return exit.Usage(exit.CodeArgument, "Name it in a profile and write `mlperf-go bench plan -w PROFILE`",
			"files of %s cannot be compared, because its publisher states no checksums", s.Name)
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"data_set": s, "profile": s.Lines()})
		return nil
	}
	w := cmd.out.table()
	fmt.Fprintf(w, "data set\t%s\nsource\t%s\npage\t%s\nlicence\t%s\n", s.Name, s.From, s.URL, s.Licence)
	w.Flush()
	cmd.printFetch(slices.Concat(s.Fetch, s.Prepare))
	if s.Note != "" {
		cmd.out.line("\n%s", s.Note)
	}
	fmt.Fprintln(cmd.stdout, "\nName it in a profile:")
	for _, l := range s.Lines() {
		fmt.Fprintln(cmd.stdout, "  "+l)
	}
	if s.Run != "" {
		cmd.out.line("\nOr use a predefined profile: mlperf-go bench run %s -x %s", s.Run, s.File)
	}
	return nil
}
