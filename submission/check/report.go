package check

import (
	"path"
	"slices"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Schema names the form of the JSON report.
const Schema = "mlperf-go/check/1"

// Report is what a check found.
type Report struct {
	Schema    string    `json:"schema"`
	Root      string    `json:"root"`
	Round     string    `json:"round"`
	Mode      Mode      `json:"mode"`
	Valid     bool      `json:"valid"`
	Rehearsal bool      `json:"rehearsal"` // not valid, and OnlyRehearsal
	Counts    Counts    `json:"counts"`
	Results   []Result  `json:"results"`
	Findings  []Finding `json:"findings"`
}

// Counts are the totals of a report.
type Counts struct {
	Valid     int `json:"valid"`      // scenario folders with a valid result
	Invalid   int `json:"invalid"`    // and without
	NotJudged int `json:"not_judged"` // scenario folders of benchmarks that this program has no rules for
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
}

// Result is one scenario folder.
type Result struct {
	Path      string  `json:"path"` // below the root
	Division  string  `json:"division"`
	Submitter string  `json:"submitter"`
	System    string  `json:"system"`
	Benchmark string  `json:"benchmark"` // the folder's name
	Model     string  `json:"model"`     // the official name; empty where none is known
	Scenario  string  `json:"scenario"`
	Valid     bool    `json:"valid"`
	Metric    float64 `json:"metric"` // 0 where there is none
	Unit      string  `json:"unit"`
	// under Strict: it carries a rehearsal's mark, and its only errors are of class rehearsal
	Rehearsal bool `json:"rehearsal"`

	row row // of the summary CSV; empty where the result is not valid
}

// summary is what stays of a scenario folder when its files are dropped.
type summary struct {
	metric float64
	unit   string
	marked bool // measurements.json says that the result is a rehearsal's
	row    row
}

func (s *scope) summary() *summary {
	return &summary{
		metric: finite(s.result.metric.value), unit: s.result.metric.unit, row: s.csvRow(),
		marked: truthy(s.result.measurements.values[layout.RehearsalKey]),
	}
}

// finite gives 0 for what JSON can not hold.
func finite(f float64) float64 {
	if f-f != 0 {
		return 0
	}
	return f
}

// OnlyRehearsal reports whether the only thing wrong with the tree is that it is a rehearsal and says so: every error
// is of class rehearsal, and every result that has one carries the mark (layout.RehearsalKey). A valid tree has no
// error. Under Compat no result is a rehearsal: the official checker knows none.
func (r *Report) OnlyRehearsal() bool {
	return r.Valid || r.shortened() && !slices.ContainsFunc(r.Results,
		func(one Result) bool { return !one.Valid && !one.Rehearsal })
}

// shortened reports whether every error is of class rehearsal, whether or not the tree says that it is one.
func (r *Report) shortened() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error && f.Class != Rehearsal })
}

func (c *checker) report(top *scope) *Report {
	r := &Report{Schema: Schema, Root: c.files.root, Round: c.round.Name, Mode: c.o.Mode, Results: []Result{},
		Findings: []Finding{}}
	top.each(func(s *scope) {
		r.Findings = append(r.Findings, s.findings...)
		if s.level == resultLevel {
			r.Results = append(r.Results, s.asResult())
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

func (s *scope) asResult() Result {
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

// onlyRehearsal reports whether the result carries a rehearsal's mark, and something is wrong here or above, all of it
// of that class.
func (s *scope) onlyRehearsal() bool {
	if !s.invalid() || !s.row.marked {
		return false
	}
	for ; s != nil; s = s.up {
		for _, f := range s.findings {
			if f.Severity == Error && f.Class != Rehearsal {
				return false
			}
		}
	}
	return true
}

// location is the path that the summary CSV gives for a result.
func (s *scope) location() string {
	base := s.o.Location
	if base != "" && base[len(base)-1] != '/' {
		base += "/"
	}
	return base + path.Join(s.path, layout.PerformanceRun)
}
