package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/datasets/convert"
	"github.com/mlperf-go/mlperf-go/datasets/official"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/plural"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
)

// datasetCommand inspects, checks, converts and creates data sets.
type datasetCommand struct{ *program }

func (cmd datasetCommand) command() *cli.Command {
	model := &cli.StringFlag{Name: "model", Value: models.Default, Usage: "benchmark that the data set belongs to"}
	reading := append([]cli.Flag{model}, readingFlags()...)
	return &cli.Command{
		Name: "dataset", Usage: "find, inspect, check, convert and generate data sets",
		Subcommands: []*cli.Command{
			{Name: "info", Usage: "print format, rows, checksum and prompt lengths", ArgsUsage: "FILE",
				Action: cmd.info, Flags: append(slices.Clone(reading), infoFlags()...), OnUsageError: usageError},
			{Name: "stats", Usage: "print lengths of inputs and outputs, and their ratio", ArgsUsage: "FILE",
				Action: cmd.stats, Flags: append(slices.Clone(reading), infoFlags()...),
				OnUsageError: usageError},
			{Name: "check", Usage: "list the faults of a file", ArgsUsage: "FILE",
				OnUsageError: usageError,
				Flags: append(slices.Clone(reading),
					&cli.IntFlag{Name: "most", Value: 50, Usage: "stop after this many different faults"}),
				Action: cmd.check},
			{Name: "get", Usage: "print the source of a benchmark's official files or of a public data set, or compare " +
				"downloaded files with the official ones",
				ArgsUsage: "[NAME [FILE...]]", OnUsageError: usageError, Action: cmd.get},
			{Name: "convert", Usage: "convert data sets to another format, with all columns; several files become one",
				ArgsUsage: "IN... OUT", OnUsageError: usageError,
				Flags: append(slices.Clone(reading), convertFlags()...), Action: cmd.convert},
			{Name: "synth", Usage: "generate a synthetic data set for a benchmark",
				OnUsageError: usageError,
				Flags: []cli.Flag{model,
					&cli.IntFlag{Name: "samples", Value: plan.RehearsalSamples, Usage: "number of rows"},
					&cli.Int64Flag{Name: "seed", Value: rehearse.Seed, Usage: "seed; equal seeds generate equal data sets"},
					&cli.BoolFlag{Name: "code", Usage: "include the parts whose answers are programs, which only a sandbox can " +
						"score"},
					&cli.StringFlag{Name: "output", Usage: "file to write"},
					&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"}},
				Action: cmd.synth},
		},
	}
}

// readingFlags returns the flags about reading a file.
func readingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "dataset-config", Usage: "YAML file that describes columns and format; flags take " +
			"precedence"},
		&cli.StringFlag{Name: "format", Usage: "format of the file: json, csv, parquet, npy or pickle; default: detected " +
			"from its content"},
		&cli.StringFlag{Name: "input-column", Usage: "column of the prompt's text"},
		&cli.StringFlag{Name: "input-ids-column", Usage: "column of the prompt's token ids"},
		&cli.StringFlag{Name: "output-column", Usage: "column of the reference output"},
		&cli.StringFlag{Name: "prompt-template",
			Usage: "text file of the prompt, with fields of the row such as {input}"},
		&cli.StringFlag{Name: "lengths", Usage: ".npy file of the prompts' lengths, if the ids are in a .npy file"},
		&cli.StringFlag{Name: "pad-side", Usage: "side of the padding in a .npy file: right or left",
			Value: datasets.PadRight},
		&cli.IntFlag{Name: "pad-id", Usage: "token id of the padding in a .npy file", DefaultText: "the first padding found"},
	}
}

// convertFlags returns the additional flags of dataset convert.
func convertFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "format of OUT: json, jsonl, csv, parquet or npy; default: by the suffix of OUT"},
		&cli.StringFlag{Name: "form", Usage: "for files without rows: calls (questions of BFCL) or turns (one message " +
			"of a conversation per line)"},
		&cli.StringFlag{Name: "answers", Usage: "file of the correct answers, for --form calls"},
		&cli.BoolFlag{Name: "benchmark-rows", Usage: "keep only the rows that the benchmark uses of a larger official file"},
		&cli.StringFlag{Name: "ids", Usage: "text file with one id per line: keep only these rows"},
		&cli.StringFlag{Name: "id-column", Value: "id", Usage: "column of the ids of --ids"},
		&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"},
	}
}

