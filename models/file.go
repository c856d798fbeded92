package models

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/config/strict"
)

// AddFile reads a row from a YAML file and adds it to the registry. Call it before any other use of the registry. A
// name that another row already has is an error.
func AddFile(path string) (*Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the model file: %w; docs/how-to/models.md shows its form", err)
	}
	defer f.Close()
	row, err := readRow(path, f)
	if err != nil {
		return nil, err
	}
	for _, name := range append([]string{row.Name}, row.Aliases...) {
		if m, err := Find(name); err == nil {
			return nil, fmt.Errorf("the model file %s: the name %q already belongs to the benchmark %s; choose another", path,
				name, m.Row.Name)
		}
	}
	rows = append(rows, row)
	return row, nil
}

// rowFile is a model file: a row, and the values that a model file writes in another form than Row.
type rowFile struct {
	Row
	Like             string        `yaml:"like"`
	Scenarios        scenariosFile `yaml:"scenarios"`
	Sampling         Sampling      `yaml:"sampling"`
	AccuracySampling Sampling      `yaml:"accuracy-sampling"`
	Columns          []Column      `yaml:"columns"`
	Scoring          *Scoring      `yaml:"scoring"`

	decoder strict.Decoder
}

type scenariosFile struct {
	Offline      ScenarioRow `yaml:"Offline"`
	Server       ScenarioRow `yaml:"Server"`
	Interactive  ScenarioRow `yaml:"Interactive"`
	SingleStream ScenarioRow `yaml:"SingleStream"`
}

// inOrder returns the scenarios in the order of scenarioNames.
func (s *scenariosFile) inOrder() []ScenarioRow {
	return []ScenarioRow{s.Offline, s.Server, s.Interactive, s.SingleStream}
}

// readRow reads a model file. Missing fields are copied from the row named by "like", or else from the generic row. The
// row is in no round, so no round's rules apply to it.
func readRow(path string, r io.Reader) (*Row, error) {
	root, err := config.ReadYAML(path, r)
	if err != nil {
		return nil, fmt.Errorf("the model file: %w", err)
	}
	if root == nil {
		return nil, fmt.Errorf("the model file %s is empty: write at least name, and like or columns", path)
	}
	f := &rowFile{Row: generic, decoder: strict.Decoder{Name: "the model file " + path}}
	if err := f.findLike(root); err != nil {
		return nil, err
	}
	row := &f.Row
	row.Name, row.Aliases, row.Decisions, row.Retired = "", nil, nil, false
	row.Source, row.Data = "model file "+path, DataSource{}
	// each scenario uses LoadGen's generic key unless loadgen-model sets another
	f.Scenarios = scenariosFile{offline(Generic, confMinQueries), server(Generic, 0, 0, 0), interactive(Generic, 0, 0, 0),
		singleStream(Generic)}
	if err := f.decoder.Decode(root, f); err != nil {
		return nil, err
	}
	if err := f.apply(); err != nil {
		return nil, err
	}
	return row, f.check()
}

// findLike copies the row that the file names, so that the file's own values replace some of it.
func (f *rowFile) findLike(root *yaml.Node) error {
	for i := 0; i+1 < len(root.Content); i += 2 {
		value := root.Content[i+1]
		if root.Content[i].Value != "like" || value.Kind != yaml.ScalarNode {
			continue
		}
		m, err := Find(value.Value)
		if err != nil {
			return fmt.Errorf("%s line %d: %w", f.decoder.Name, value.Line, err)
		}
		f.Row = *m.Row
	}
	return nil
}

// has reports whether the file has a key.
func (f *rowFile) has(key string) bool { return f.decoder.Lines[key] > 0 }

