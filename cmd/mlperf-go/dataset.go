package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/plan"
	"github.com/mlperf-go/mlperf-go/run/rehearse"
)

// datasetCommand inspects, checks, converts and makes data sets.
type datasetCommand struct{ *program }

func (cmd datasetCommand) command() *cli.Command {
	model := &cli.StringFlag{Name: "model", Value: models.Default, Usage: "benchmark that the data set belongs to"}
	reading := append([]cli.Flag{model}, readingFlags()...)
	return &cli.Command{
		Name: "dataset", Usage: "inspect, check, convert and make data sets",
		Subcommands: []*cli.Command{
			{Name: "info", Usage: "print format, rows, checksum and prompt lengths", ArgsUsage: "FILE", HideHelpCommand: true,
				Action: cmd.info, Flags: append(slices.Clone(reading), infoFlags()...), OnUsageError: usageError},
			{Name: "check", Usage: "list the faults of a file", ArgsUsage: "FILE", HideHelpCommand: true,
				OnUsageError: usageError,
				Flags: append(slices.Clone(reading),
					&cli.IntFlag{Name: "most", Value: 50, Usage: "stop after this many faults"}),
				Action: cmd.check},
			{Name: "convert", Usage: "convert data sets to another format, with all columns; several files become one",
				ArgsUsage: "IN... OUT", HideHelpCommand: true, OnUsageError: usageError,
				Flags: append(slices.Clone(reading), convertFlags()...), Action: cmd.convert},
			{Name: "synth", Usage: "generate a synthetic data set for a benchmark", HideHelpCommand: true,
				OnUsageError: usageError,
				Flags: []cli.Flag{model,
					&cli.IntFlag{Name: "samples", Value: plan.RehearsalSamples, Usage: "number of rows"},
					&cli.Int64Flag{Name: "seed", Value: rehearse.Seed, Usage: "the same seed makes the same set"},
					&cli.BoolFlag{Name: "code", Usage: "include the parts whose answers are programs, which only a sandbox can " +
						"score"},
					&cli.StringFlag{Name: "output", Usage: "file to write"}},
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

// convertFlags returns the further flags of dataset convert.
func convertFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "format of OUT: json, jsonl, csv, parquet or npy; default: by the suffix of OUT"},
		&cli.StringFlag{Name: "form", Usage: "for files without rows: calls (questions of BFCL) or turns (one message " +
			"of a conversation per line)"},
		&cli.StringFlag{Name: "answers", Usage: "file of the correct answers, for --form calls"},
		&cli.StringFlag{Name: "ids", Usage: "text file with one id per line: keep only these rows"},
		&cli.StringFlag{Name: "id-column", Value: "id", Usage: "column of the ids of --ids"},
		&cli.BoolFlag{Name: "force", Usage: "overwrite an existing file"},
	}
}

// recast makes rows from files without rows. It returns the file with them, in a temporary folder to be removed.
func recast(c *cli.Context, from []string) (folder string, rows []string, err error) {
	if folder, err = os.MkdirTemp("", "mlperf-go-rows-*"); err != nil {
		return "", nil, run.EnvironmentError("output_dir", "", "cannot create a temporary folder for the rows: %w", err)
	}
	path := filepath.Join(folder, filepath.Base(from[0]))
	f, err := os.Create(path)
	if err == nil {
		_, err = datasets.Recast(f, c.String("form"), from, c.String("answers"))
		err = errors.Join(err, f.Close())
	}
	return folder, []string{path}, err
}

// columnFlags maps the flags that name a column to the column's role.
var columnFlags = map[string]string{"input-column": "input", "input-ids-column": "input_ids", "output-column": "target"}

// reading returns the flags' options for reading a benchmark's data set.
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
			return o, run.UsageError("dataset_config", "docs/reference/datasets.md lists the keys", "%w", err)
		}
		d.Apply(&o)
	}
	return o, nil
}

// datasetFailed adds the code of wrong options, or a hint. If the first row lacks a column and no --model was given,
// the file may belong to another benchmark.
func datasetFailed(c *cli.Context, err error) error {
	if errors.Is(err, datasets.ErrOption) {
		return run.UsageError("dataset_option", "", "%w", err)
	}
	if fault := (*datasets.Error)(nil); errors.As(err, &fault) && fault.Record <= 1 && fault.Field != "" &&
		!c.IsSet("model") {
		return run.UsageError("dataset", "The file may belong to another benchmark than the default, "+
			c.String("model")+": pass its benchmark with --model", "%w", err)
	}
	return err
}

func (cmd datasetCommand) file(c *cli.Context) (string, *models.Row, error) {
	if c.NArg() != 1 {
		return "", nil, run.UsageError("argument", "Write `mlperf-go dataset "+c.Command.Name+" FILE`",
			"this command requires one data set file")
	}
	m, err := models.Find(c.String("model"))
	if err != nil {
		return "", nil, err
	}
	return c.Args().First(), m.Row, nil
}

func (cmd datasetCommand) check(c *cli.Context) error {
	path, row, err := cmd.file(c)
	if err != nil {
		return err
	}
	o, err := reading(c, row)
	if err != nil {
		return err
	}
	ds, faults := datasets.Check(path, o, c.Int("most"))
	if len(faults) > 0 {
		return datasetFailed(c, run.UsageError("dataset", "", "%w", errors.Join(faults...)))
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": path, "samples": len(ds.Samples), "sha256": ds.SHA256, "faults": 0})
		return nil
	}
	fmt.Fprintf(cmd.stdout, "%s: %d rows, no faults\n", path, len(ds.Samples))
	return nil
}

