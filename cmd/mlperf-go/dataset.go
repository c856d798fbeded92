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
	model := &cli.StringFlag{Name: "model", Value: models.Default, Usage: "benchmark whose schema the data set has"}
	reading := append([]cli.Flag{model}, readingFlags()...)
	return &cli.Command{
		Name: "dataset", Usage: "look at, check, convert and make data sets",
		Subcommands: []*cli.Command{
			{Name: "info", Usage: "format, rows, checksum and prompt lengths", ArgsUsage: "FILE", HideHelpCommand: true,
				Action: cmd.info, Flags: append(slices.Clone(reading), infoFlags()...), OnUsageError: usageError},
			{Name: "check", Usage: "every fault of a file, not only the first", ArgsUsage: "FILE", HideHelpCommand: true,
				OnUsageError: usageError,
				Flags: append(slices.Clone(reading),
					&cli.IntFlag{Name: "most", Value: 50, Usage: "stop after so many faults"}),
				Action: cmd.check},
			{Name: "convert", Usage: "write a set in another format, every column kept; several files become one set",
				ArgsUsage: "IN... OUT", HideHelpCommand: true, OnUsageError: usageError,
				Flags: append(slices.Clone(reading), convertFlags()...), Action: cmd.convert},
			{Name: "synth", Usage: "write a synthetic set in a benchmark's schema", HideHelpCommand: true,
				OnUsageError: usageError,
				Flags: []cli.Flag{model,
					&cli.IntFlag{Name: "samples", Value: plan.RehearsalSamples, Usage: "rows"},
					&cli.Int64Flag{Name: "seed", Value: rehearse.Seed, Usage: "the same seed makes the same set"},
					&cli.BoolFlag{Name: "code", Usage: "with the parts whose answers are programs, which only a judge in a sandbox " +
						"can score"},
					&cli.StringFlag{Name: "output", Usage: "file to write"}},
				Action: cmd.synth},
		},
	}
}

// readingFlags say how a file is read.
func readingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "dataset-config", Usage: "YAML file that says which columns hold what, and the format; other " +
			"flags stand above it"},
		&cli.StringFlag{Name: "format", Usage: "format of the file: json, csv, parquet, npy or pickle; its content tells " +
			"otherwise"},
		&cli.StringFlag{Name: "input-column", Usage: "column that holds the prompt's text, in place of the schema's"},
		&cli.StringFlag{Name: "input-ids-column", Usage: "column that holds the prompt's token ids"},
		&cli.StringFlag{Name: "output-column", Usage: "column that holds the reference output"},
		&cli.StringFlag{Name: "prompt-template",
			Usage: "text file that makes the prompts of a row's fields, such as {input}"},
		&cli.StringFlag{Name: "lengths", Usage: ".npy file of the prompts' lengths, for ids in a .npy file"},
		&cli.StringFlag{Name: "pad-side", Usage: "side of the padding in a .npy table: right or left",
			Value: datasets.PadRight},
		&cli.IntFlag{Name: "pad-id", Usage: "id that the padding in a .npy table must be", DefaultText: "the first one met"},
	}
}

// convertFlags are those of dataset convert beside them.
func convertFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "format of OUT: json, jsonl, csv, parquet or npy; OUT's suffix tells otherwise"},
		&cli.StringFlag{Name: "form", Usage: "what IN has in place of rows: calls (questions of BFCL) or turns (one " +
			"message of a conversation on each line)"},
		&cli.StringFlag{Name: "answers", Usage: "file of the right answers, for --form calls"},
		&cli.StringFlag{Name: "ids", Usage: "text file with one id on each line: only the rows that have one of them"},
		&cli.StringFlag{Name: "id-column", Value: "id", Usage: "column of the ids, for --ids"},
		&cli.BoolFlag{Name: "force", Usage: "replace a file that is there"},
	}
}

// recast makes rows of files that have none, and gives the file that holds them, in a folder to be removed.
func recast(c *cli.Context, from []string) (folder string, rows []string, err error) {
	if folder, err = os.MkdirTemp("", "mlperf-go-rows-*"); err != nil {
		return "", nil, run.EnvironmentError("output_dir", "", "no folder can be made for the rows: %w", err)
	}
	path := filepath.Join(folder, filepath.Base(from[0]))
	f, err := os.Create(path)
	if err == nil {
		_, err = datasets.Recast(f, c.String("form"), from, c.String("answers"))
		err = errors.Join(err, f.Close())
	}
	return folder, []string{path}, err
}

