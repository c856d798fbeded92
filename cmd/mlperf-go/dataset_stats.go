package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets/official"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/report/lengths"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/tokenizer"
)

func plotFlag() cli.Flag {
	return &cli.StringFlag{Name: "plot", Usage: "file to draw the histograms into, .svg or .png"}
}

func (cmd datasetCommand) stats(c *cli.Context) error {
	path, row, o, err := cmd.file(c)
	if err != nil {
		return err
	}
	format, err := plotFormat(c)
	if err != nil {
		return err
	}
	count, err := tokenCounter(c)
	if err != nil {
		return err
	}
	r, ds, err := lengths.OfDataset(path, o, row, count)
	if err != nil {
		return datasetFailed(c, err)
	}
	if format != "" {
		if err := drawReports(c.String("plot"), format, r.Panels(filepath.Base(path))); err != nil {
			return err
		}
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": path, "format": ds.Format, "sha256": ds.SHA256, "stats": r,
			"benchmark_samples": row.DatasetSamples, "notes": append([]string{}, ds.Notes...), "plot": c.String("plot")})
		return nil
	}
	cmd.out.line("%s: %s, %s", path, ds.Format, official.Rows(r.Samples, row))
	for _, note := range ds.Notes {
		cmd.out.line("note: %s", note)
	}
	cmd.printLengthTable(r)
	return nil
}

// plotFormat returns the format that the suffix of --plot names; empty without the flag.
func plotFormat(c *cli.Context) (string, error) {
	if !c.IsSet("plot") {
		return "", nil
	}
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(c.String("plot"))), ".")
	if format != plot.SVG && format != plot.PNG {
		return "", exit.Usage(exit.CodePlot, "Use .svg or .png", "unknown suffix of --plot %s", c.String("plot"))
	}
	return format, nil
}

// tokenCounter returns the function that counts tokens with --tokenizer; nil without it.
func tokenCounter(c *cli.Context) (func(text string) int, error) {
	if !c.IsSet("tokenizer") {
		return nil, nil
	}
	t, err := tokenizer.Open(c.String("tokenizer"))
	if err != nil {
		return nil, exit.Usage(exit.CodeTokenizer, "", "%w", err)
	}
	var ids []int32
	return func(text string) int {
		ids = t.AppendIDs(ids[:0], text, false)
		return len(ids)
	}, nil
}

func drawReports(path, format string, panels []plot.Panel) error {
	if len(panels) == 0 {
		return exit.Usage(exit.CodePlot, "Pass --tokenizer to count the tokens of texts", "there are no lengths to draw")
	}
	return atomicfile.Write(path, func(w io.Writer) error { return plot.Write(w, format, panels) })
}

// printLengthTable prints a report's lengths as a table.
func (c *console) printLengthTable(r *lengths.Report) {
	w := c.out.table()
	fmt.Fprintln(w, "\nlength\tcount\tmin\tmean\tp50\tp90\tp99\tmax")
	for _, m := range r.Measures {
		f := m.Figures()
		fmt.Fprintf(w, "%s\t%d", m.Name, f.Count)
		for _, v := range []float64{f.Min, f.Mean, f.P50, f.P90, f.P99, f.Max} {
			fmt.Fprintf(w, "\t%s", shortFigure(v))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

// shortFigure formats a length or a ratio with at most three decimals, fewer for large values.
func shortFigure(v float64) string {
	decimals := 3
	if v >= 100 {
		decimals = 1
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// printParts prints the number of occurrences of each word, with its share.
func (c *console) printParts(title, of string, counts map[string]int) {
	total := 0
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return
	}
	w := c.out.table()
	fmt.Fprintf(w, "\n%s\t%s\tshare\n", title, of)
	for _, part := range lengths.Parts(counts) {
		fmt.Fprintf(w, "%s\t%s\t%.2f %%\n", part.Name, models.Grouped(part.Count), 100*float64(part.Count)/float64(total))
	}
	w.Flush()
}
