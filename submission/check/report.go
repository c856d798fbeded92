package check

import (
	"path"
	"slices"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Schema identifies the format of the JSON report.
const Schema = "mlperf-go/check/1"

// Report is the result of a check.
type Report struct {
	Schema    string    `json:"schema"`
	Root      string    `json:"root"`
	Round     string    `json:"round"`
	Mode      Mode      `json:"mode"`
	Valid     bool      `json:"valid"`
	Rehearsal bool      `json:"rehearsal"` // not valid, but OnlyRehearsal
	Counts    Counts    `json:"counts"`
	Results   []Result  `json:"results"`
	Findings  []Finding `json:"findings"`
}

// Counts are the totals of a report.
type Counts struct {
	Valid     int `json:"valid"`      // scenario folders with a valid result
	Invalid   int `json:"invalid"`    // scenario folders without one
	NotJudged int `json:"not_judged"` // scenario folders of benchmarks for which this program has no rules
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
}

// Result describes one scenario folder.
type Result struct {
	Path      string  `json:"path"` // relative to the root
	Division  string  `json:"division"`
	Submitter string  `json:"submitter"`
	System    string  `json:"system"`
	Benchmark string  `json:"benchmark"` // the folder's name
	Model     string  `json:"model"`     // the official name; "" if unknown
	Scenario  string  `json:"scenario"`
	Valid     bool    `json:"valid"`
	Metric    float64 `json:"metric"` // 0 if unknown
	Unit      string  `json:"unit"`
	// only in mode Strict: it is marked as a rehearsal, and all its errors are of class rehearsal
	Rehearsal bool `json:"rehearsal"`

	row row // of the summary CSV; nil if the result is not valid
}

// summary is the data kept of a scenario folder after its files are released.
type summary struct {
	metric float64
	unit   string
	marked bool // whether measurements.json marks the result as a rehearsal
	row    row
}

// reported is a scenario folder to which all rules have been applied.
type reported struct{ *scope }

func (s reported) summary() *summary {
	return &summary{
		metric: finite(s.result.metric.value), unit: s.result.metric.unit, row: s.csvRow(),
		marked: truthy(s.result.measurements.values[layout.RehearsalKey]),
	}
}

// finite returns f, or 0 for infinities and NaN, which JSON cannot represent.
func finite(f float64) float64 {
	if f-f != 0 {
		return 0
	}
	return f
}

// OnlyRehearsal reports whether the tree is valid, or has no fault except that it is a marked rehearsal: every error is
// of class rehearsal, and every result with such an error carries the mark (layout.RehearsalKey). In mode Compat no
// result is a rehearsal, because the official checker has no such concept.
func (r *Report) OnlyRehearsal() bool {
	return r.Valid || r.shortened() && !slices.ContainsFunc(r.Results,
		func(one Result) bool { return !one.Valid && !one.Rehearsal })
}

// shortened reports whether every error is of class rehearsal, with or without the mark.
func (r *Report) shortened() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error && f.Class != Rehearsal })
}

func (c *checker) report(top *scope) *Report {
	r := &Report{Schema: Schema, Root: c.files.root, Round: c.round.Name, Mode: c.o.Mode, Results: []Result{},
		Findings: []Finding{}}
	top.each(func(s *scope) {
		r.Findings = append(r.Findings, s.findings...)
		if s.level == resultLevel {
			r.Results = append(r.Results, reported{s}.asResult())
		}
	})
	for _, f := range r.Findings {
		if f.Severity == Error {
			r.Counts.Errors++
		} else {
			r.Counts.Warnings++
		}
	}
	for _, one := range r.Results {
		if one.Valid {
			r.Counts.Valid++
		} else {
			r.Counts.Invalid++
		}
	}
	r.Counts.NotJudged = top.notJudged()
	r.Valid = r.Counts.Errors == 0
	r.Rehearsal = !r.Valid && r.OnlyRehearsal()
	return r
}

func (s reported) asResult() Result {
	one := Result{
		Path: s.path, Division: s.division(), Submitter: s.at(submitterLevel).name, System: s.at(systemLevel).name,
		Benchmark: s.at(benchmarkLevel).name, Scenario: s.name, Valid: !s.invalid(), Rehearsal: s.o.Mode == Strict &&
			s.onlyRehearsal(),
		Metric: s.row.metric, Unit: s.row.unit,
	}
	if b := s.model(); b != nil {
		one.Model = b.Name
	}
	if one.Valid {
		one.row = s.row.row
	}
	return one
}

// onlyRehearsal reports whether the result is marked as a rehearsal, which is an error in mode Strict, and is invalid
// only because of errors of that class, here or in a parent folder.
func (s reported) onlyRehearsal() bool {
	if !s.row.marked {
		return false
	}
	for at := s.scope; at != nil; at = at.up {
		for _, f := range at.findings {
			if f.Severity == Error && f.Class != Rehearsal {
				return false
			}
		}
	}
	return true
}

// location returns the path of a result in the summary CSV.
func (s reported) location() string {
	base := s.o.Location
	if base != "" && base[len(base)-1] != '/' {
		base += "/"
	}
	return base + path.Join(s.path, layout.PerformanceRun)
}

// Column returns a column of the organisers' summary, such as accelerator_model_name; "" if the result is not valid.
func (r Result) Column(name string) string { return r.row[name] }