// columnFlags maps each flag that names a column to the column's role.
var columnFlags = map[string]string{"input-column": "input", "input-ids-column": "input_ids", "output-column": "target"}

// reading converts the flags to the options for reading a benchmark's data set.
func reading(c *cli.Context, row *models.Row) (datasets.Options, error) {
	o := datasets.ForRow(row)
	o.Format, o.Padding = c.String("format"), datasets.Padding{Lengths: c.String("lengths"), Side: c.String("pad-side")}
	for flag, role := range columnFlags {
		if name := c.String(flag); name != "" {
			if o.Overrides == nil {
				o.Overrides = map[string]string{}
			}
			o.Overrides[role] = name
		}
	}
	if c.IsSet("pad-id") {
		id := int32(c.Int("pad-id"))
		o.Padding.ID = &id
	}
	o.SizesOnly = true
	var err error
	if path := c.String("prompt-template"); path != "" {
		if o.Template, err = datasets.ReadTemplate(path); err != nil {
			return o, err
		}
	}
	if path := c.String("dataset-config"); path != "" {
		d, err := datasets.ReadDescription(path)
		if err != nil {
			return o, exit.Usage(exit.CodeDatasetConfig, "docs/reference/datasets.md lists the keys", "%w", err)
		}
		d.Apply(&o)
	}
	return o, nil
}

// datasetFailed adds the code of wrong options, or a hint. If the first row lacks a column and no --model was given,
// the file may belong to another benchmark.
func datasetFailed(c *cli.Context, err error) error {
	if errors.Is(err, datasets.ErrOption) {
		return exit.Usage(exit.CodeDatasetOption, "", "%w", err)
	}
	if fault := (*datasets.Error)(nil); errors.As(err, &fault) && fault.Record <= 1 && fault.Field != "" &&
		!c.IsSet("model") {
		return exit.Usage(exit.CodeDataset, "The file may belong to another benchmark than the default, "+
			c.String("model")+": pass its benchmark with --model", "%w", err)
	}
	return err
}

// file returns the file that a command reads, its benchmark, and its reading options.
func (cmd datasetCommand) file(c *cli.Context) (path string, row *models.Row, o datasets.Options, err error) {
	if c.NArg() != 1 {
		return "", nil, o, exit.Usage(exit.CodeArgument, "Write `mlperf-go dataset "+c.Command.Name+" FILE`",
			"this command requires one data set file")
	}
	m, err := models.Find(c.String("model"))
	if err != nil {
		return "", nil, o, err
	}
	o, err = reading(c, m.Row)
	return c.Args().First(), m.Row, o, err
}

func (cmd datasetCommand) check(c *cli.Context) error {
	path, row, o, err := cmd.file(c)
	if err != nil {
		return err
	}
	ds, faults := datasets.Check(path, o, c.Int("most"))
	if len(faults) > 0 {
		return datasetFailed(c, exit.Usage(exit.CodeDataset, "", "%w", errors.Join(faults...)))
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": path, "samples": len(ds.Samples), "benchmark_samples": row.DatasetSamples,
			"sha256": ds.SHA256, "faults": 0})
		return nil
	}
	cmd.out.line("%s: %s, no faults", path, official.Rows(len(ds.Samples), row))
	return nil
}