// conversion returns the files that dataset convert reads, the file that it writes, and its format.
func conversion(c *cli.Context) (from []string, to, format string, err error) {
	last := c.NArg() - 1
	if last < 1 {
		return nil, "", "", run.UsageError("argument", "Write `mlperf-go dataset convert IN... OUT`",
			"convert requires at least two files, not %d", c.NArg())
	}
	from, to, format = c.Args().Slice()[:last], c.Args().Get(last), c.String("to")
	if format == "" {
		format = datasets.FormatOfName(to)
	}
	if format == "" {
		return nil, "", "", run.UsageError("format", "Use .json, .jsonl, .csv, .parquet or .npy, or pass --to FORMAT",
			"unknown suffix of the output file %s", to)
	}
	writes := []string{to}
	if format == datasets.FormatNPY {
		writes = append(writes, lengthsOf(to))
	}
	for _, path := range writes {
		// With a pattern of the shell and no OUT, the last file to read would be overwritten.
		if !c.Bool("force") && something(path) {
			return nil, "", "", run.UsageError("output_used",
				"Name a new OUT behind the files to read, or give --force to replace it",
				"cannot write the data set to %s: the file exists", path)
		}
	}
	return from, to, format, nil
}

// lengthsOf returns the name of the file of the prompts' lengths for a .npy file of ids.
func lengthsOf(ids string) string { return strings.TrimSuffix(ids, ".npy") + ".lengths.npy" }

// something reports whether writing to a path would lose data: it is a file that is not empty.
func something(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0 && info.Mode().IsRegular()
}

func (cmd datasetCommand) convert(c *cli.Context) error {
	from, to, format, err := conversion(c)
	if err != nil {
		return err
	}
	m, err := models.Find(c.String("model"))
	if err != nil {
		return err
	}
	o, err := reading(c, m.Row)
	if err != nil {
		return err
	}
	if path := c.String("ids"); path != "" {
		if o.Only, err = datasets.ReadOnly(path, c.String("id-column")); err != nil {
			return err
		}
	}
	read := from
	if c.String("form") != "" {
		folder, rows, err := recast(c, from)
		defer os.RemoveAll(folder)
		if err != nil {
			return datasetFailed(c, err)
		}
		read = rows
	} else if c.String("answers") != "" {
		return run.UsageError("dataset_option", "Give both, or neither", "--answers requires --form calls")
	}
	var done *datasets.Conversion
	var failed error
	err = atomicfile.Write(to, func(w io.Writer) error {
		done, failed = datasets.Convert(w, read, o, format)
		return failed
	})
	if fault := (*datasets.Error)(nil); errors.As(failed, &fault) || errors.Is(failed, datasets.ErrOption) {
		return datasetFailed(c, failed) // about the file read, not the file written
	}
	if err == nil && format == datasets.FormatNPY {
		lengths := lengthsOf(to)
		if err = atomicfile.Write(lengths, done.WriteLengths); err == nil {
			cmd.notice(lengths + ": the prompts' lengths, for --lengths")
		}
	}
	if err != nil {
		return err
	}
	if cmd.json {
		cmd.writeJSON(map[string]any{"path": to, "format": format, "samples": done.Records, "sources": done.From})
		return nil
	}
	source := fmt.Sprintf("%s (%s)", from[0], done.From[0].Format)
	if len(done.From) > 1 {
		source = fmt.Sprintf("%d files, %s to %s,", len(done.From), from[0], done.From[len(done.From)-1].Path)
	}
	cmd.notice(fmt.Sprintf("%s: %d rows of %s as %s", to, done.Records, source, format))
	for _, note := range done.Notes {
		cmd.notice(note)
	}
	return nil
}

// ownSet rejects a path whose file is not a synthetic set of the benchmark, to protect real data sets.
func ownSet(path string, row *models.Row) error {
	if !something(path) {
		return nil
	}
	o := datasets.ForRow(row)
	o.Limit = 1
	if ds, err := datasets.Open(path, o); err == nil && datasets.Synthetic(ds) {
		return nil
	}
	return run.UsageError("output", "Choose another --output, or remove it",
		"%s exists and is not a synthetic data set of %s", path, row.Name)
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
		return run.UsageError("output", "Write --output FILE", "no --output given")
	}
	if format := datasets.FormatOfName(c.String("output")); format != "" && format != datasets.FormatJSON {
		return run.UsageError("output", "End it in .json; `mlperf-go dataset convert` converts it to other formats",
			"--output %s has the suffix of %s, but synthetic data sets are written as JSON", c.String("output"), format)
	}
	if c.Int("samples") < 1 {
		return run.UsageError("samples", "", "--samples is %d; a data set needs at least one row", c.Int("samples"))
	}
	if err := ownSet(c.String("output"), m.Row); err != nil {
		return err
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
	cmd.notice(fmt.Sprintf("%s: %d synthetic rows for %s", c.String("output"), c.Int("samples"), m.Row.Name))
	return nil
}