// columnFlags maps the flags that name a column onto the role it takes.
var columnFlags = map[string]string{"input-column": "input", "input-ids-column": "input_ids", "output-column": "target"}

// reading returns the options that read a row's data set as the flags say.
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

// datasetFailed gives what is wrong with the options the exit code of a wrong command line; a file's fault has its own.
// Whose first row lacks a column may be the set of another benchmark than the one that nobody named.
func datasetFailed(c *cli.Context, err error) error {
	if errors.Is(err, datasets.ErrOption) {
		return run.UsageError("dataset_option", "", "%w", err)
	}
	if fault := (*datasets.Error)(nil); errors.As(err, &fault) && fault.Record <= 1 && fault.Field != "" &&
		!c.IsSet("model") {
		return run.UsageError("dataset", "The columns are looked for that "+c.String("model")+
			" has, the default: name the benchmark of this set with --model", "%w", err)
	}
	return err
}

func (cmd datasetCommand) file(c *cli.Context) (string, *models.Row, error) {
	if c.NArg() != 1 {
		return "", nil, run.UsageError("argument", "Write `mlperf-go dataset "+c.Command.Name+" FILE`",
			"one data set file is expected")
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
	fmt.Fprintf(cmd.stdout, "%s: %d rows, no fault\n", path, len(ds.Samples))
	return nil
}

// conversion returns the files that dataset convert reads, the one that it writes, and its format.
func conversion(c *cli.Context) (from []string, to, format string, err error) {
	last := c.NArg() - 1
	if last < 1 {
		return nil, "", "", run.UsageError("argument", "Write `mlperf-go dataset convert IN... OUT`",
			"%d arguments are given", c.NArg())
	}
	from, to, format = c.Args().Slice()[:last], c.Args().Get(last), c.String("to")
	if format == "" {
		format = datasets.FormatOfName(to)
	}
	if format == "" {
		return nil, "", "", run.UsageError("format", "End it in .json, .jsonl, .csv, .parquet or .npy, or write --to FORMAT",
			"the suffix of %s tells no format", to)
	}
	writes := []string{to}
	if format == datasets.FormatNPY {
		writes = append(writes, lengthsOf(to))
	}
	for _, path := range writes {
		// A pattern of the shell without OUT behind it would have the last of the files that were to be read written over.
		if !c.Bool("force") && something(path) {
			return nil, "", "", run.UsageError("output_used",
				"Name a new OUT behind the files to read, or give --force to replace it",
				"the data set can not be written to %s: something is there already", path)
		}
	}
	return from, to, format, nil
}

// lengthsOf names the file of the prompts' lengths that goes with a .npy file of ids.
func lengthsOf(ids string) string { return strings.TrimSuffix(ids, ".npy") + ".lengths.npy" }

// something says whether writing to a path would lose what is there: an empty file has nothing to lose.
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
		return run.UsageError("dataset_option", "Give both, or neither", "--answers is given without --form calls")
	}
	var done *datasets.Conversion
	var failed error
	err = atomicfile.Write(to, func(w io.Writer) error {
		done, failed = datasets.Convert(w, read, o, format)
		return failed
	})
	if fault := (*datasets.Error)(nil); errors.As(failed, &fault) || errors.Is(failed, datasets.ErrOption) {
		return datasetFailed(c, failed) // concerns the file read, not the one written
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

// ownSet refuses to write over a file that is no synthetic set of the benchmark's: a real data set may lie there.
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
		"%s is there already, and is no synthetic set of %s", path, row.Name)
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
		return run.UsageError("output", "Write --output FILE", "no --output is given")
	}
	if format := datasets.FormatOfName(c.String("output")); format != "" && format != datasets.FormatJSON {
		return run.UsageError("output", "End it in .json; `mlperf-go dataset convert` makes the other formats of it",
			"--output %s is named as %s, and a synthetic set is written as JSON", c.String("output"), format)
	}
	if c.Int("samples") < 1 {
		return run.UsageError("samples", "", "--samples is %d; a data set has at least one row", c.Int("samples"))
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
	cmd.notice(fmt.Sprintf("%s: %d synthetic rows in the schema of %s", c.String("output"), c.Int("samples"), m.Row.Name))
	return nil
}
