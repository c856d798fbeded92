package datasets

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/models"
)

// Description is the YAML file that describes a data set (docs/reference/datasets.md#a-file-of-names): the names of its
// columns and the benchmark that it belongs to.
type Description struct {
	Path string // of the YAML file

	Name, Text    string // for people
	InputColumn   string // prompts as text; empty here and below: the schema's name
	IDsColumn     string // prompts as token ids
	TargetColumn  string // reference outputs
	LengthsColumn string // number of ids in a row that are its prompt; the rest is padding
	Format        string // one of the Format constants; empty: detect it
	Rows          int    // maximum number of records; 0: all
	Model         string // benchmark, or its model's name
	Dataset       string // name of the set that this file is a part of
	File          string // data set file, relative to the working folder
	MaxTokens     int    // maximum length of an answer; 0: the benchmark's
}

// formatNames are the values of file_format.
var formatNames = map[string]string{
	"auto": "", "json": FormatJSON, "csv": FormatCSV, "parquet": FormatParquet, "npy": FormatNPY, "pickle": FormatPickle,
	"pkl": FormatPickle,
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
	d, format := &Description{Path: path}, "auto"
	keys := keyMap{
		"name": &d.Name, "description": &d.Text, "file_format": &format, "total_sample_count": &d.Rows,
		"fields": keyMap{"input_column": &d.InputColumn, "input_ids_column": &d.IDsColumn,
			"output_column": &d.TargetColumn, "input_lens_column": &d.LengthsColumn},
		"model_specific": keyMap{"default_model_name": &d.Model, "default_dataset": &d.Dataset, "dataset_file": &d.File,
			"max_tokens": &d.MaxTokens},
	}
	if root != nil {
		if err := keys.read(root); err != nil {
			return nil, fmt.Errorf("dataset config %s %w", path, err)
		}
	}
	known := false
	if d.Format, known = formatNames[format]; !known {
		return nil, fmt.Errorf("dataset config %s: file_format is %q, expected one of %s", path, format,
			strings.Join(slices.Sorted(maps.Keys(formatNames)), ", "))
	}
	return d, nil
}

// keyMap maps keys to the destination of their values: a *string, an *int above 0, or a nested keyMap.
type keyMap map[string]any

func (k keyMap) read(m *yaml.Node) error {
	if m.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: expected a map of %s", m.Line, strings.Join(slices.Sorted(maps.Keys(k)), ", "))
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		to, known := k[key.Value]
		if !known {
			names := slices.Sorted(maps.Keys(k))
			if near := config.Nearest(key.Value, names); len(near) > 0 {
				names = near
			}
			return fmt.Errorf("line %d: unknown or duplicate key %q; did you mean %s", key.Line, key.Value,
				strings.Join(names, " or "))
		}
		rest := keyMap(maps.Clone(k))
		delete(rest, key.Value)
		k = rest
		if err := readValue(to, value); err != nil {
			return fmt.Errorf("line %d: %s %w", value.Line, key.Value, err)
		}
	}
	return nil
}

func readValue(to any, value *yaml.Node) error {
	if below, ok := to.(keyMap); ok {
		return below.read(value)
	}
	if value.Kind != yaml.ScalarNode || value.Value == "" || value.Tag == "!!null" {
		return fmt.Errorf("needs one value that is not empty; remove the line to leave it unset")
	}
	switch to := to.(type) {
	case *string:
		*to = value.Value
	case *int:
		n, err := strconv.Atoi(value.Value)
		if err != nil || n < 1 {
			return fmt.Errorf("is %q, expected an integer above 0", value.Value)
		}
		*to = n
	}
	return nil
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

// cut removes the padding of a row whose length is the last of its kept values, since padding must not be sent.
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
