package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets/official"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/workload/catalog"
)

// get prints where a benchmark's official files or a public data set come from, and compares official files that were
// fetched. It downloads nothing: the official downloader is a script from the network that logs in with a browser, so
// users start it themselves.
func (cmd datasetCommand) get(c *cli.Context) error {
	if c.NArg() == 0 {
		cmd.listPublic()
		return nil
	}
	m, err := models.Find(c.Args().First())
	if set, ok := catalog.FindPublicSet(c.Args().First()); err != nil && ok {
		return cmd.getPublic(c, &set)
	}
	if err != nil {
		return fmt.Errorf("%w; `mlperf-go dataset get` lists the public data sets", err)
	}
	if len(m.Row.Data.Files) == 0 {
		return exit.Usage(exit.CodeDataset, "Any file with its columns can be used; `mlperf-go models "+m.Row.Name+
			"` lists them", "%s has no official data set", m.Row.Name)
	}
	results := []*official.Result{}
	for _, path := range c.Args().Tail() {
		r, err := official.Verify(path, m.Row)
		if err != nil {
			return exit.Usage(exit.CodeDataset, "", "%w", err)
		}
		if results = append(results, r); !r.OK() {
			cmd.exit = run.ExitInvalid
		}
	}
	switch {
	case cmd.json:
		cmd.writeJSON(map[string]any{"model": m.Row.Name, "source": sourceJSON(&m.Row.Data), "verified": results})
	case len(results) > 0:
		cmd.printVerified(results)
	default:
		cmd.printSource(m.Row)
	}
	return nil
}

func (cmd datasetCommand) printSource(row *models.Row) {
	d := &row.Data
	w := cmd.out.table()
	fmt.Fprintf(w, "benchmark\t%s\nsource\t%s\npage\t%s\nlicence\t%s\n", row.Name, d.From, d.URL, d.Licence)
	w.Flush()
	fmt.Fprintln(cmd.stdout)
	w = cmd.out.table()
	fmt.Fprintln(w, "file\tfor\tformat\trows\tsize")
	for _, f := range d.Files {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.Name, f.For(), f.Format, f.Rows(), f.Size())
	}
	w.Flush()
	for _, f := range d.Files {
		if f.SHA256 != "" {
			fmt.Fprintf(cmd.stdout, "sha256 %s (unpacked)\n", f.SHA256)
		}
	}
	cmd.printFetch(append(append([]string{}, d.Fetch...), d.Prepare...))
	if d.Stored() {
		cmd.out.line("\nThe command asks you to log in with a browser, and checks the files against their MD5 sums.")
	}
	cmd.out.line("\nThen check the downloaded file: mlperf-go dataset get %s FILE", row.Name)
}

// printFetch prints the lines of a shell that download a data set.
func (cmd datasetCommand) printFetch(lines []string) {
	fmt.Fprintln(cmd.stdout, "\nFetch it with:")
	for _, line := range lines {
		for _, l := range shellLines(line, cmd.out.width-2) {
			fmt.Fprintln(cmd.stdout, "  "+l)
		}
	}
}

func (cmd datasetCommand) printVerified(results []*official.Result) {
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(cmd.stdout)
		}
		as := "with the official files"
		if r.File != "" {
			as = "with " + r.File
		}
		fmt.Fprintf(cmd.stdout, "%s, compared %s:\n", r.Path, as)
		w := cmd.out.table(2)
		for _, check := range r.Checks {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", check.Name, check.Found, verdictOf(check))
		}
		w.Flush()
	}
}

// verdictOf returns the last column of a check.
func verdictOf(c official.Check) string {
	switch {
	case !c.OK:
		return "WRONG: expected " + c.Expected
	case c.Expected == "":
		return "no published value"
	}
	return "ok"
}

// dataFileJSON is an official file for scripts; unknown values are left out.
type dataFileJSON struct {
	Name    string `json:"name"`
	Use     string `json:"use,omitempty"`
	Format  string `json:"format"`
	Samples int    `json:"samples,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
}

func sourceJSON(d *models.DataSource) any {
	files := make([]dataFileJSON, len(d.Files))
	for i, f := range d.Files {
		files[i] = dataFileJSON(f)
	}
	return map[string]any{"from": d.From, "url": d.URL, "licence": d.Licence, "fetch": d.Fetch,
		"prepare": append([]string{}, d.Prepare...), "files": files}
}
