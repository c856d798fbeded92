package accuracy

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf-go/datasets"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/rounds"
)

// Benchmark is how one benchmark is scored: a row of the model registry.
type Benchmark struct {
	models.Scoring
	Name string // as models.Row.Name
	row  *models.Row
}

// Target is the range that a metric must lie in, both ends included.
type Target = models.Target

// Benchmarks gives every row of the registry that has a scorer, in listing order.
func Benchmarks() []*Benchmark {
	var list []*Benchmark
	for _, r := range models.Rows() {
		if r.Scoring.Scorer != "" {
			list = append(list, &Benchmark{r.Scoring, r.Name, r})
		}
	}
	return list
}

// Find gives the row of a benchmark of the model registry.
func Find(name string) (*Benchmark, error) {
	var names []string
	for _, b := range Benchmarks() {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return nil, fmt.Errorf("model %q has no scorer, so its answers can not be scored; the benchmarks with one are %s",
		name, strings.Join(names, ", "))
}

// FindIn gives the row of a benchmark as a round has it; an empty round is the newest that has it.
func FindIn(name, round string) (*Benchmark, error) {
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

// NeedsTokenizer tells whether the log's answers are token ids that must become text.
func (b *Benchmark) NeedsTokenizer() bool { return scorers[b.Scorer].text != utf8Text }

// LeavesOutSpecial tells whether special tokens are left out of that text.
func (b *Benchmark) LeavesOutSpecial() bool { return scorers[b.Scorer].text == plainText }

// wholeSet is the number of entries of a whole accuracy log: limits of sums hold for it alone.
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

// Reference is what a sample's answer is compared with.
type Reference = models.Reference

// DatasetOptions makes a data set reader keep what References needs.
func (b *Benchmark) DatasetOptions(o datasets.Options) datasets.Options {
	o.Keep = b.Columns.Names()
	return o
}

// References takes the references out of a data set that was read with DatasetOptions.
func (b *Benchmark) References(d *datasets.Dataset) ([]Reference, error) {
	refs := make([]Reference, len(d.Samples))
	synthetic := datasets.Synthetic(d)
	for i, s := range d.Samples {
		var ok bool
		if refs[i], ok = b.Columns.Reference(s.Kept); !ok {
			return nil, fmt.Errorf("scoring with the data set %s: its columns %s were not kept when it was read; read it with "+
				"the options of the benchmark %s",
				d.Path, strings.Join(b.Columns.Names(), ", "), b.Name)
		}
		if !synthetic {
			refs[i].Tests = "" // a real set's programs are tested by the benchmark's own file
		}
	}
	return refs, nil
}
