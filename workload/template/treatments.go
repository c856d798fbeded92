package template

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/ordering"

	"gopkg.in/yaml.v3"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/internal/config/strict"
)

// mostTreatments bounds the product of an experiment's factors.
const mostTreatments = 1000

// Treatment is one setting of an experiment: a run with overrides of its own.
type Treatment struct {
	Name      string
	Profile   string // replaces the run's profile; empty: the run's
	Overrides []Pair // of this treatment alone
	Line      int    // of the file
}

// Experiment is a series of treatments.
type Experiment struct {
	File        string
	Constants   []Pair // overrides of every treatment, which those of the command line and of a treatment replace
	Treatments  []Treatment
	MaxAttempts int
	StopOnError bool
}

// experimentFile has the keys of the three forms of the file (docs/reference/dialects.md#treatments).
type experimentFile struct {
	Experiment       any              `yaml:"experiment" doc:"name and description"`
	Constants        map[string]any   `yaml:"constants" doc:"overrides of every treatment"`
	Treatments       []map[string]any `yaml:"treatments" doc:"name, profile and overrides of each treatment"`
	Run              factorsFile      `yaml:"run" doc:"factors, and a list of values for each treatment"`
	Design           design           `yaml:"design" doc:"factors whose levels are combined"`
	Setup            any              `yaml:"setup" yet:"set-ups need a new deployment; deploy and run each"`
	MaxAttempts      int              `yaml:"treatment_max_attempts" is:"0..100" doc:"of a treatment that fails"`
	StopOnError      bool             `yaml:"treatment_stop_on_error" doc:"end the experiment with the first failure"`
	ValidateFailures bool             `yaml:"validate_failures" doc:"always so: a run with failed requests failed"`
}

type factorsFile struct {
	Factors    []string `yaml:"factors" doc:"keys of the profile"`
	Treatments []any    `yaml:"treatments" doc:"values of the factors, separated by commas; a map of one adds a name"`
}

type design struct {
	Type  string       `yaml:"type" one:"full_factorial" doc:"how levels are combined"`
	Run   designFactor `yaml:"run"`
	Setup any          `yaml:"setup" yet:"set-ups need a new deployment; deploy and run each"`
}

type designFactor struct {
	Factors []factor `yaml:"factors" doc:"keys of the profile and their levels"`
}

type factor struct {
	Name   string `yaml:"name" doc:"for the treatment's name"`
	Key    string `yaml:"key" need:"yes" doc:"of the profile"`
	Levels []any  `yaml:"levels" need:"yes" doc:"values"`
}

// ReadExperiment reads a file of treatments of at most 1 MiB.
func ReadExperiment(name string, r io.Reader) (*Experiment, error) {
	root, err := config.ReadYAML("experiment "+name, r)
	if err != nil {
		return nil, err
	}
	var f experimentFile
	d := strict.Decoder{Name: "experiment " + name}
	if err := d.Decode(root, &f); err != nil {
		return nil, err
	}
	e := &Experiment{File: name, Constants: pairsOf(f.Constants), MaxAttempts: max(1, f.MaxAttempts),
		StopOnError: f.StopOnError}
	for _, part := range []func(*experimentFile) ([]Treatment, error){listed, seedForm, factorial} {
		more, err := part(&f)
		if err != nil {
			return nil, fmt.Errorf("experiment %s: %w", name, err)
		}
		e.Treatments = append(e.Treatments, more...)
	}
	if len(e.Treatments) == 0 {
		return nil, fmt.Errorf("experiment %s has no treatments; list them below the key treatments or run", name)
	}
	lines := slices.Concat(linesOf(root, "treatments"), linesOf(root, "run", "treatments"))
	for i := range e.Treatments {
		t := &e.Treatments[i]
		if t.Name == "" {
			t.Name = fmt.Sprint(i + 1)
		}
		if i < len(lines) {
			t.Line = lines[i]
		} else if design, err := find(root, "design"); err == nil {
			t.Line = design.Line
		}
	}
	return e, nil
}

// linesOf returns the lines of the items of a list.
func linesOf(n *yaml.Node, path ...string) (lines []int) {
	var err error
	for _, key := range path {
		if n, err = find(n, key); err != nil {
			return nil
		}
	}
	for _, item := range n.Content {
		lines = append(lines, item.Line)
	}
	return lines
}

// listed returns the treatments that have their own maps.
func listed(f *experimentFile) (list []Treatment, err error) {
	for _, m := range f.Treatments {
		t := Treatment{}
		for _, special := range []struct {
			key string
			to  *string
		}{{"name", &t.Name}, {"profile", &t.Profile}} {
			if v, ok := m[special.key]; ok {
				*special.to = fmt.Sprint(v)
				delete(m, special.key)
			}
		}
		t.Overrides = pairsOf(m)
		list = append(list, t)
	}
	return list, nil
}

// seedForm returns the treatments that are lists of values, one for each factor.
func seedForm(f *experimentFile) (list []Treatment, err error) {
	for i, v := range f.Run.Treatments {
		t := Treatment{}
		if m, named := v.(map[string]any); named && len(m) == 1 {
			for name, values := range m {
				t.Name, v = name, values
			}
		}
		values, err := splitItems(fmt.Sprint(v))
		if err != nil {
			return nil, err
		}
		if len(values) != len(f.Run.Factors) {
			return nil, fmt.Errorf("run.treatments.%d has %d values for %d factors (%s)", i, len(values),
				len(f.Run.Factors), strings.Join(f.Run.Factors, ", "))
		}
		for k, value := range values {
			t.Overrides = append(t.Overrides, Pair{f.Run.Factors[k], value})
		}
		list = append(list, t)
	}
	return list, nil
}

// factorial returns every combination of the levels of a design.
func factorial(f *experimentFile) ([]Treatment, error) {
	if len(f.Design.Run.Factors) == 0 {
		return nil, nil
	}
	list := []Treatment{{}}
	for _, x := range f.Design.Run.Factors {
		if len(list)*len(x.Levels) > mostTreatments {
			return nil, fmt.Errorf("the design has more than %d treatments", mostTreatments)
		}
		var next []Treatment
		for _, t := range list {
			for _, level := range x.Levels {
				one := Treatment{Name: t.Name, Overrides: append(slices.Clone(t.Overrides), Pair{x.Key, yamlText(level)})}
				label := x.Name
				if label == "" {
					label = x.Key[strings.LastIndexByte(x.Key, '.')+1:]
				}
				one.Name = strings.TrimPrefix(one.Name+"-"+label+"-"+yamlText(level), "-")
				next = append(next, one)
			}
		}
		list = next
	}
	return list, nil
}

func pairsOf(m map[string]any) []Pair {
	var pairs []Pair
	for key, v := range m {
		pairs = append(pairs, Pair{key, yamlText(v)})
	}
	ordering.Sort(pairs, func(a, b Pair) int { return strings.Compare(a.Key, b.Key) })
	return pairs
}

// yamlText writes a value on one line.
func yamlText(v any) string {
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	n.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&n)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(string(text))
}
