package plan

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf-go/backends"
	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/internal/spill"
	"github.com/mlperf-go/mlperf-go/models"
)

// columnSettings are the settings that name a column, by the role that it takes.
var columnSettings = map[string]string{"input": "input-column", "input_ids": "input-ids-column",
	"target": "output-column", "session": "session-column"}

// ReadDataset reads the data set of the configuration, or gives the one in memory. A file is read once.
func (p *Plan) ReadDataset() (*datasets.Dataset, error) {
	path := p.Config.String("dataset")
	switch {
	case p.Dataset != nil:
		p.synthetic = datasets.Synthetic(p.Dataset) // now: after the test its messages may be gone
		return p.firstRows(), nil
	case p.file != nil && p.file.Path == path:
		return p.file, nil
	}
	o, err := p.datasetOptions()
	if err != nil {
		return nil, err
	}
	o = p.keep(o)
	o.KeepText = o.KeepText || p.SendsText()
	if p.description != nil {
		p.description.Apply(&o)
	}
	ds, err := datasets.Open(path, o)
	if err == nil {
		p.file, p.synthetic = ds, datasets.Synthetic(ds)
	}
	return ds, err
}

// SendsText reports whether requests carry the text of a row that has token ids too. An unknown backend is refused
// elsewhere.
func (p *Plan) SendsText() bool {
	d, err := backends.Lookup(p.Config.String("backend"))
	if err != nil {
		return false
	}
	is := d.Describe()
	return is.SendsText(p.Config.String("api"))
}

// datasetOptions are how the configuration has the file read.
func (p *Plan) datasetOptions() (datasets.Options, error) {
	c := p.Config
	o := datasets.ForRow(p.Row)
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
	o.Store = spill.New(c.Bytes("request-memory"), existing(p.Folder()))
	return o, nil
}

// existing is a folder, or the nearest one above it that is there already: nothing is made before all input is found
// good.
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

// readingSettings are the settings that say how a data set is read.
var readingSettings = []string{"dataset", "dataset-format", "samples", "input-column", "input-ids-column",
	"output-column", "session-column", "lengths", "pad-side", "pad-id", "prompt-template"}

// ShareDataset takes the data set that another plan has read, where this one would read the same file in the same way.
func (p *Plan) ShareDataset(other *Plan) {
	if other == nil || other.file == nil || p.Row.Name != other.Row.Name {
		return
	}
	for _, name := range readingSettings {
		if p.Config.Text(name) != other.Config.Text(name) {
			return
		}
	}
	p.file, p.synthetic = other.file, other.synthetic
}

// firstRows is the data set in memory, cut to --samples as a file is.
func (p *Plan) firstRows() *datasets.Dataset {
	ds := *p.Dataset
	if n := p.Config.Int("samples"); n > 0 && n < len(ds.Samples) {
		ds.Samples = ds.Samples[:n]
	}
	return &ds
}

// keep makes the data set's reader keep what scoring and the simulator read; a column that the user has renamed is kept
// under its name.
func (p *Plan) keep(o datasets.Options) datasets.Options {
	if p.Mode != models.Accuracy || p.Scoring == nil {
		return o
	}
	for _, name := range p.Row.Scoring.Columns.Names() {
		at := slices.IndexFunc(p.Row.Columns, func(c models.Column) bool { return c.Name == name })
		if renamed := o.Overrides[p.Row.Columns[at].Role]; renamed != "" {
			name = renamed
		}
		o.Keep = append(o.Keep, name)
	}
	return o
}