// apply converts the values that Row holds in another form.
func (f *rowFile) apply() error {
	row := &f.Row
	row.Sampling = map[Mode]Sampling{Performance: row.Sampling[Performance], Accuracy: row.Sampling[Accuracy]}
	if f.has("sampling") { // parameters missing from the map are not sent
		row.Sampling[Performance], row.Sampling[Accuracy] = f.Sampling, f.Sampling
	}
	if f.has("accuracy-sampling") {
		row.Sampling[Accuracy] = f.AccuracySampling
	}
	if f.has("columns") {
		row.Columns = f.Columns
	}
	if f.Scoring != nil {
		row.Scoring, row.Scoring.Source = *f.Scoring, row.Source
	}
	if !f.has("scenarios") {
		return nil
	}
	row.Scenarios = nil
	for _, s := range f.Scenarios.inOrder() {
		if f.has("scenarios." + string(s.Scenario)) {
			row.Scenarios = append(row.Scenarios, s)
		}
	}
	if len(row.Scenarios) == 0 {
		return f.decoder.Errorf("scenarios", "the map is empty; list some of %s", join(scenarioNames))
	}
	return nil
}

// columnTypes lists the types of columns that package datasets reads.
var columnTypes = []string{"ids", "text", "object", "messages", "int", "number", "bool", "array", "any"}

// check validates the rules that the struct tags cannot express.
func (f *rowFile) check() error {
	row, wrong := &f.Row, f.decoder.Errorf
	if strings.ContainsAny(row.Name, "/ \t\n") || len(row.Name) > 96 || strings.HasPrefix(row.Name, "-") ||
		strings.HasPrefix(row.Name, ".") || row.Name == "" {
		return wrong("name", "invalid name %.100q: a name is used in paths, so it has no slash or blank and from 1 to 96 "+
			"bytes", row.Name)
	}
	for _, s := range row.Scenarios {
		known := append(config.LoadGenModels(), Generic)
		key := "scenarios." + string(s.Scenario) + ".loadgen-model"
		if f.has(key) && !slices.Contains(known, s.LoadGenModel) {
			return wrong(key, "unknown value %.60q%s", s.LoadGenModel, config.DidYouMean(s.LoadGenModel, known))
		}
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		c.Type = cmp.Or(c.Type, "text")
		for word := range strings.SplitSeq(c.Type, "|") {
			if !slices.Contains(columnTypes, word) {
				return wrong(fmt.Sprintf("columns.%d.type", i), "unknown type %.60q; use one of %s, or several joined by |", word,
					strings.Join(columnTypes, ", "))
			}
		}
	}
	for i, file := range row.Data.Files {
		if file.SHA256 != "" && !isSHA256(file.SHA256) {
			return wrong(fmt.Sprintf("data.files.%d.sha256", i), "%.80q is not 64 lower-case hexadecimal digits", file.SHA256)
		}
	}
	for _, id := range append(slices.Clone(row.EOS), row.BOS) {
		if row.Vocabulary > 0 && int(id) >= row.Vocabulary {
			return wrong("", "the token id %d is not below the vocabulary of %d", id, row.Vocabulary)
		}
	}
	return f.checkScoring()
}

// checkScoring validates the scorer and the columns that it reads.
func (f *rowFile) checkScoring() error {
	row, wrong := &f.Row, f.decoder.Errorf
	s := &row.Scoring
	if s.Scorer == "" {
		return nil
	}
	if !slices.Contains(Scorings(), s.Scorer) {
		return wrong("scoring.scorer", "unknown value %.60q; use one of %s", s.Scorer, strings.Join(Scorings(), ", "))
	}
	if s.Columns.Target == "" {
		return wrong("scoring", "scoring has no target column; write columns: {target: NAME}")
	}
	has := func(name string) bool {
		return slices.ContainsFunc(row.Columns, func(c Column) bool { return c.Name == name })
	}
	if !has(s.Columns.Tests) {
		s.Columns.Tests = "" // inherited from "like"; only synthetic sets have the column
	}
	for _, name := range s.Columns.Names() {
		if !has(name) {
			return wrong("scoring", "scoring reads the column %q, which columns does not list", name)
		}
	}
	return nil
}

// isSHA256 reports whether a text is a SHA-256 in lower-case hexadecimal digits.
func isSHA256(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}
