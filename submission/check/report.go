package check

import (
	"path"

	"github.com/mlperf-go/mlperf-go/submission/layout"
)

// Schema names the form of the JSON report.
const Schema = "mlperf-go/check/1"

// Report is what a check found.
type Report struct {
	Schema   string    `json:"schema"`
	Root     string    `json:"root"`
	Round    string    `json:"round"`
	Mode     Mode      `json:"mode"`
	Valid    bool      `json:"valid"`
	Counts   Counts    `json:"counts"`
	Results  []Result  `json:"results"`
	Findings []Finding `json:"findings"`
}

// Counts are the totals of a report.
type Counts struct {
	Valid    int `json:"valid"`   // scenario folders with a valid result
	Invalid  int `json:"invalid"` // and without
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
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
	Rehearsal bool    `json:"rehearsal"` // its only errors are of class rehearsal

	row row // of the summary CSV; empty where the result is not valid
}

// summary is what stays of a scenario folder when its files are dropped.
type summary struct {
	metric float64
	unit   string
	row    row
}

func (s *scope) summary() *summary {
	return &summary{metric: finite(s.result.metric.value), unit: s.result.metric.unit, row: s.csvRow()}
}

// finite gives 0 for what JSON can not hold.
func finite(f float64) float64 {
	if f-f != 0 {
		return 0
	}
	return f
}

// OnlyRehearsal is true where nothing is wrong but what a full run would have: no error of another class.
func (r *Report) OnlyRehearsal() bool {
	for _, f := range r.Findings {
		if f.Severity == Error && f.Class != Rehearsal {
			return false
		}
	}
	return true
}

func (c *checker) report(top *scope) *Report {
	r := &Report{Schema: Schema, Root: c.files.root, Round: c.round.Name, Mode: c.o.Mode, Results: []Result{}, Findings: []Finding{}}
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
	r.Valid = r.Counts.Errors == 0
	return r
}

func (s *scope) asResult() Result {
	one := Result{
		Path: s.path, Division: s.division(), Submitter: s.at(submitterLevel).name, System: s.at(systemLevel).name,
		Benchmark: s.at(benchmarkLevel).name, Scenario: s.name, Valid: !s.invalid(), Rehearsal: s.onlyRehearsal(),
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

// onlyRehearsal: something is wrong here or above, and all of it of that class.
func (s *scope) onlyRehearsal() bool {
	if !s.invalid() {
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
