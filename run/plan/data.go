package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/accuracy"
	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/spill"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
	"github.com/mlperf-go/mlperf-go/tokenizer/finder"
)

// Data is the data set of a test.
type Data struct {
	*Test
	// Dataset is used instead of the file that the configuration names.
	Dataset *datasets.Dataset
	// AuditRows is the size of an audit's own data set, such as TEST07's; 0: the audit has none.
	AuditRows int
	// Scoring scores the answers of an accuracy test at its end; nil: they are not scored. The reader keeps what it
	// needs.
	Scoring *Scoring

	file        *datasets.Dataset     // that the configuration names; nil: not read yet
	description *datasets.Description // of --dataset-config; nil without
	synthetic   bool                  // the data set that was read is a synthetic one
}

// RehearsalSamples is the size of a synthetic data set without --samples.
const RehearsalSamples = 512

// columnSettings are the settings that name a column, by the role of the column.
var columnSettings = map[string]string{"input": "input-column", "input_ids": "input-ids-column",
	"target": "output-column", "session": "session-column"}

// readDescription applies --dataset-config to settings that are not set.
func (d *Data) readDescription() error {
	path := d.Config.String("dataset-config")
	if path == "" {
		return nil
	}
	desc, err := datasets.ReadDescription(path)
	if err != nil {
		return exit.Usage(exit.CodeDatasetConfig, "docs/reference/datasets.md lists the keys", "%w", err)
	}
	d.description = desc
	tokens := ""
	if desc.MaxTokens > 0 {
		tokens = strconv.Itoa(desc.MaxTokens)
	}
	for _, s := range [][2]string{{"model", desc.Model}, {"dataset", desc.File}, {"max-tokens", tokens}} {
		if s[1] == "" || d.Config.IsSet(s[0]) {
			continue
		}
		if err := d.Config.Set(s[0], s[1], config.Origin{Layer: config.FromFile, Where: path}); err != nil {
			return exit.Usage(exit.CodeDatasetConfig, "", "%w", err)
		}
	}
	return nil
}

// HasDataset reports whether the user gave a data set. Without one the caller makes a synthetic one.
func (d *Data) HasDataset() bool { return d.Dataset != nil || d.Config.Has("dataset") }

// Samples returns the number of rows of a synthetic data set for this test.
func (d *Data) Samples() int {
	if n := d.Config.Int("samples"); n > 0 {
		return n
	}
	return RehearsalSamples
}

// suggestCode enables --run-code before there is a data set: a synthetic set contains programs only if they can run.
func (d *Data) suggestCode() error {
	if d.HasDataset() {
		return nil
	}
	code := d.runsCode()
	return d.Suggest(rehearsalOrigin, code.name, code.text)
}

// ReadDataset reads the data set of the configuration, or returns the one in memory. It reads a file once.
func (d *Data) ReadDataset() (*datasets.Dataset, error) {
	path := d.Config.String("dataset")
	switch {
	case d.Dataset != nil:
		d.synthetic = datasets.Synthetic(d.Dataset) // now: after the test its messages may be gone
		return d.firstRows(), nil
	case d.file != nil && d.file.Path == path:
		return d.file, nil
	}
	o, err := d.datasetOptions()
	if err != nil {
		return nil, err
	}
	o = d.keep(o)
	o.KeepText = o.KeepText || d.SendsText()
	if d.description != nil {
		d.description.Apply(&o)
	}
	ds, err := datasets.Open(path, o)
	if err == nil {
		d.file, d.synthetic = ds, datasets.Synthetic(ds)
	}
	return ds, err
}

// sha256 returns the SHA-256 of the data set that was read; empty: of none.
func (d *Data) sha256() string {
	switch {
	case d.Dataset != nil:
		return d.Dataset.SHA256
	case d.file != nil:
		return d.file.SHA256
	}
	return ""
}

// checkDatasetFile rejects a data set that does not exist.
func (d *Data) checkDatasetFile() error {
	path := d.Config.String("dataset")
	if _, err := os.Stat(path); path == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return exit.Usage(exit.CodeDataset, "Check the path", "the data set %s does not exist", path)
}

// SendsText reports whether requests carry the text of a row that also has token ids, or may do so because the backend
// is still to be chosen. It is false for an unknown backend, which OpenDriver rejects.
func (d *Data) SendsText() bool {
	if d.BackendUnchosen() {
		return true
	}
	driver, err := backends.Lookup(d.Config.String("backend"))
	if err != nil {
		return false
	}
	is := driver.Describe()
	return is.SendsText(d.Config.String("api"))
}

// BackendUnchosen reports whether the backend is to be detected from the user's server, which was not asked yet.
func (d *Data) BackendUnchosen() bool {
	return d.Config.String("backend") == config.Auto && d.HasEndpoint()
}

// datasetOptions returns the options for reading the file.
func (d *Data) datasetOptions() (datasets.Options, error) {
	c := d.Config
	o := datasets.ForRow(d.Row)
	o.Limit, o.Format = c.Int("samples"), c.String("dataset-format")
	o.Overrides = map[string]string{}
	for role, setting := range columnSettings {
		if column := c.String(setting); column != "" {
			o.Overrides[role] = column
		}
	}
	o.Padding = datasets.Padding{Lengths: c.String("lengths"), Side: c.String("pad-side")}
	if c.Has("pad-id") {
		id := int32(c.Int("pad-id"))
		o.Padding.ID = &id
	}
	if file := c.String("prompt-template"); file != "" {
		var err error
		if o.Template, err = datasets.ReadTemplate(file); err != nil {
			return o, err
		}
	}
	o.Store = spill.New(c.Bytes("request-memory"), existing(d.Folder()))
	return o, nil
}

