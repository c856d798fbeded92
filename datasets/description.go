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

// Description is the YAML file of a data set (docs/reference/datasets.md#a-file-of-names): which of its columns hold
// what, and whose it is.
type Description struct {
	Path string // of the YAML file

	Name, Text    string // for people
	InputColumn   string // of the prompts' texts; empty here and below: the schema's own
	IDsColumn     string // of the prompts' token ids
	TargetColumn  string // of the reference outputs
	LengthsColumn string // of how many of a row's ids are its prompt; the others are padding
	Format        string // one of the Format constants; empty: the content tells
	Rows          int    // read no more than these; 0: all
	Model         string // benchmark, or its model's name
	Dataset       string // name of the set of which this is a part
	File          string // of the data set, from the working folder
	MaxTokens     int    // of an answer; 0: the benchmark's own
}

// formatNames are the values of file_format.
var formatNames = map[string]string{
	"auto": "", "json": FormatJSON, "csv": FormatCSV, "parquet": FormatParquet, "npy": FormatNPY, "pickle": FormatPickle,
	"pkl": FormatPickle,
}

// ReadDescription reads a description of at most 1 MiB. Unknown keys and values of another form are errors with their
// line.
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
		return nil, fmt.Errorf("dataset config %s: file_format is %q, which is none of %s", path, format,
			strings.Join(slices.Sorted(maps.Keys(formatNames)), ", "))
	}
	return d, nil
}

// keyMap says where the values of a map's keys go: to a *string, an *int above 0, or into a map below.
type keyMap map[string]any

func (k keyMap) read(m *yaml.Node) error {
	if m.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a map of %s is expected", m.Line, strings.Join(slices.Sorted(maps.Keys(k)), ", "))
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		to, known := k[key.Value]
		if !known {
			names := slices.Sorted(maps.Keys(k))
			if near := config.Nearest(key.Value, names); len(near) > 0 {
				names = near
			}
			return fmt.Errorf("line %d: the key %q is unknown or stands twice; did you mean %s", key.Line, key.Value,
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
		return fmt.Errorf("takes one value that is not empty; remove the line to leave it unset")
	}
	switch to := to.(type) {
	case *string:
		*to = value.Value
	case *int:
		n, err := strconv.Atoi(value.Value)
		if err != nil || n < 1 {
			return fmt.Errorf("is %q; write a whole number above 0", value.Value)
		}
		*to = n
	}
	return nil
}

// Apply puts what the description says under what the options have already.
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

// cut takes the padding off a row whose length is the last of its kept values: no request carries padding.
func cut(s *Sample) *fault {
	last := len(s.Kept) - 1
	n, err := strconv.Atoi(s.Kept[last])
	if s.Kept = s.Kept[:last]; err != nil || n < 1 || n > len(s.InputIDs) {
		return &fault{found: fmt.Sprintf("the length %d of a prompt that has %d ids", n, len(s.InputIDs)),
			expected: "a number from 1 to that",
			try:      "name the column of the lengths as input_lens_column, or leave it out where the ids carry no padding"}
	}
	s.InputIDs, s.InputLen = s.InputIDs[:n:n], n
	return nil
}
