package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plot"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

func infoFlags() []cli.Flag {
	return []cli.Flag{
		plotFlag(),
		&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json or its folder, to count the tokens of texts"},
	}
}

// lengthSet holds values of a data set that are shown as a histogram.
type lengthSet struct {
	name, unit, of string // of is the plural of the measured things
	values         []int
}

func (cmd datasetCommand) info(c *cli.Context) error {
	path, row, o, err := cmd.file(c)
	if err != nil {
		return err
	}
	format, err := plotFormat(c)
	if err != nil {
		return err
	}
	o.KeepTarget, o.KeepText = true, c.IsSet("tokenizer")
	ds, err := datasets.Open(path, o)
	if err != nil {
		return datasetFailed(c, err)
	}
	targets, err := countTokens(c, ds)
	if err != nil {
		return err
	}
	stats := datasets.Stats(ds)
	sets := []lengthSet{{"prompt tokens", "tokens", "rows", datasets.InputLengths(ds)},
		{"reference tokens", "tokens", "rows", targets}, {"image bytes", "bytes", "images", datasets.ImageSizes(ds)}}
	if targets != nil {
		summary := datasets.Summarize(targets)
		stats.TargetTokens = &summary
	}
	if c.IsSet("plot") {
		if err := plotLengths(c.String("plot"), format, filepath.Base(path), sets); err != nil {
			return err
		}
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": path, "format": ds.Format, "sha256": ds.SHA256, "schema": ds.Schema,
			"samples": len(ds.Samples), "benchmark_samples": row.DatasetSamples,
			"stats": stats, "notes": ds.Notes, "plot": c.String("plot")})
		return nil
	}
	w := cmd.out.table()
	fmt.Fprintf(w, "file\t%s\nformat\t%s\nsha256\t%s\nschema\t%s\nrows\t%d (the benchmark has %d)\n", path, ds.Format,
		ds.SHA256, ds.Schema, len(ds.Samples), row.DatasetSamples)
	fmt.Fprintf(w, "references\t%d of %d rows have a reference output\n", stats.WithTarget, stats.Samples)
	if stats.Images > 0 {
		total := stats.ImageBytes.Mean * float64(stats.Images)
		fmt.Fprintf(w, "images\t%d, %.1f MiB in files, %.1f MiB in messages\n", stats.Images, total/(1<<20),
			stats.MessageBytes.Mean*float64(stats.Samples)/(1<<20))
	}
	w.Flush()
	for _, note := range ds.Notes {
		cmd.out.line("note: %s", note)
	}
	cmd.printLengths(sets)
	return nil
}

// printLengths prints a summary and a histogram of each set that is not empty.
func (cmd datasetCommand) printLengths(sets []lengthSet) {
	for _, s := range sets {
		if len(s.values) == 0 {
			continue
		}
		t := datasets.Summarize(s.values)
		cmd.out.line("\n%s: min %d, mean %.1f, median %d, p99 %d, max %d", s.name, t.Min, t.Mean, t.Median,
			t.P99,
			t.Max)
		for _, line := range datasets.Histogram(s.values, 16, 50) {
			fmt.Fprintln(cmd.stdout, "  "+line)
		}
	}
}

// countTokens counts the tokens of the references with --tokenizer; nil without it.
func countTokens(c *cli.Context, ds *datasets.Dataset) ([]int, error) {
	if !c.IsSet("tokenizer") {
		return nil, nil
	}
	count, err := tokenCounter(c)
	if err != nil {
		return nil, err
	}
	return datasets.CountTokens(ds, count), nil
}

// plotBins is the number of bars of a histogram.
const plotBins = 60

func plotLengths(path, format, name string, sets []lengthSet) error {
	var panels []plot.Panel
	for _, s := range sets {
		if len(s.values) == 0 {
			continue
		}
		t := datasets.Summarize(s.values)
		low, step, counts := datasets.Bins(s.values, plotBins)
		panels = append(panels, plot.Panel{
			Title: fmt.Sprintf("%s: %s of %d %s", name, s.name, len(s.values), s.of), Axis: s.unit, Count: s.of, Low: low,
			Step: step, Counts: counts,
			Marks: []plot.Mark{{Name: "median", Value: t.Median}, {Name: "p99", Value: t.P99}},
		})
	}
	if len(panels) == 0 {
		return exit.Usage(exit.CodePlot, "Pass --tokenizer to count the tokens of texts",
			"the data set has neither token ids nor images to draw")
	}
	return atomicfile.Write(path, func(w io.Writer) error { return plot.Write(w, format, panels) })
}
