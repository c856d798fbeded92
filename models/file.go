package models

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/config"
)

// AddFile reads a row from a YAML file and adds it to the registry. Call it before any other use of the registry. A
// name that another row already has is an error.
func AddFile(path string) (*Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the model file: %w", err)
	}
	defer f.Close()
	root, err := config.ReadYAML(path, f)
	if err != nil {
		return nil, fmt.Errorf("the model file: %w", err)
	}
	row, err := readRow(path, yamlNode{root, path})
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

// readRow makes a row from the map of a file. Missing fields are copied from the row named by "like", or else from the
// generic row. The row is in no round, so no round's rules apply to it.
func readRow(path string, root yamlNode) (*Row, error) {
	if root.Node == nil {
		return nil, fmt.Errorf("the model file %s is empty: write at least name, and like or columns", path)
	}
	row := generic
	if like, ok, err := root.find("like"); err != nil {
		return nil, err
	} else if ok {
		name, err := like.text()
		if err != nil {
			return nil, err
		}
		m, err := Find(name)
		if err != nil {
			return nil, like.wrong("%v", err)
		}
		row = *m.Row
	}
	row.Name, row.Aliases, row.Decisions, row.Retired = "", nil, nil, false
	row.Source, row.Data = "model file "+path, DataSource{}
	row.Sampling = map[Mode]Sampling{Performance: row.Sampling[Performance], Accuracy: row.Sampling[Accuracy]}
	err := root.fields(map[string]func(yamlNode) error{
		"like":              func(yamlNode) error { return nil },
		"name":              func(n yamlNode) error { return rowName(n, &row) },
		"aliases":           func(n yamlNode) (err error) { row.Aliases, err = n.texts(); return err },
		"served-models":     func(n yamlNode) (err error) { row.ServedModels, err = n.texts(); return err },
		"token-latencies":   func(n yamlNode) error { return n.truth(&row.UseTokenLatencies) },
		"text-answers":      func(n yamlNode) error { return n.truth(&row.TextAnswers) },
		"api":               func(n yamlNode) error { return n.oneOf(&row.API, "completions", "chat", "generate") },
		"dataset-samples":   func(n yamlNode) error { return n.count(&row.DatasetSamples, 1) },
		"performance-count": func(n yamlNode) error { return n.count(&row.PerformanceCount, 1) },
		"accuracy-count":    func(n yamlNode) error { return n.count(&row.AccuracyCount, 1) },
		"max-input-tokens":  func(n yamlNode) error { return n.count(&row.MaxInputTokens, 1) },
		"min-output-tokens": func(n yamlNode) error { return n.count(&row.MinOutputTokens, 1) },
		"vocabulary":        func(n yamlNode) error { return n.count(&row.Vocabulary, 1) },
		"bos":               func(n yamlNode) error { return n.id(&row.BOS) },
		"eos":               func(n yamlNode) (err error) { row.EOS, err = n.ids(); return err },
		"scenarios":         func(n yamlNode) error { return readScenarios(n, &row) },
		"sampling":          func(n yamlNode) error { return readSampling(n, &row, Performance, Accuracy) },
		"accuracy-sampling": func(n yamlNode) error { return readSampling(n, &row, Accuracy) },
		"columns":           func(n yamlNode) error { return readColumns(n, &row) },
		"data":              func(n yamlNode) error { return readData(n, &row.Data) },
		"scoring":           func(n yamlNode) error { return readScoring(n, &row) },
	})
	if err != nil {
		return nil, err
	}
	return &row, checkRow(path, &row)
}

// checkRow validates combinations of keys.
func checkRow(path string, row *Row) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("the model file %s: %s", path, fmt.Sprintf(format, args...))
	}
	if row.Name == "" {
		return bad("no name given; write name: my-model")
	}
	for _, id := range append(slices.Clone(row.EOS), row.BOS) {
		if row.Vocabulary > 0 && int(id) >= row.Vocabulary {
			return bad("the token id %d is not below the vocabulary of %d", id, row.Vocabulary)
		}
	}
	if row.Scoring.Scorer == "" {
		return nil
	}
	if row.Scoring.Columns.Target == "" {
		return bad("scoring has no target column; write columns: {target: NAME}")
	}
	has := func(name string) bool {
		return slices.ContainsFunc(row.Columns, func(c Column) bool { return c.Name == name })
	}
	if !has(row.Scoring.Columns.Tests) {
		row.Scoring.Columns.Tests = "" // inherited from "like"; only synthetic sets have the column
	}
	for _, name := range row.Scoring.Columns.Names() {
		if !has(name) {
			return bad("scoring reads the column %q, which columns does not list", name)
		}
	}
	return nil
}