// keep adds the columns that scoring and the simulator read. A renamed column is kept under its new name.
func (d *Data) keep(o datasets.Options) datasets.Options {
	if d.Mode != models.Accuracy || d.Scoring == nil {
		return o
	}
	for _, name := range d.Row.Scoring.Columns.Names() {
		at := slices.IndexFunc(d.Row.Columns, func(c models.Column) bool { return c.Name == name })
		if renamed := o.Overrides[d.Row.Columns[at].Role]; renamed != "" {
			name = renamed
		}
		o.Keep = append(o.Keep, name)
	}
	return o
}

// existing returns the folder, or its nearest parent that exists: nothing is created before all input has been checked.
func existing(folder string) string {
	for {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder
		}
		up := filepath.Dir(folder)
		if up == folder {
			return os.TempDir()
		}
		folder = up
	}
}

// readingSettings are the settings that determine how a data set is read.
var readingSettings = []string{"dataset", "dataset-format", "samples", "input-column", "input-ids-column",
	"output-column", "session-column", "lengths", "pad-side", "pad-id", "prompt-template"}

// share uses the data set that other has read if d would read the same file in the same way.
func (d *Data) share(other *Data) {
	if other.file == nil || d.Row.Name != other.Row.Name {
		return
	}
	for _, name := range readingSettings {
		if d.Config.Text(name) != other.Config.Text(name) {
			return
		}
	}
	d.file, d.synthetic = other.file, other.synthetic
}

// firstRows returns the data set in memory, cut to --samples like a file.
func (d *Data) firstRows() *datasets.Dataset {
	ds := *d.Dataset
	if n := d.Config.Int("samples"); n > 0 && n < len(ds.Samples) {
		ds.Samples = ds.Samples[:n]
	}
	return &ds
}

// OfficialRows returns the number of rows of the real data set; 0: the benchmark has none, so any file is the real one.
func (d *Data) OfficialRows() int {
	switch {
	case d.AuditRows > 0:
		return d.AuditRows
	case d.Scenario.Samples > 0:
		return d.Scenario.Samples
	case d.Mode == models.Accuracy && d.Row.AccuracyCount > 0:
		return d.Row.AccuracyCount
	}
	return d.Row.DatasetSamples
}

// LongestPrompt returns the tokens of the longest prompt of the data set that was read; 0: not known.
func (d *Data) LongestPrompt() int {
	ds := d.Dataset
	if ds == nil {
		ds = d.file
	}
	if ds == nil {
		return 0
	}
	longest := 0
	for i := range ds.Samples {
		longest = max(longest, ds.Samples[i].InputLen)
	}
	return longest
}

// checkRows rejects a number of rows that does not fit the benchmark or --samples. A rehearsal caps --samples.
func (d *Data) checkRows(rows int, rehearsal bool) error {
	if rows < 1 {
		return exit.Usage(exit.CodeDataset, "Pass another file with --dataset", "the data set has no rows")
	}
	if want := d.OfficialRows(); want > 0 && rows > want {
		if !d.HasDataset() || d.Config.Origin("dataset") == SyntheticDataset { // --samples alone sets its rows
			return exit.Usage(exit.CodeSamples, fmt.Sprintf("Use at most %d samples", want),
				"--samples %d is above the %d rows of %s", rows, want, d.Row.Name)
		}
		return exit.Usage(exit.CodeDataset, "Check that it is the right file; --samples N uses only its first N rows",
			"the data set has %d rows, more than the %d of %s", rows, want, d.Row.Name)
	}
	n := d.Config.Int("samples")
	users := d.Config.Origin("samples").Layer != config.FromProgram // else it is a default
	if n > rows && (rehearsal || !users) {
		if users {
			d.Adjusted = append(d.Adjusted, fmt.Sprintf("--samples %d is capped to the %d rows of the data set", n, rows))
		}
		return d.Config.Set("samples", strconv.Itoa(rows), d.Config.Origin("samples"))
	}
	if n > rows {
		return exit.Usage(exit.CodeSamples, "Use fewer samples, or a larger data set",
			"--samples %d exceeds the %d rows of the data set", n, rows)
	}
	return nil
}

// Scoring scores the answers of an accuracy test at its end.
type Scoring struct {
	// Tokens finds the decoder of the answers. It is called before the test starts, and only if answers are token ids.
	Tokens func(ctx context.Context, ds *datasets.Dataset) (accuracy.RemoteDecoder, *finder.Source, error)
	// Judges sets the judges for answers that scorers cannot decide by themselves. It is called before the test
	// starts; nil: programs stay unscored.
	Judges func(ctx context.Context, in *accuracy.Input) (Judges, error)
	// Progress is called with the number of scored answers.
	Progress func(done, total int)
}

// Judges are the open resources of a scoring.
type Judges struct {
	Close func() error
	Notes []string // how they judge
}
