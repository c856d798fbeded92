package describe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Description describes a submission.
type Description struct {
	Submitter    string            // name of the submitter's folder
	Division     string            // closed, open or network
	System       map[string]any    // by field of layout.SystemFields, NetworkFields and OtherFields
	Measurements map[string]any    // by field of layout.MeasurementFields
	Readme       string            // text at the end of each scenario's README.md
	Calibration  string            // text of the calibration document
	Source       string            // folder with the submitter's code; "": none
	Names        map[string]string // checker's name of a benchmark → own name, for the open division
	Power        string            // file with the system's nameplate power; "": none
	From         map[string]string // field → source of its value
}

// Fact is the detected value of a field.
type Fact struct {
	Field string
	Value any
	From  string // such as "this machine"
}

// New returns an empty description.
func New() *Description {
	return &Description{System: map[string]any{}, Measurements: map[string]any{}, Names: map[string]string{},
		From: map[string]string{}}
}

// The top-level keys of the file.
const (
	keySystem       = "system"
	keyMeasurements = "measurements"
	keyReadme       = "readme"
	keyCalibration  = "calibration"
	keySource       = "source"
	keyNames        = "benchmark_names"
	keyPower        = "power_file"
	keySubmitter    = "submitter"
	keyDivision     = "division"
)

var fileKeys = []string{keySubmitter, keyDivision, keySystem, keyMeasurements, keyReadme, keyCalibration, keySource,
	keyNames, keyPower}

// maxDescription limits a description in bytes.
const maxDescription = 1 << 20

// Read reads a description of at most 1 MiB, in the form of the template or of a plain systems/<system>.json. Paths in
// it are relative to the file's folder. An unknown key is an error that suggests similar ones.
func Read(path string) (*Description, error) {
	content, err := atomicfile.ReadWhole(path, maxDescription)
	if err != nil {
		return nil, fmt.Errorf("read the system's description: %w; create one with `mlperf-go submission init`", err)
	}
	root, err := config.ReadYAML(path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("read the system's description: %w", err)
	}
	d := New()
	if root == nil {
		return d, nil
	}
	if err := d.read(root, filepath.Base(path)); err != nil {
		return nil, fmt.Errorf("read the system's description %s: %w", path, err)
	}
	for _, p := range []*string{&d.Source, &d.Power} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(path), *p)
		}
	}
	return d, nil
}

func (d *Description) read(root *yaml.Node, from string) error {
	if plain := !slices.ContainsFunc(keysOf(root), func(k string) bool { return k == keySystem }); plain {
		if err := readFields(d.System, root, systemNames()); err != nil {
			return err
		}
		d.Submitter, d.Division = text(d.System[keySubmitter]), text(d.System[keyDivision])
		d.name(from)
		return nil
	}
	texts := map[string]*string{keySubmitter: &d.Submitter, keyDivision: &d.Division, keyReadme: &d.Readme,
		keyCalibration: &d.Calibration, keySource: &d.Source, keyPower: &d.Power}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, node := root.Content[i], root.Content[i+1]
		var err error
		switch to, isText := texts[key.Value]; {
		case isText:
			err = node.Decode(to)
		case key.Value == keySystem:
			err = readFields(d.System, node, systemNames())
		case key.Value == keyMeasurements:
			err = readFields(d.Measurements, node, names(layout.MeasurementFields))
		case key.Value == keyNames:
			err = node.Decode(&d.Names)
		default:
			return unknown(key, fileKeys)
		}
		if err != nil {
			return fmt.Errorf("line %d, %s: %w", key.Line, key.Value, err)
		}
	}
	if d.Names == nil {
		d.Names = map[string]string{}
	}
	d.name(from)
	return nil
}

// name records the file as the source of every value so far.
func (d *Description) name(from string) {
	for _, fields := range []map[string]any{d.System, d.Measurements} {
		for field := range fields {
			d.From[field] = from
		}
	}
}

func keysOf(root *yaml.Node) []string {
	var keys []string
	for i := 0; i+1 < len(root.Content); i += 2 {
		keys = append(keys, root.Content[i].Value)
	}
	return keys
}

func unknown(key *yaml.Node, known []string) error {
	near := ""
	if n := config.Nearest(key.Value, known); len(n) > 0 {
		near = "; did you mean " + strings.Join(n, ", ") + "?"
	}
	return fmt.Errorf("line %d: unknown key %q%s", key.Line, key.Value, near)
}

// readFields decodes a map of fields, without empty ones. Values must have a JSON form.
func readFields(to map[string]any, node *yaml.Node, known []string) error {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return errors.New("expected a map of fields")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if !slices.Contains(known, key.Value) {
			return unknown(key, known)
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: %s is repeated", key.Line, key.Value)
		}
		seen[key.Value] = true
		var v any
		if err := node.Content[i+1].Decode(&v); err != nil {
			return fmt.Errorf("line %d, %s: %w", key.Line, key.Value, err)
		}
		if _, err := json.Marshal(v); err != nil {
			return fmt.Errorf("line %d, %s: the value has no JSON form: %w", key.Line, key.Value, err)
		}
		if v = plain(v); !empty(v) {
			to[key.Value] = v
		}
	}
	return nil
}

// plain converts the number 0 to text, because the organisers' checker treats the number as missing
// (docs/reference/submission-rules.md#system-description).
func plain(v any) any {
	if v == 0 {
		return "0"
	}
	return v
}

// empty reports whether the organisers' checker treats a value as missing.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// text returns v if it is a string, else "".
func text(v any) string {
	s, _ := v.(string)
	return s
}

func names(fields []layout.Field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.Name
	}
	return all
}

func systemNames() []string {
	return names(slices.Concat(layout.SystemFields, layout.NetworkFields, layout.OtherFields))
}

// object returns fields as indented JSON: first those in order, then the rest by name.
func object(values map[string]any, order []string) ([]byte, error) {
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(k string) bool { return slices.Contains(order, k) })
	var b bytes.Buffer
	b.WriteString("{")
	wrote := false
	for _, name := range slices.Concat(order, rest) {
		v, ok := values[name]
		if !ok {
			continue
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("  ", "  ")
		if err := e.Encode(v); err != nil {
			return nil, fmt.Errorf("the field %s has no JSON form: %w", name, err)
		}
		if wrote {
			b.WriteString(",")
		}
		wrote = true
		fmt.Fprintf(&b, "\n  %q: %s", name, bytes.TrimSpace(text.Bytes()))
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}