func rowName(n yamlNode, row *Row) error {
	name, err := n.text()
	if err != nil {
		return err
	}
	if strings.ContainsAny(name, "/ \t\n") || len(name) > 96 || name[0] == '-' || name[0] == '.' {
		return n.wrong("invalid name %.100q: a name is used in paths, so it has no slash or blank and at most 96 bytes", name)
	}
	row.Name = name
	return nil
}

// readScenarios reads a map of scenarios. Each uses LoadGen's generic key unless loadgen-model sets another.
func readScenarios(n yamlNode, row *Row) error {
	row.Scenarios = nil
	known := map[string]func(yamlNode) error{}
	for _, name := range scenarioNames {
		known[string(name)] = func(n yamlNode) error {
			s, err := readScenario(n, name, row)
			row.Scenarios = append(row.Scenarios, s)
			return err
		}
	}
	if err := n.fields(known); err != nil {
		return err
	}
	if len(row.Scenarios) == 0 {
		return n.wrong("scenarios is empty; list some of %s", join(scenarioNames))
	}
	return nil
}

func readScenario(n yamlNode, name Scenario, row *Row) (ScenarioRow, error) {
	makers := map[Scenario]func() ScenarioRow{
		Offline:      func() ScenarioRow { return offline(Generic, confMinQueries) },
		Server:       func() ScenarioRow { return server(Generic, 0, 0, 0) },
		Interactive:  func() ScenarioRow { return interactive(Generic, 0, 0, 0) },
		SingleStream: func() ScenarioRow { return singleStream(Generic) },
	}
	s := makers[name]()
	duration := func(to *time.Duration) func(yamlNode) error {
		return func(n yamlNode) error { return n.duration(to) }
	}
	return s, n.fields(map[string]func(yamlNode) error{
		"loadgen-model": func(n yamlNode) error {
			return n.oneOf(&s.LoadGenModel, append(config.LoadGenModels(), Generic)...)
		},
		"ttft-limit": duration(&s.TTFTLimit), "tpot-limit": duration(&s.TPOTLimit),
		"latency-limit": duration(&s.TargetLatency),
		"min-duration":  duration(&s.MinDuration),
		"min-queries":   func(n yamlNode) error { return n.count(&s.MinQueries, 1) },
		"samples":       func(n yamlNode) error { return n.count(&s.Samples, 1) },
	})
}

// readSampling replaces the sampling of modes. Parameters that the map does not have are not sent.
func readSampling(n yamlNode, row *Row, modes ...Mode) error {
	var s Sampling
	err := n.fields(map[string]func(yamlNode) error{
		"max-tokens":  func(n yamlNode) error { return n.count(&s.MaxTokens, 1) },
		"min-tokens":  func(n yamlNode) error { return n.count(&s.MinTokens, 0) },
		"temperature": func(n yamlNode) error { s.Temperature = ptr(0.0); return n.number(s.Temperature, 0, 1e6) },
		"top-p":       func(n yamlNode) error { s.TopP = ptr(0.0); return n.number(s.TopP, 0, 1) },
		"top-k":       func(n yamlNode) error { s.TopK = ptr(0); return n.count(s.TopK, -1) },
		"seed":        func(n yamlNode) error { seed := 0; err := n.count(&seed, 0); s.Seed = ptr(int64(seed)); return err },
		"ignore-eos":  func(n yamlNode) error { return n.truth(&s.IgnoreEOS) },
		"stop-ids":    func(n yamlNode) (err error) { s.StopTokenIDs, err = n.ids(); return err },
	})
	for _, m := range modes {
		row.Sampling[m] = s
	}
	return err
}

// columnTypes lists the types of columns that package datasets reads.
var columnTypes = []string{"ids", "text", "object", "messages", "int", "number", "bool", "array", "any"}

