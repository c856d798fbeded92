package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
)

func (p *program) datasetCommand() *cli.Command {
	model := &cli.StringFlag{Name: "model", Value: "llama3.1-8b", Usage: "benchmark whose schema the data set has"}
	return &cli.Command{
		Name: "dataset", Usage: "look at, check and make data sets",
		Subcommands: []*cli.Command{
			{Name: "info", Usage: "rows, checksum and prompt lengths", ArgsUsage: "FILE", Flags: []cli.Flag{model}, HideHelpCommand: true, Action: p.datasetInfo, OnUsageError: usageError},
			{Name: "check", Usage: "every fault of a file, not only the first", ArgsUsage: "FILE", HideHelpCommand: true, OnUsageError: usageError,
				Flags: []cli.Flag{model, &cli.IntFlag{Name: "most", Value: 50, Usage: "stop after so many faults"}}, Action: p.datasetCheck},
			{Name: "synth", Usage: "write a synthetic set in a benchmark's schema", HideHelpCommand: true, OnUsageError: usageError,
				Flags: []cli.Flag{model,
					&cli.IntFlag{Name: "samples", Value: run.RehearsalSamples, Usage: "rows"},
					&cli.Int64Flag{Name: "seed", Value: synthSeed, Usage: "the same seed makes the same set"},
					&cli.StringFlag{Name: "output", Usage: "file to write"}},
				Action: p.datasetSynth},
		},
	}
}

func (p *program) datasetFile(c *cli.Context) (string, *models.Row, error) {
	if c.NArg() != 1 {
		return "", nil, &run.Error{Exit: run.ExitUsage, Code: "argument", Err: errors.New("one data set file is expected"), Hint: "Write `mlperf-go dataset " + c.Command.Name + " FILE`"}
	}
	m, err := models.Find(c.String("model"))
	if err != nil {
		return "", nil, err
	}
	return c.Args().First(), m.Row, nil
}

func (p *program) datasetInfo(c *cli.Context) error {
	path, row, err := p.datasetFile(c)
	if err != nil {
		return err
	}
	o := datasets.ForRow(row)
	o.KeepTarget = true
	ds, err := datasets.Open(path, o)
	if err != nil {
		return err
	}
	stats := datasets.Stats(ds)
	if p.json {
		p.writeJSON(map[string]any{"path": path, "sha256": ds.SHA256, "schema": ds.Schema, "samples": len(ds.Samples), "benchmark_samples": row.DatasetSamples, "stats": stats})
		return nil
	}
	w := tabwriter.NewWriter(p.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "file\t%s\nsha256\t%s\nschema\t%s\nrows\t%d (the benchmark has %d)\n", path, ds.SHA256, ds.Schema, len(ds.Samples), row.DatasetSamples)
	_ = w.Flush() // to stdout: where that is gone nobody reads it
	t := stats.InputTokens
	fmt.Fprintf(p.stdout, "\nprompt tokens: min %d, mean %.1f, median %d, p99 %d, max %d; %d of %d rows have a reference output\n",
		t.Min, t.Mean, t.Median, t.P99, t.Max, stats.WithTarget, stats.Samples)
	for _, line := range datasets.Histogram(datasets.InputLengths(ds), 16, 50) {
		fmt.Fprintln(p.stdout, "  "+line)
	}
	return nil
}

func (p *program) datasetCheck(c *cli.Context) error {
	path, row, err := p.datasetFile(c)
	if err != nil {
		return err
	}
	ds, faults := datasets.Check(path, datasets.ForRow(row), c.Int("most"))
	if len(faults) > 0 {
		return &run.Error{Exit: run.ExitUsage, Code: "dataset", Err: errors.Join(faults...)}
	}
	if p.json {
		p.writeJSON(map[string]any{"path": path, "samples": len(ds.Samples), "sha256": ds.SHA256, "faults": 0})
		return nil
	}
	fmt.Fprintf(p.stdout, "%s: %d rows, no fault\n", path, len(ds.Samples))
	return nil
}

func (p *program) datasetSynth(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	m, err := models.Find(c.String("model"))
	if err != nil {
		return err
	}
	if c.String("output") == "" {
		return &run.Error{Exit: run.ExitUsage, Code: "output", Err: errors.New("no --output is given"), Hint: "Write --output FILE"}
	}
	if c.Int("samples") < 1 {
		return &run.Error{Exit: run.ExitUsage, Code: "samples", Err: fmt.Errorf("--samples is %d; a data set has at least one row", c.Int("samples"))}
	}
	err = atomicfile.Write(c.String("output"), func(w io.Writer) error {
		return datasets.WriteSynth(w, m.Row, c.Int("samples"), c.Int64("seed"))
	})
	if err != nil {
		return err
	}
	if p.json {
		p.writeJSON(map[string]any{"path": c.String("output"), "model": m.Row.Name, "samples": c.Int("samples"), "seed": c.Int64("seed")})
		return nil
	}
	p.notice(fmt.Sprintf("%s: %d synthetic rows in the schema of %s", c.String("output"), c.Int("samples"), m.Row.Name))
	return nil
}
