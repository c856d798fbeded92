package describe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Description is what people and machines say about a submission.
type Description struct {
	Submitter    string            // name of the submitter's folder
	Division     string            // closed, open or network
	System       map[string]any    // by field of layout.SystemFields and its kin
	Measurements map[string]any    // by field of layout.MeasurementFields
	Readme       string            // text that each scenario's README.md ends with
	Calibration  string            // text of the calibration document
	Source       string            // folder with the code that is handed in; empty: none but ours
	Names        map[string]string // open division: own name of a benchmark, by its checker name
	Power        string            // file with the system's nameplate power; empty: none
	From         map[string]string // field to where its value came from
}

// Fact is one field's value that somebody else than the person knows.
type Fact struct {
	Field string
	Value any
	From  string // such as "this machine"
}

// New is a description in which nothing is said.
func New() *Description {
	return &Description{System: map[string]any{}, Measurements: map[string]any{}, Names: map[string]string{},
		From: map[string]string{}}
}

// The keys of the file beside the fields of a plain system description.
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

// Read reads a description file of at most 1 MiB: the template's form, or a plain systems/<system>.json. Paths in it
// are relative to the file's folder. An unknown key is an error with the nearest known one.
func Read(path string) (*Description, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the system's description: %w; `mlperf-go submission init` writes one to fill in", err)
	}
	defer f.Close()
	root, err := config.ReadYAML(path, f)
	if err != nil {
		return nil, fmt.Errorf("reading the system's description: %w", err)
	}
	d := New()
	if root == nil {
		return d, nil
	}
	if err := d.read(root, filepath.Base(path)); err != nil {
		return nil, fmt.Errorf("reading the system's description %s: %w", path, err)
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
		d.Submitter, d.Division = said(d.System[keySubmitter]), said(d.System[keyDivision])
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

// name notes that every value so far is the file's.
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
	return fmt.Errorf("line %d: the key %q is unknown%s", key.Line, key.Value, near)
}

// readFields decodes a map of fields, without those in which nothing is said. Values are texts, numbers, lists and
// maps, as JSON has them.
func readFields(to map[string]any, node *yaml.Node, known []string) error {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return errors.New("a map of fields is expected")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if !slices.Contains(known, key.Value) {
			return unknown(key, known)
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: %s stands there twice", key.Line, key.Value)
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

// plain writes the number 0 as text: the organisers' checker takes the number for no answer
// (docs/reference/submission-rules.md#system-description).
func plain(v any) any {
	if v == 0 {
		return "0"
	}
	return v
}

// empty is true for what the organisers' checker takes for no answer.
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

func said(v any) string {
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

// object writes fields in a fixed order as indented JSON: first the listed ones, then the rest by name.
func object(values map[string]any, order []string) ([]byte, error) {
	rest := slices.DeleteFunc(sortedKeys(values), func(k string) bool { return slices.Contains(order, k) })
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