func readColumns(n yamlNode, row *Row) error {
	row.Columns = nil
	return n.items(func(n yamlNode) error {
		c := Column{Type: "text"}
		err := n.fields(map[string]func(yamlNode) error{
			"name":    func(n yamlNode) (err error) { c.Name, err = n.text(); return err },
			"aliases": func(n yamlNode) (err error) { c.Aliases, err = n.texts(); return err },
			"type": func(n yamlNode) (err error) {
				c.Type, err = n.text()
				for word := range strings.SplitSeq(c.Type, "|") {
					if err == nil && !slices.Contains(columnTypes, word) {
						err = n.wrong("unknown type %.60q; use one of %s, or several joined by |", word,
							strings.Join(columnTypes, ", "))
					}
				}
				return err
			},
			"required": func(n yamlNode) error { return n.truth(&c.Required) },
			"role":     func(n yamlNode) error { return n.oneOf(&c.Role, "input_ids", "input", "target", "messages", "id") },
		})
		if err == nil && c.Name == "" {
			err = n.wrong("a column has no name")
		}
		row.Columns = append(row.Columns, c)
		return err
	})
}

// readData reads where the data set comes from.
func readData(n yamlNode, d *DataSource) error {
	text := func(to *string) func(yamlNode) error {
		return func(n yamlNode) (err error) { *to, err = n.text(); return err }
	}
	return n.fields(map[string]func(yamlNode) error{
		"from": text(&d.From), "url": text(&d.URL), "licence": text(&d.Licence),
		"fetch":   func(n yamlNode) (err error) { d.Fetch, err = n.texts(); return err },
		"prepare": func(n yamlNode) (err error) { d.Prepare, err = n.texts(); return err },
		"files": func(n yamlNode) error {
			return n.items(func(n yamlNode) error {
				f, bytes := DataFile{}, 0.0
				err := n.fields(map[string]func(yamlNode) error{
					"name": text(&f.Name), "use": text(&f.Use), "format": text(&f.Format), "sha256": text(&f.SHA256),
					"samples": func(n yamlNode) error { return n.count(&f.Samples, 1) },
					"bytes":   func(n yamlNode) error { return n.number(&bytes, 1, 1e15) },
				})
				f.Bytes = int64(bytes)
				switch {
				case err == nil && f.Name == "":
					err = n.wrong("a file has no name")
				case err == nil && f.SHA256 != "" && !isSHA256(f.SHA256):
					err = n.wrong("sha256 %.80q is not 64 lower-case hexadecimal digits", f.SHA256)
				}
				d.Files = append(d.Files, f)
				return err
			})
		},
	})
}

// isSHA256 reports whether a text is a SHA-256 in lower-case hexadecimal digits.
func isSHA256(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

func readScoring(n yamlNode, row *Row) error {
	s := Scoring{Source: row.Source}
	column := func(to *string) func(yamlNode) error {
		return func(n yamlNode) (err error) { *to, err = n.text(); return err }
	}
	err := n.fields(map[string]func(yamlNode) error{
		"scorer": func(n yamlNode) error { return n.oneOf(&s.Scorer, Scorings()...) },
		"columns": func(n yamlNode) error {
			c := &s.Columns
			return n.fields(map[string]func(yamlNode) error{
				"target": column(&c.Target), "subset": column(&c.Subset), "metric": column(&c.Metric), "id": column(&c.ID),
				"brand": column(&c.Brand), "secondhand": column(&c.Secondhand), "function": column(&c.Function),
			})
		},
		"targets": func(n yamlNode) error {
			return n.items(func(n yamlNode) error {
				t := Target{}
				err := n.fields(map[string]func(yamlNode) error{
					"metric": column(&t.Metric),
					"min":    func(n yamlNode) error { return n.number(&t.Min, 0, 1e12) },
					"max":    func(n yamlNode) error { return n.number(&t.Max, 0, 1e12) },
				})
				if err == nil && t.Metric == "" {
					err = n.wrong("a target has no metric")
				}
				s.Targets = append(s.Targets, t)
				return err
			})
		},
	})
	if err == nil && s.Scorer == "" {
		err = n.wrong("scoring has no scorer; set it to one of %s", strings.Join(Scorings(), ", "))
	}
	row.Scoring = s
	return err
}
