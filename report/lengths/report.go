package lengths

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/ordering"
	"github.com/mlperf-go/mlperf-go/internal/plot"
)

// Report holds the statistics of a data set or of a run's answers.
type Report struct {
	Samples  int        `json:"samples"` // records of the data set; answers of the run
	Measures []*Measure `json:"lengths"` // only those with values
	// of a run's good answers; the key is empty for answers without a reason
	Finishes map[string]int `json:"finish_reasons,omitempty"`
	// of a run's failed samples, by the reason; "unfinished" for samples that never ended
	Failures map[string]int `json:"failures,omitempty"`
}

// Measure is one length of all samples.
type Measure struct {
	Name string // such as "input tokens"
	Unit string // such as "tokens"
	Distribution
	scale float64 // a value of 1 is counted as scale
}

// ratioScale is the resolution of ratios: they are counted in thousandths.
const ratioScale = 1000

// Figures returns the summary in the measure's unit.
func (m *Measure) Figures() Summary { return m.Summary(m.scale) }

// MarshalJSON returns the figures with the name and the unit.
func (m *Measure) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name string `json:"name"`
		Unit string `json:"unit"`
		Summary
	}{m.Name, m.Unit, m.Figures()})
}

func length(name, unit string) *Measure { return &Measure{Name: name, Unit: unit, scale: 1} }

func ratio(name string) *Measure {
	return &Measure{Name: name, Unit: "output/input", scale: ratioScale}
}

// pair are the lengths of inputs and outputs in one unit, and their ratio.
type pair struct{ input, output, ratio *Measure }

func newPair(unit string) pair {
	return pair{length("input "+unit, unit), length("output "+unit, unit), ratio("ratio of " + unit)}
}

// add counts one sample. A length of 0 is unknown.
func (p pair) add(input, output int) {
	if input > 0 {
		p.input.Add(input)
	}
	if output > 0 {
		p.output.Add(output)
	}
	if input > 0 && output > 0 {
		p.ratio.Add(int(float64(output)/float64(input)*ratioScale + 0.5))
	}
}

func (p pair) measures() []*Measure { return []*Measure{p.input, p.output, p.ratio} }

// present removes measures without values.
func present(all []*Measure) []*Measure {
	return slices.DeleteFunc(all, func(m *Measure) bool { return m.Count() == 0 })
}

// Part is one word and how often it occurs.
type Part struct {
	Name  string
	Count int
}

// Parts returns counts by name, the most frequent first, with names that are safe to show.
func Parts(counts map[string]int) []Part {
	parts := make([]Part, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, Part{cmp.Or(foreign.Line(name, 40), "none"), counts[name]})
	}
	ordering.Sort(parts, func(a, b Part) int { return b.Count - a.Count })
	return parts
}

// plotBins is the number of bars of a histogram.
const plotBins = 60

// Panels returns a histogram of each measure, and the finish reasons. name identifies the file or run in the titles.
func (r *Report) Panels(name string) []plot.Panel {
	var panels []plot.Panel
	for _, m := range r.Measures {
		low, step, counts := m.Bins(plotBins)
		f := m.Figures()
		panels = append(panels, plot.Panel{
			Title: fmt.Sprintf("%s: %s of %d samples", name, m.Name, m.Count()), Axis: m.Unit, Count: "samples",
			Low: low, Step: step, Counts: counts, Scale: m.scale,
			Marks: []plot.Mark{{Name: "median", Value: int(f.P50 * m.scale)}, {Name: "p99", Value: int(f.P99 * m.scale)}},
		})
	}
	if len(r.Finishes) == 0 {
		return panels
	}
	p := plot.Panel{Title: name + ": finish reasons", Axis: "finish reason", Count: "answers"}
	for _, part := range Parts(r.Finishes) {
		p.Labels, p.Counts = append(p.Labels, part.Name), append(p.Counts, part.Count)
	}
	return append(panels, p)
}