// job returns the conversion in the arguments and flags of dataset convert.
func (cmd datasetCommand) job(c *cli.Context) (*convert.Job, error) {
	last := c.NArg() - 1
	if last < 1 {
		return nil, exit.Usage(exit.CodeArgument, "Write `mlperf-go dataset convert IN... OUT`",
			"convert requires at least two files, not %d", c.NArg())
	}
	m, err := models.Find(c.String("model"))
	if err != nil {
		return nil, err
	}
	j := &convert.Job{From: c.Args().Slice()[:last], To: c.Args().Get(last), Format: c.String("to"),
		Form: c.String("form"), Answers: c.String("answers"), Force: c.Bool("force")}
	if c.Bool("benchmark-rows") && c.IsSet("ids") {
		return nil, exit.Usage(exit.CodeDatasetOption, "Give one of them", "--benchmark-rows and --ids exclude each other")
	}
	if c.Bool("benchmark-rows") {
		if j.Select = m.Row.Data.Select; j.Select == nil {
			return nil, exit.Usage(exit.CodeDatasetOption, "Leave --benchmark-rows out",
				"the benchmark %s uses every row of its files", m.Row.Name)
		}
	}
	if j.Options, err = reading(c, m.Row); err != nil {
		return nil, err
	}
	if path := c.String("ids"); path != "" {
		j.Options.Only, err = datasets.ReadOnly(path, c.String("id-column"))
	}
	return j, err
}

func (cmd datasetCommand) convert(c *cli.Context) error {
	j, err := cmd.job(c)
	if err != nil {
		return err
	}
	done, err := j.Run()
	if err != nil {
		return convertFailed(c, err)
	}
	if done.Lengths != "" {
		cmd.notice(done.Lengths + ": the prompts' lengths, for --lengths")
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": j.To, "format": done.Format, "samples": done.Records, "sources": done.From})
		return nil
	}
	source := fmt.Sprintf("%s (%s)", j.From[0], done.From[0].Format)
	if len(done.From) > 1 {
		source = fmt.Sprintf("%d files, %s to %s,", len(done.From), j.From[0], done.From[len(done.From)-1].Path)
	}
	cmd.notice(fmt.Sprintf("%s: %s of %s as %s", j.To, plural.Count(done.Records, "row", "rows"), source, done.Format))
	cmd.notice(done.Notes...)
	return nil
}

// convertFailed adds the code and the hint to an error of a conversion.
func convertFailed(c *cli.Context, err error) error {
	switch {
	case errors.Is(err, convert.ErrFormat):
		return exit.Usage(exit.CodeFormat, "Use .json, .jsonl, .csv, .parquet or .npy, or pass --to FORMAT", "%w", err)
	case errors.Is(err, convert.ErrExists):
		return exit.Usage(exit.CodeOutputUsed, "Name a new OUT after the files to read, or give --force to replace it", "%w",
			err)
	case errors.Is(err, convert.ErrAnswers):
		return exit.Usage(exit.CodeDatasetOption, "Give both, or neither", "--answers requires --form calls")
	case errors.Is(err, convert.ErrTemporary):
		return exit.Environment(exit.CodeOutputDir, "", "%w", err)
	}
	return datasetFailed(c, err)
}

func (cmd datasetCommand) synth(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	m, err := models.Find(c.String("model"))
	if err != nil {
		return err
	}
	if c.String("output") == "" {
		return exit.Usage(exit.CodeOutput, "Write --output FILE", "no --output given")
	}
	if format := datasets.FormatOfName(c.String("output")); format != "" && format != datasets.FormatJSON {
		return exit.Usage(exit.CodeOutput, "Use the suffix .json; `mlperf-go dataset convert` converts the file to other "+
			"formats",
			"--output %s has the suffix of %s, but synthetic data sets are written as JSON", c.String("output"), format)
	}
	if c.Int("samples") < 1 {
		return exit.Usage(exit.CodeSamples, "", "--samples is %d; a data set needs at least one row", c.Int("samples"))
	}
	if path := c.String("output"); convert.HasContent(path) && !c.Bool("force") {
		return exit.Usage(exit.CodeOutputUsed, "Choose another --output, or give --force to replace it",
			"cannot write the data set to %s: the file exists", path)
	}
	err = atomicfile.Write(c.String("output"), func(w io.Writer) error {
		return datasets.SynthSet{Row: m.Row, Samples: c.Int("samples"), Seed: c.Int64("seed"), Code: c.Bool("code")}.Write(w)
	})
	if err != nil {
		return err
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": c.String("output"), "model": m.Row.Name, "samples": c.Int("samples"),
			"seed": c.Int64("seed")})
		return nil
	}
	cmd.notice(fmt.Sprintf("%s: %s for %s", c.String("output"),
		plural.Count(c.Int("samples"), "synthetic row", "synthetic rows"), m.Row.Name))
	return nil
}
