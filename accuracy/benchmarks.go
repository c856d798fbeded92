package accuracy

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// Benchmark describes how one benchmark is scored: a row of the model registry.
type Benchmark struct {
	models.Scoring
	Name string // name of the benchmark, as in models.Row.Name
	row  *models.Row
}

// Target is the range of values that a metric must have, inclusive.
type Target = models.Target

// Benchmarks returns every benchmark of the registry that has a scorer, in listing order.
func Benchmarks() []*Benchmark {
	var list []*Benchmark
	for _, r := range models.Rows() {
		if r.Scoring.Scorer != "" {
			list = append(list, &Benchmark{r.Scoring, r.Name, r})
		}
	}
	return list
}

// Find returns a benchmark by the name of its model.
func Find(name string) (*Benchmark, error) {
	var names []string
	for _, b := range Benchmarks() {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return nil, fmt.Errorf("model %q has no scorer; the benchmarks with a scorer are %s",
		name, strings.Join(names, ", "))
}

// findIn returns a benchmark with the targets of a round; an empty round means the newest one that has it.
func findIn(name, round string) (*Benchmark, error) {
	b, err := Find(name)
	if err != nil || round == "" {
		return b, err
	}
	of, err := rounds.Find(round)
	if err != nil {
		return nil, err
	}
	row, err := of.Row(b.row)
	if err != nil {
		return nil, err
	}
	return &Benchmark{row.Scoring, row.Name, row}, nil
}

// NeedsTokenizer reports whether the log contains token ids rather than text.
func (b *Benchmark) NeedsTokenizer() bool { return scorers[b.Scorer].text != utf8Text }

// LeavesOutSpecial reports whether decoding must omit special tokens.
func (b *Benchmark) LeavesOutSpecial() bool { return scorers[b.Scorer].text == plainText }

// wholeSet returns the number of entries in a complete accuracy log. Limits of sums apply only to a complete log.
func (b *Benchmark) wholeSet(s models.Scenario) int {
	for _, row := range b.row.Scenarios {
		if row.Scenario == s && row.Samples > 0 {
			return row.Samples
		}
	}
	if b.row.AccuracyCount > 0 {
		return b.row.AccuracyCount
	}
	return b.row.DatasetSamples
}

// Reference is the ground truth of a sample.
type Reference = models.Reference

// DatasetOptions returns o with the columns that References needs.
func (b *Benchmark) DatasetOptions(o datasets.Options) datasets.Options {
	o.Keep = b.Columns.Names()
	return o
}

// References returns the references in a data set that was read with DatasetOptions.
func (b *Benchmark) References(d *datasets.Dataset) ([]Reference, error) {
	refs := make([]Reference, len(d.Samples))
	synthetic := datasets.Synthetic(d)
	for i, s := range d.Samples {
		var ok bool
		if refs[i], ok = b.Columns.Reference(s.Kept); !ok {
			return nil, fmt.Errorf("scoring with the data set %s: its columns %s were not kept; read it with "+
				"the options of the benchmark %s",
				d.Path, strings.Join(b.Columns.Names(), ", "), b.Name)
		}
		if !synthetic {
			refs[i].Tests = "" // for a real set, the judge's file of tests contains the tests
		}
	}
	return refs, nil
}
