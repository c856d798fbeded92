package datasets

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/config/strict"
	"github.com/mlperf-go/mlperf-go/models"
)

// Description is the YAML file that describes a data set (docs/reference/datasets.md#a-file-instead-of-flags): its
// columns and the benchmark that it belongs to.
type Description struct {
	Path string // path of the YAML file

	Name, Text    string // name and description for display
	InputColumn   string // column with the prompts as text; empty here and below: the schema's name
	IDsColumn     string // column with the prompts as token ids
	TargetColumn  string // column with the reference outputs
	LengthsColumn string // column with the number of ids in a row that are its prompt; the rest is padding
	Format        string // one of the Format constants; empty: detect it
	Rows          int    // maximum number of records; 0: all
	Model         string // name of the benchmark or of its model
	Dataset       string // name of the data set that this file is a part of
	File          string // path of the data set file, relative to the working folder
	MaxTokens     int    // maximum length of an answer in tokens; 0: the benchmark's
}

// descriptionFile is the YAML structure of the file.
type descriptionFile struct {
	Name   string `yaml:"name"`
	Text   string `yaml:"description"`
	Format string `yaml:"file_format" one:"auto csv json npy parquet pickle pkl"`
	Rows   int    `yaml:"total_sample_count" is:">=1"`
	Fields struct {
		Input   string `yaml:"input_column"`
		IDs     string `yaml:"input_ids_column"`
		Target  string `yaml:"output_column"`
		Lengths string `yaml:"input_lens_column"`
	} `yaml:"fields"`
	Model struct {
		Name      string `yaml:"default_model_name"`
		Dataset   string `yaml:"default_dataset"`
		File      string `yaml:"dataset_file"`
		MaxTokens int    `yaml:"max_tokens" is:">=1"`
	} `yaml:"model_specific"`
}

// ReadDescription reads a description of at most 1 MiB. Errors about unknown keys and invalid values name the line.
func ReadDescription(path string) (*Description, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dataset config: %w", err)
	}
	defer f.Close()
	root, err := config.ReadYAML(path, f)
	if err != nil {
		return nil, err
	}
	var file descriptionFile
	if err := (&strict.Decoder{Name: "dataset config " + path}).Decode(root, &file); err != nil {
		return nil, err
	}
	format := map[string]string{"auto": "", "pkl": FormatPickle}
	if _, other := format[file.Format]; !other {
		format[file.Format] = file.Format
	}
	return &Description{Path: path, Name: file.Name, Text: file.Text, InputColumn: file.Fields.Input,
		IDsColumn: file.Fields.IDs, TargetColumn: file.Fields.Target, LengthsColumn: file.Fields.Lengths,
		Format: format[file.Format], Rows: file.Rows, Model: file.Model.Name, Dataset: file.Model.Dataset,
		File: file.Model.File, MaxTokens: file.Model.MaxTokens}, nil
}

// Apply fills the options that are not set yet.
func (d *Description) Apply(o *Options) {
	overrides := map[string]string{}
	for role, column := range map[string]string{roleInput: d.InputColumn, roleIDs: d.IDsColumn,
		roleTarget: d.TargetColumn} {
		if column != "" {
			overrides[role] = column
		}
	}
	maps.Copy(overrides, o.Overrides)
	o.Overrides = overrides
	if o.Format == "" {
		o.Format = d.Format
	}
	if o.Limit == 0 {
		o.Limit = d.Rows
	}
	if d.LengthsColumn != "" {
		o.Columns = append(slices.Clone(o.Columns), models.Column{Name: d.LengthsColumn, Type: "int", Required: true})
		o.Keep = append(slices.Clone(o.Keep), d.LengthsColumn)
		o.lengths = true
	}
}

// cut removes the padding of a row, which must not be sent. The last of the row's kept values is the length of the
// prompt.
func cut(s *Sample) *fault {
	last := len(s.Kept) - 1
	n, err := strconv.Atoi(s.Kept[last])
	if s.Kept = s.Kept[:last]; err != nil || n < 1 || n > len(s.InputIDs) {
		return &fault{found: fmt.Sprintf("a prompt length of %d for %d ids", n, len(s.InputIDs)),
			expected: "a number from 1 to the number of ids",
			try:      "name the column of the lengths as input_lens_column, or leave it out if the ids have no padding"}
	}
	s.InputIDs, s.InputLen = s.InputIDs[:n:n], n
	return nil
}
